// SPDX-License-Identifier: Apache-2.0
// The runtime's side when the other one is not there, goes away or talks nonsense: it fails, and never waits for ever.
#include <sys/wait.h>

#include <functional>

#include "host/host_testing.h"
#include "host/remote.h"
#include "npusim/npusim_device.h"
#include "peer.h"

namespace port_test {
namespace {

using npusim::Remote;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;
constexpr uint64_t kSecond = 1'000'000'000;

void ExpectNoDevice(Remote& remote) {
  npusim_totals totals;
  npusim_port_stats stats;
  uint64_t total;
  EXPECT_EQ(remote.Submit(0, Cube(1), nullptr), -ENODEV);
  EXPECT_EQ(remote.Totals(0, &totals), -ENODEV);
  EXPECT_EQ(remote.Stats(0, &stats), -ENODEV);
  EXPECT_EQ(remote.EventTotal(0, 0, 1, &total), -ENODEV);
  EXPECT_EQ(remote.Act(0, NPUSIM_PORT_RESET), -ENODEV);
  EXPECT_EQ(remote.Fault(0, NPUSIM_PORT_FAULT_REFUSE, 1), -ENODEV);
  EXPECT_EQ(remote.SyncClock(), -ENODEV);
}

TEST(RemoteEnd, PortThatCannotBeOpened) {
  Remote remote("/dev/no-such-port");
  EXPECT_EQ(remote.device_count(), 0u);
  EXPECT_NE(remote.trouble().find("NPUSIM_PORT=/dev/no-such-port cannot be opened: No such file"),
            std::string::npos)
      << remote.trouble();
  ExpectNoDevice(remote);
  EXPECT_EQ(remote.WaitIdle(0, kSecond), -ENODEV);
  EXPECT_EQ(remote.settings(0).cube_cores, 24u);
}

TEST(RemoteEnd, ProfilersAreNotToldOfDevicesThatAreNotThere) {
  npusim::Settings settings;
  settings.port = "/dev/no-such-port";
  npusim::ScopedHost host(settings);
  EXPECT_EQ(host->device_count(), 0u);
  EXPECT_NE(host->trouble(), "");
  EXPECT_EQ(npusim_dev_count(), -EREMOTE);
}

struct Statuses : npusim::TaskListener {
  std::mutex mutex;
  std::map<uint64_t, std::vector<int>> of;
  void OnEnded(uint32_t, uint64_t cookie, uint64_t, int status) override {
    std::lock_guard lock(mutex);
    of[cookie].push_back(status);
  }
};

TEST(RemoteEnd, EveryAcceptedTaskIsToldOnceWhenThePeerDies) {
  Pair pair;
  auto peer = std::make_unique<Peer>(pair.theirs);
  Remote remote(pair.ours, "the test's socket");
  Statuses statuses;
  CaptureStderr();
  for (uint64_t k = 1; k <= 10; ++k) ASSERT_EQ(remote.Submit(0, Cube(1, 1800, k), &statuses), 0);
  ASSERT_EQ(remote.WaitIdle(0, 30 * kSecond), 0);
  for (uint64_t k = 11; k <= 1000; ++k)
    ASSERT_EQ(remote.Submit(static_cast<uint32_t>(k % 2), Cube(1, 1800 * 5'000'000ull, k), &statuses), 0);
  peer->Stop();
  ASSERT_EQ(remote.WaitIdle(0, 30 * kSecond), 0);
  ASSERT_EQ(remote.WaitIdle(1, 30 * kSecond), 0);
  const std::string said = GetCapturedStderr();
  EXPECT_NE(said.find("the test's socket was closed from the other side"), std::string::npos) << said;
  EXPECT_NE(said.find("990 tasks with them"), std::string::npos) << said;
  ASSERT_EQ(statuses.of.size(), 1000u);
  for (const auto& [cookie, told] : statuses.of)
    EXPECT_EQ(told, std::vector<int>{cookie <= 10 ? 0 : -ENODEV});
  EXPECT_EQ(remote.device_count(), 2u);
  EXPECT_NE(remote.trouble(), "");
  ExpectNoDevice(remote);
}

// Threads in the middle of a submission or a question when it happens.
TEST(RemoteEnd, PeerDiesUnderLoad) {
  CaptureStderr();
  for (int round = 0; round < 20; ++round) {
    Pair pair;
    auto peer = std::make_unique<Peer>(pair.theirs);
    Remote remote(pair.ours, "the test's socket");
    npusim::TaskCounter counter;
    std::atomic<uint64_t> accepted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        npusim_totals totals;
        while (remote.Submit(0, Cube(1, 180), &counter) == 0) {
          if (++accepted % 100 == 0) remote.Totals(0, &totals);
        }
      });
    }
    while (accepted < 500) std::this_thread::yield();
    peer->Stop();
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(counter.WaitFor(accepted, 30 * kSecond)) << counter.ended() << " of " << accepted;
    EXPECT_EQ(remote.WaitIdle(0, kSecond), 0);
    EXPECT_EQ(counter.ended(), accepted);
  }
  GetCapturedStderr();
}

