// SPDX-License-Identifier: Apache-2.0
// The byte stream under the messages: pieces, rubbish, a guest that does not read or goes away.
#include <random>

#include "machine.h"

namespace port_test {
namespace {

template <class Message>
std::vector<char> Bytes(uint16_t type, uint16_t device, Message message) {
  auto* header = reinterpret_cast<npusim_port_header*>(&message);
  header->size = sizeof message;
  header->type = type;
  header->device = device;
  const char* bytes = reinterpret_cast<const char*>(&message);
  return {bytes, bytes + sizeof message};
}

std::vector<char> SubmitBytes(uint64_t cookie) {
  npusim_port_submit submit{};
  submit.flags = NPUSIM_PORT_TELL_END;
  submit.task = Cube(1, 1800, cookie);
  return Bytes(NPUSIM_PORT_SUBMIT, 0, submit);
}

TEST(PortStream, MessagesMayComeByteByByteOrTogether) {
  Machine machine;
  machine.Hello();
  for (const char byte : SubmitBytes(1)) ASSERT_EQ(machine.Write(&byte, 1), 1u);
  std::vector<char> all;
  for (uint64_t cookie = 2; cookie < 100; ++cookie) {
    const auto bytes = SubmitBytes(cookie);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  for (size_t at = 0; at < all.size(); at += 1000)
    ASSERT_EQ(machine.Write(all.data() + at, std::min<size_t>(1000, all.size() - at)),
              std::min<size_t>(1000, all.size() - at));
  machine.Until(1'000'000'000);
  for (uint64_t cookie = 1; cookie < 100; ++cookie)
    EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, cookie);
}

// What the last guest left half said, or was to be told, is nothing to the next one.
TEST(PortStream, ANewGuestStartsAnew) {
  Machine machine;
  machine.Hello();
  machine.Write(SubmitBytes(1).data(), SubmitBytes(1).size());
  machine.room = 10;
  machine.Put(NPUSIM_PORT_TIME);
  EXPECT_EQ(machine.Unread(), 10u);
  machine.Write(SubmitBytes(2).data(), 100);
  port_engine_close(machine.engine);
  EXPECT_EQ(machine.Write(SubmitBytes(3).data(), 224), 224u);  // nobody's
  machine.Until(1'000'000);
  machine.room = SIZE_MAX;
  machine.Forget();
  machine.Hello();
  EXPECT_TRUE(machine.Quiet());
  EXPECT_EQ(machine.Totals(0).ended, 1u);  // the first one's task ran on
  machine.Until(1'000'000'000);
  EXPECT_TRUE(machine.Quiet());
}

TEST(PortStream, TasksOfAnEarlierGuestAreNotToldToTheNext) {
  Machine machine;
  machine.Hello();
  machine.Submit(0, Cube(1, 1'800'000, 1));
  port_engine_close(machine.engine);
  machine.Hello();
  machine.Submit(0, Cube(2, 1800, 1), NPUSIM_PORT_TELL_END);
  machine.Until(1'000'000'000);
  EXPECT_GT(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).ns, 1'001'000u);
  EXPECT_TRUE(machine.Quiet());
  EXPECT_EQ(machine.Totals(0).ended, 2u);
}

TEST(PortStream, WrongMessagesAreRefusedAndTheNextIsHeard) {
  Machine machine;
  machine.Hello();
  machine.Put(0x7f, 0, npusim_port_event{});
  EXPECT_EQ(machine.Status(0x7f).status, -ENOSYS);
  machine.Put(NPUSIM_PORT_TIME, 0, npusim_port_event{});
  EXPECT_EQ(machine.Status(NPUSIM_PORT_TIME).status, -EINVAL);
  machine.Put(NPUSIM_PORT_SUBMIT, 0, npusim_port_header{});
  EXPECT_EQ(machine.Status(NPUSIM_PORT_SUBMIT).status, -EINVAL);
  npusim_port_header header{};
  header.status = 1;
  machine.Put(NPUSIM_PORT_TIME, 0, header);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_TIME).status, -EINVAL);
  machine.Put(NPUSIM_PORT_TIME);
  EXPECT_EQ(machine.Take<npusim_port_time>(NPUSIM_PORT_TIME | NPUSIM_PORT_REPLY).ns, machine.now);
}

struct ImpossibleSize : testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ImpossibleSize,
                         testing::Values(0u, 15u, NPUSIM_PORT_MAX_SIZE + 1, UINT32_MAX));

TEST_P(ImpossibleSize, EndsTheConversation) {
  Machine machine;
  machine.Hello();
  npusim_port_header header{};
  header.size = GetParam();
  header.type = NPUSIM_PORT_TIME;
  EXPECT_EQ(machine.Write(&header, sizeof header), sizeof header);
  EXPECT_EQ(machine.Take<npusim_port_header>(NPUSIM_PORT_REPLY).status, -EBADMSG);
  machine.Put(NPUSIM_PORT_TIME);
  EXPECT_TRUE(machine.Quiet());
  machine.Hello();
  machine.Put(NPUSIM_PORT_TIME);
  EXPECT_EQ(machine.Take<npusim_port_time>(NPUSIM_PORT_TIME | NPUSIM_PORT_REPLY).header.status, 0);
}

TEST(PortStream, RubbishDoesNoHarm) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    Machine machine;
    machine.Hello();
    for (int k = 0; k < 1000; ++k) {
      // Mostly messages that look right, with anything in them.
      alignas(8) unsigned char bytes[NPUSIM_PORT_MAX_SIZE];
      for (auto& byte : bytes) byte = static_cast<unsigned char>(random() % (random() % 4 ? 3 : 256));
      auto* header = reinterpret_cast<npusim_port_header*>(bytes);
      const uint32_t sizes[] = {16, 24, 32, 224, 280, static_cast<uint32_t>(random() % 600)};
      header->size = sizes[random() % (k % 50 ? 5 : 6)];
      header->type = static_cast<uint16_t>(random() % 14);
      header->device = static_cast<uint16_t>(random() % 4);
      header->status = 0;
      const size_t size = std::min<size_t>(std::max(header->size, 16u), sizeof bytes);
      ASSERT_EQ(machine.Write(bytes, size), size);
      if (k % 10 == 0) machine.Until(machine.now + random() % 1'000'000);
    }
    machine.Forget();
    machine.Hello();
    machine.Put(NPUSIM_PORT_TIME);
    EXPECT_EQ(machine.Take<npusim_port_time>(NPUSIM_PORT_TIME | NPUSIM_PORT_REPLY).ns, machine.now);
  }
}

