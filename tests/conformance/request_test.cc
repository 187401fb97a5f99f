// SPDX-License-Identifier: Apache-2.0
// What every request keeps to: sizes, flags, reserved fields, and what QUERY and CLOCK answer.
#include <unistd.h>

#include <cerrno>
#include <string>

#include "profiler.h"
#include "work.h"

namespace conformance {
namespace {

TEST(Query, TellsOfTheDevice) {
  const uint32_t last = Backend::Get().devices() - 1;
  Profiler profiler(last);
  const npuprof_query query = profiler.Query();
  EXPECT_EQ(query.abi_major, NPUPROF_ABI_MAJOR);
  EXPECT_EQ(query.abi_minor, NPUPROF_ABI_MINOR);
  EXPECT_EQ(query.device_id, last);
  EXPECT_EQ(query.chip, 5u);
  EXPECT_GT(query.cube_cores, 0);
  EXPECT_GT(query.vector_cores, 0);
  EXPECT_EQ(query.counters, 8);
  EXPECT_EQ(query.counter_bits, 32);
  EXPECT_EQ(query.cycle_bits, 48);
  EXPECT_GT(query.clock_hz, 0u);
  EXPECT_GT(query.core_hz, 0u);
  EXPECT_GT(query.sample_cost_ns, 0u);
  EXPECT_GE(query.max_data_bytes, 1u << 20);
  EXPECT_LT(query.min_period_ns, query.max_period_ns);
  EXPECT_EQ(query.record_formats, uint32_t{NPUPROF_RECORDS_VERSION});
  EXPECT_LT(std::string(query.name, sizeof query.name).find('\0'), sizeof query.name);
  for (uint64_t word : query.reserved) EXPECT_EQ(word, 0u);
}

TEST(Query, FiguresOfAModelAreMarked) {
  Profiler profiler;
  EXPECT_TRUE(profiler.Query().device_flags & NPUPROF_DEVICE_SIMULATED);
}

TEST(Query, OffersEveryChannelButTheEvents) {
  Profiler profiler;
  EXPECT_EQ(profiler.Query().channels, (uint64_t{1} << NPUPROF_CHANNEL_COUNT) - 2);
}

TEST(Query, AsksInAnyState) {
  Profiler profiler;
  profiler.Query();
  ASSERT_GT(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  profiler.Start();
  profiler.Query();
  profiler.Stop();
  profiler.Query();
}

TEST(Open, RefusesADeviceThatIsNotThere) {
  const int error = Backend::Get().Open(Backend::Get().devices());
  // A node that does not exist, or a device that does not.
  EXPECT_TRUE(error == -ENODEV || error == -ENOENT) << error;
}

struct Sized {
  const char* name;
  unsigned long number;
  uint32_t known;
  uint32_t minimum;
};

struct Sizes : testing::TestWithParam<Sized> {
  // A caller's structure of any length, followed by a guard.
  struct Buffer {
    uint32_t size;
    unsigned char rest[508];
  };
  int Ask(Buffer* buffer, uint32_t size, Profiler& profiler) {
    buffer->size = size;
    return Backend::Get().Ioctl(profiler.handle(), _IOC(_IOC_READ | _IOC_WRITE, 'N', GetParam().number, size),
                                buffer);
  }
};
INSTANTIATE_TEST_SUITE_P(Requests, Sizes,
                         testing::Values(Sized{"Query", 0xc0, sizeof(npuprof_query), 128},
                                         Sized{"Stats", 0xc6, sizeof(npuprof_stats), 72},
                                         Sized{"Clock", 0xc7, sizeof(npuprof_clock), 32}),
                         [](const auto& request) { return request.param.name; });

TEST_P(Sizes, ALongerStructureIsServedIfItsNewPartIsZero) {
  Profiler profiler;
  Buffer buffer{};
  EXPECT_EQ(Ask(&buffer, sizeof buffer, profiler), 0);
  EXPECT_EQ(buffer.size, sizeof buffer);
  buffer = {};
  buffer.rest[sizeof buffer.rest - 1] = 1;
  EXPECT_EQ(Ask(&buffer, sizeof buffer, profiler), -E2BIG);
  EXPECT_EQ(Ask(&buffer, sizeof buffer - 4, profiler), 0);  // the same byte is not the caller's any more
}

TEST_P(Sizes, AnOlderStructureIsServedAndNothingBehindItTouched) {
  Profiler profiler;
  Buffer buffer;
  std::memset(&buffer, 0, sizeof buffer);
  std::memset(reinterpret_cast<char*>(&buffer) + GetParam().minimum, 0x5a,
              sizeof buffer - GetParam().minimum);
  EXPECT_EQ(Ask(&buffer, GetParam().minimum, profiler), 0);
  for (uint32_t k = GetParam().minimum; k < sizeof buffer; ++k)
    ASSERT_EQ(reinterpret_cast<unsigned char*>(&buffer)[k], 0x5a) << k;
}

TEST_P(Sizes, AShorterOneIsRefused) {
  Profiler profiler;
  Buffer buffer{};
  for (uint32_t size : {0u, 1u, 4u, 8u, GetParam().minimum - 1})
    EXPECT_EQ(Ask(&buffer, size, profiler), -EINVAL) << size;
}

TEST_P(Sizes, ABeyondAllReasonOneIsRefused) {
  Profiler profiler;
  std::vector<char> huge(1 << 20);
  const uint32_t size = static_cast<uint32_t>(huge.size());
  std::memcpy(huge.data(), &size, sizeof size);
  EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(), _IOC(_IOC_READ | _IOC_WRITE, 'N', GetParam().number, 64),
                                 huge.data()),
            -E2BIG);
}

TEST_P(Sizes, TheSizeInTheNumberPlaysNoPart) {
  Profiler profiler;
  for (uint32_t encoded : {0u, 8u, 16383u}) {
    Buffer buffer{};
    buffer.size = GetParam().known;
    EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(),
                                   _IOC(_IOC_READ | _IOC_WRITE, 'N', GetParam().number, encoded), &buffer),
              0)
        << encoded;
  }
}