TEST(RemoteEnd, PeerDiesWhileAListenerAsks) {
  Pair pair;
  auto peer = std::make_unique<Peer>(pair.theirs);
  Remote remote(pair.ours, "the test's socket");
  struct Asker : npusim::TaskListener {
    Remote* remote = nullptr;
    Peer* peer = nullptr;
    int answer = 0;
    void OnEnded(uint32_t, uint64_t, uint64_t, int) override {
      peer->Stop();
      npusim_totals totals;
      answer = remote->Totals(0, &totals);
    }
  } asker;
  asker.remote = &remote;
  asker.peer = peer.get();
  CaptureStderr();
  ASSERT_EQ(remote.Submit(0, Cube(1), &asker), 0);
  ASSERT_EQ(remote.WaitIdle(0, 30 * kSecond), 0);
  GetCapturedStderr();
  EXPECT_EQ(asker.answer, -ENODEV);
}

// A peer that says what it is told to.
struct Liar {
  Liar(int fd, std::function<std::vector<char>(const npusim_port_header&)> say)
      : thread([fd, say] {
          char bytes[4096];
          ssize_t got;
          while ((got = read(fd, bytes, sizeof bytes)) >= static_cast<ssize_t>(sizeof(npusim_port_header))) {
            npusim_port_header header;
            std::memcpy(&header, bytes, sizeof header);
            const std::vector<char> answer = say(header);
            if (answer.empty()) break;
            EXPECT_EQ(write(fd, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
          }
          close(fd);
        }) {}
  ~Liar() { thread.join(); }
  std::thread thread;
};

template <class Message>
std::vector<char> Answer(const npusim_port_header& request, Message message, int status = 0) {
  auto* header = reinterpret_cast<npusim_port_header*>(&message);
  *header = request;
  header->size = sizeof message;
  header->type = request.type | NPUSIM_PORT_REPLY;
  header->status = status;
  const char* bytes = reinterpret_cast<const char*>(&message);
  return {bytes, bytes + sizeof message};
}

TEST(RemoteEnd, OtherVersion) {
  CaptureStderr();
  Pair pair;
  Liar liar(pair.theirs, [](const npusim_port_header& request) {
    npusim_port_hello hello{};
    hello.version = 9;
    return Answer(request, hello, -EPROTONOSUPPORT);
  });
  {
    Remote remote(pair.ours, "the test's socket");
    EXPECT_EQ(remote.device_count(), 0u);
    EXPECT_NE(remote.trouble().find("speaks version 9 of the protocol, this runtime version " +
                                    std::to_string(NPUSIM_PORT_VERSION)),
              std::string::npos)
        << remote.trouble();
    ExpectNoDevice(remote);
  }
  GetCapturedStderr();
}

TEST(RemoteEnd, Rubbish) {
  CaptureStderr();
  Pair pair;
  Liar liar(pair.theirs, [](const npusim_port_header&) { return std::vector<char>(100, '\xff'); });
  {
    Remote remote(pair.ours, "the test's socket");
    EXPECT_NE(remote.trouble().find("no message"), std::string::npos) << remote.trouble();
    ExpectNoDevice(remote);
  }
  GetCapturedStderr();
}

// Completions of tasks that were never submitted, or are over, change nothing.
TEST(RemoteEnd, CompletionsOfNoTaskAreIgnored) {
  Pair pair;
  Liar liar(pair.theirs, [](const npusim_port_header& request) {
    if (request.type == NPUSIM_PORT_INFO) return Answer(request, npusim_port_info{});
    if (request.type == NPUSIM_PORT_TIME) return Answer(request, npusim_port_time{});
    if (request.type == NPUSIM_PORT_SUBMIT) {
      npusim_port_task ended{};
      ended.header.size = sizeof ended;
      ended.header.type = NPUSIM_PORT_ENDED;
      std::vector<char> all;
      for (const uint64_t cookie : {uint64_t{0}, uint64_t{77}, UINT64_MAX, uint64_t{1}, uint64_t{1}}) {
        ended.cookie = cookie;
        const char* bytes = reinterpret_cast<const char*>(&ended);
        all.insert(all.end(), bytes, bytes + sizeof ended);
      }
      return all;
    }
    npusim_port_hello hello{};
    hello.devices = 1;
    return Answer(request, hello);
  });
  {
    Remote remote(pair.ours, "the test's socket");
    Statuses statuses;
    ASSERT_EQ(remote.Submit(0, Cube(1, 1800, 5), &statuses), 0);
    ASSERT_EQ(remote.WaitIdle(0, 30 * kSecond), 0);
    EXPECT_EQ(statuses.of, (std::map<uint64_t, std::vector<int>>{{5, {0}}}));
  }
}

TEST(RemoteEnd, SilentPeerIsGivenUp) {
  CaptureStderr();
  Pair pair;
  {
    Remote remote(pair.ours, "the test's socket", 200'000'000);
    EXPECT_NE(remote.trouble().find("nothing was heard through the test's socket for 0.2 s"),
              std::string::npos)
        << remote.trouble();
    ExpectNoDevice(remote);
  }
  GetCapturedStderr();
  close(pair.theirs);
}

TEST(RemoteEnd, AForkedChildHasNoDevice) {
  Pair pair;
  Peer peer(pair.theirs);
  Remote remote(pair.ours, "the test's socket");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    remote.Abandon();
    npusim_totals totals;
    const bool fine = remote.Submit(0, Cube(1), nullptr) == -ENODEV && remote.Totals(0, &totals) == -ENODEV &&
                      remote.WaitIdle(0, kSecond) == -ENODEV && !remote.trouble().empty();
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(remote.Submit(0, Cube(1), nullptr), 0);
  EXPECT_EQ(remote.WaitIdle(0, 30 * kSecond), 0);
}

}  // namespace
}  // namespace port_test