TEST(PortStream, CompletionsWaitForAGuestThatDoesNotRead) {
  Machine machine;
  machine.Hello();
  machine.room = 0;
  constexpr uint64_t kTasks = 20000;
  for (uint64_t cookie = 0; cookie < kTasks; ++cookie)
    machine.Submit(0, Cube(1, 180, cookie), NPUSIM_PORT_TELL_END);
  machine.Until(10'000'000'000);
  EXPECT_EQ(port_engine_queued(machine.engine), kTasks * sizeof(npusim_port_task));
  while (port_engine_queued(machine.engine) > 0) {
    machine.room = 777;
    port_engine_writable(machine.engine);
  }
  for (uint64_t cookie = 0; cookie < kTasks; ++cookie)
    ASSERT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, cookie);
  EXPECT_TRUE(machine.Quiet());
}

TEST(PortStream, AGuestThatDoesNotReadIsHeldBack) {
  Machine machine;
  machine.Hello();
  machine.room = 0;
  const auto request = Bytes(NPUSIM_PORT_TOTALS, 0, npusim_port_header{});
  size_t asked = 0;
  while (machine.Write(request.data(), request.size()) == request.size()) {
    ++asked;
    ASSERT_LT(asked, 100'000u);
  }
  EXPECT_GE(port_engine_queued(machine.engine), size_t{1} << 20);
  EXPECT_EQ(machine.resumed, 0);
  machine.room = 300'000;
  port_engine_writable(machine.engine);
  EXPECT_EQ(machine.resumed, 0);  // not much better
  machine.room = SIZE_MAX;
  port_engine_writable(machine.engine);
  EXPECT_EQ(machine.resumed, 1);
  EXPECT_EQ(machine.Unread(), asked * sizeof(npusim_port_totals));
  EXPECT_EQ(machine.Write(request.data(), request.size()), request.size());
}

TEST(PortStream, AGuestThatIsHeldBackMayLeave) {
  Machine machine;
  machine.Hello();
  machine.room = 0;
  const auto request = Bytes(NPUSIM_PORT_TOTALS, 0, npusim_port_header{});
  while (machine.Write(request.data(), request.size()) == request.size()) continue;
  port_engine_close(machine.engine);
  EXPECT_EQ(machine.resumed, 1);
  EXPECT_EQ(port_engine_queued(machine.engine), 0u);
  machine.room = SIZE_MAX;
  machine.Forget();
  machine.Hello();
}

}  // namespace
}  // namespace port_test