TEST(Query, AnswersOlderAndNewerCallersAlike) {
  Profiler profiler;
  const npuprof_query full = profiler.Query();
  struct {
    npuprof_query query;
    uint64_t newer[4];
  } longer{};
  longer.query.size = sizeof longer;
  ASSERT_EQ(Backend::Get().Ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &longer), 0);
  EXPECT_EQ(longer.query.size, sizeof longer);
  longer.query.size = full.size;
  EXPECT_EQ(std::memcmp(&longer.query, &full, sizeof full), 0);
  npuprof_query shorter{};
  shorter.size = 128;
  ASSERT_EQ(Backend::Get().Ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &shorter), 0);
  shorter.size = full.size;
  EXPECT_EQ(std::memcmp(&shorter, &full, 128), 0);
}

TEST(Requests, UnknownNumbersAreRefused) {
  Profiler profiler;
  npuprof_query query{};
  query.size = sizeof query;
  for (unsigned long number :
       {0x1234ul, _IOC(_IOC_READ | _IOC_WRITE, 'N', 0xbful, sizeof query),
        _IOC(_IOC_READ | _IOC_WRITE, 'N', 0xc8ul, sizeof query),
        _IOC(_IOC_READ | _IOC_WRITE, 'M', 0xc0ul, sizeof query), _IOC(_IOC_WRITE, 'N', 0xc0ul, sizeof query)})
    EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(), number, &query), -ENOTTY) << std::hex << number;
}

TEST(Requests, ANullPointerIsAFault) {
  Profiler profiler;
  for (unsigned long number : {NPUPROF_IOC_QUERY, NPUPROF_IOC_ADD_RING, NPUPROF_IOC_START, NPUPROF_IOC_STOP,
                               NPUPROF_IOC_FREEZE, NPUPROF_IOC_FLUSH, NPUPROF_IOC_STATS, NPUPROF_IOC_CLOCK})
    EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(), number, nullptr), -EFAULT) << std::hex << number;
}

TEST(Requests, FlagsAndReservedFieldsMustBeZero) {
  Profiler profiler;
  npuprof_query query{};
  query.flags = 1;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_QUERY, &query), -EINVAL);
  npuprof_stats stats{};
  stats.flags = 0x80000000;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STATS, &stats), -EINVAL);
  npuprof_clock clock{};
  clock.flags = 1;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), -EINVAL);
  for (int word = 0; word < 4; ++word) {
    query = {};
    query.reserved[word] = 1;
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_QUERY, &query), -EINVAL) << word;
    stats = {};
    stats.reserved[word] = 1;
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_STATS, &stats), -EINVAL) << word;
  }
  for (int word = 0; word < 2; ++word) {
    clock = {};
    clock.reserved[word] = 1;
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), -EINVAL) << word;
  }
}

TEST(Requests, ControlsRefuseWhatTheyDoNotKnow) {
  Profiler profiler;
  ASSERT_GT(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  const auto expect_refused = [&](npuprof_control control, unsigned long number) {
    EXPECT_EQ(profiler.Call(number, &control), -EINVAL) << std::hex << number;
  };
  for (unsigned long number : {NPUPROF_IOC_START, NPUPROF_IOC_STOP, NPUPROF_IOC_FREEZE, NPUPROF_IOC_FLUSH}) {
    npuprof_control control{};
    control.flags = 2;
    expect_refused(control, number);
    control = {};
    control.reserved0 = 1;
    expect_refused(control, number);
    control = {};
    control.reserved[1] = 1;
    expect_refused(control, number);
    control = {};
    control.timeout_ns = 1;  // a timeout without waiting
    expect_refused(control, number);
    if (number == NPUPROF_IOC_STOP) continue;
    control = {};
    control.flags = NPUPROF_STOP_WAIT;
    expect_refused(control, number);
  }
  npuprof_control control{};
  control.flags = NPUPROF_STOP_WAIT;
  control.timeout_ns = 600 * kSecond + 1;
  expect_refused(control, NPUPROF_IOC_STOP);
  profiler.Start();  // none of it did any harm
  profiler.Stop();
}

TEST(Clock, BracketsAreOrderedAndMonotonic) {
  Profiler profiler;
  uint64_t before = 0, ticks = 0;
  for (int k = 0; k < 20; ++k) {
    npuprof_clock clock{};
    ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), 0);
    EXPECT_LE(clock.host_before_ns, clock.host_after_ns);
    EXPECT_GE(clock.host_before_ns, before);
    EXPECT_GE(clock.device_clock, ticks);
    before = clock.host_after_ns;
    ticks = clock.device_clock;
    usleep(500);
  }
}

TEST(Clock, RunsAtTheStatedFrequency) {
  Profiler profiler;
  const double hz = static_cast<double>(profiler.Query().clock_hz);
  npuprof_clock first{}, second{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &first), 0);
  SleepMs(100);
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &second), 0);
  const double elapsed = static_cast<double>(second.host_before_ns - first.host_before_ns) / 1e9;
  const double slack = static_cast<double>(first.host_after_ns - first.host_before_ns + second.host_after_ns -
                                           second.host_before_ns) /
                       1e9;
  // The guest's clock and the emulator's are two: they may drift apart by a fraction.
  EXPECT_NEAR(static_cast<double>(second.device_clock - first.device_clock), elapsed * hz,
              (slack + elapsed * 0.01) * hz + 2);
}

TEST(Clock, IsTheOneThatStampsWindows) {
  Profiler profiler;
  ASSERT_GT(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  npuprof_clock before{}, after{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &before), 0);
  const npuprof_control start = profiler.Start();
  const npuprof_control stop = profiler.Stop();
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &after), 0);
  EXPECT_LE(before.device_clock, start.clock);
  EXPECT_LE(start.clock, stop.clock);
  EXPECT_LE(stop.clock, after.device_clock);
  EXPECT_LE(before.host_before_ns, start.monotonic_raw_ns);
  EXPECT_LE(start.monotonic_raw_ns, stop.monotonic_raw_ns);
  EXPECT_LE(stop.monotonic_raw_ns, after.host_after_ns);
}

}  // namespace
}  // namespace conformance
