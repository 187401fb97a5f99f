// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/resource.h>
#include <cerrno>

#include "profiler.h"

namespace {

using npusim::ScopedHost;
using npusim::Settings;

struct Request : testing::Test {
  ScopedHost host{Settings{}};
};

TEST_F(Request, DevicesAndHandles) {
  EXPECT_EQ(npusim_dev_count(), 2);
  EXPECT_EQ(npusim_dev_open(2), -ENODEV);
  EXPECT_EQ(npusim_dev_close(12345), -EBADF);
  EXPECT_EQ(npusim_dev_close(-1), -EBADF);
  EXPECT_EQ(npusim_dev_poll_fd(12345), -EBADF);
  npuprof_query query{};
  query.size = sizeof query;
  EXPECT_EQ(npusim_dev_ioctl(12345, NPUPROF_IOC_QUERY, &query), -EBADF);
  std::vector<int> handles;
  int handle;
  while ((handle = npusim_dev_open(0)) >= 0) handles.push_back(handle);
  EXPECT_EQ(handle, -EMFILE);
  EXPECT_GE(handles.size(), 16u);
  for (int open : handles) EXPECT_EQ(npusim_dev_close(open), 0);
  EXPECT_EQ(npusim_dev_close(handles[0]), -EBADF);
}

TEST_F(Request, ALimitOnFileSizesIsNoneOnSessions) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const int handle = npusim_dev_open(0);  // where a file lay behind the rings, SIGXFSZ would end the program
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_GE(handle, 0);
  EXPECT_EQ(npusim_dev_close(handle), 0);
}

TEST_F(Request, WithoutDescriptorsOrMemoryOpeningSaysWhich) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(npusim_dev_open(0), -EMFILE);
  setrlimit(RLIMIT_NOFILE, &before);
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // these take terabytes of addresses themselves
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit little{256 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  EXPECT_EQ(npusim_dev_open(0), -ENOMEM);
  setrlimit(RLIMIT_AS, &before);
#endif
}

TEST_F(Request, QueryTellsOfTheReferenceDevice) {
  Profiler profiler(1);
  const npuprof_query query = profiler.Query();
  EXPECT_EQ(query.abi_major, NPUPROF_ABI_MAJOR);
  EXPECT_EQ(query.device_id, 1u);
  EXPECT_EQ(query.chip, 5u);
  EXPECT_EQ(query.cube_cores, 24);
  EXPECT_EQ(query.vector_cores, 48);
  EXPECT_EQ(query.counters, 8);
  EXPECT_EQ(query.counter_bits, 32);
  EXPECT_EQ(query.cycle_bits, 48);
  EXPECT_EQ(query.clock_hz, 50'000'000u);
  EXPECT_EQ(query.core_hz, 1'800'000'000u);
  EXPECT_TRUE(query.device_flags & NPUPROF_DEVICE_SIMULATED);
  EXPECT_EQ(query.channels, 0xffeu);
  EXPECT_GT(query.sample_cost_ns, 0u);
  EXPECT_STREQ(query.name, "simulated reference NPU");
}

TEST_F(Request, SizeNegotiation) {
  Profiler profiler;
  struct {
    npuprof_query query;
    uint64_t newer[4];
  } longer{};
  longer.query.size = sizeof longer;
  EXPECT_EQ(
      npusim_dev_ioctl(profiler.handle(), _IOC(_IOC_READ | _IOC_WRITE, 'N', 0xc0, sizeof longer), &longer),
      0);
  EXPECT_EQ(longer.query.cube_cores, 24);
  EXPECT_EQ(longer.query.size, sizeof longer);
  longer = {};
  longer.query.size = sizeof longer;
  longer.newer[3] = 1;
  EXPECT_EQ(npusim_dev_ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &longer), -E2BIG);
  npuprof_query query{};
  query.size = 128;
  query.reserved[0] = 0x1234;  // not part of what an older caller has
  EXPECT_EQ(npusim_dev_ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &query), 0);
  EXPECT_EQ(query.vector_cores, 48);
  EXPECT_EQ(query.reserved[0], 0x1234u);
  query.size = 127;
  EXPECT_EQ(npusim_dev_ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &query), -EINVAL);
  query.size = 0;
  EXPECT_EQ(npusim_dev_ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &query), -EINVAL);
  EXPECT_EQ(npusim_dev_ioctl(profiler.handle(), NPUPROF_IOC_QUERY, nullptr), -EFAULT);
  EXPECT_EQ(npusim_dev_ioctl(profiler.handle(), 0x1234, &query), -ENOTTY);
}

TEST_F(Request, ReservedFieldsAndFlags) {
  Profiler profiler;
  npuprof_query query{};
  query.flags = 1;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_QUERY, &query), -EINVAL);
  npuprof_stats stats{};
  stats.reserved[0] = 1;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STATS, &stats), -EINVAL);
  npuprof_clock clock{};
  clock.flags = 1;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), -EINVAL);
  npuprof_control control{};
  control.flags = NPUPROF_STOP_WAIT;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_START, &control), -EINVAL);
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 63);
  EXPECT_EQ(profiler.Add(add), -EINVAL);
  add.slots = 64;
  add.reserved[2] = 1;
  EXPECT_EQ(profiler.Add(add), -EINVAL);
  npuprof_add_ring pmu = PmuRing(64);
  pmu.cube_events[0] = 0xfffe;
  EXPECT_EQ(profiler.Add(pmu), -EOPNOTSUPP);
}

TEST_F(Request, OrderOfRequests) {
  Profiler profiler;
  npuprof_control control{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STOP, &control), -EINVAL);
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_FLUSH, &control), -EINVAL);
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_FREEZE, &control), -EINVAL);
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  control = {};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_START, &control), -EBUSY);
  control = {};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_FREEZE, &control), -EINVAL);  // no ring to freeze
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TS_TRACK, 64)), -EBUSY);
  EXPECT_EQ(profiler.Control(1).state, uint32_t{NPUPROF_RING_RUNNING});
  profiler.Stop();
  EXPECT_EQ(profiler.Control(1).state, uint32_t{NPUPROF_RING_STOPPED});
  control = {};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_START, &control), -EINVAL);
  control = {};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STOP, &control), -EINVAL);
}

TEST_F(Request, RingsAndLimits) {
  Profiler profiler;
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1024);
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &add), 0);
  EXPECT_EQ(add.ring, 1u);
  EXPECT_EQ(add.record_size, 64u);
  EXPECT_EQ(add.watermark, 512u);
  EXPECT_EQ(add.latency_ns, 100'000'000u);
  EXPECT_EQ(add.data_offset % 4096, 0u);
  npuprof_add_ring big = PmuRing(NPUPROF_MAX_SLOTS);
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &big), 0);  // 512 MiB of a gigabyte
  npuprof_add_ring block = PmuRing(NPUPROF_MAX_SLOTS);
  block.channel = NPUPROF_CHANNEL_BLOCK_PMU;
  block.core_kind = NPUPROF_CORE_CUBE;
  block.core = 0;
  block.vector_event_count = 0;
  block.vector_events[0] = block.vector_events[1] = 0;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &block), -ENOMEM);
}

TEST_F(Request, EventListsShareTheCounters) {
  Profiler profiler;
  EXPECT_EQ(profiler.Add(PmuRing(64)), 1);
  npuprof_add_ring block = DeviceRing(NPUPROF_CHANNEL_BLOCK_PMU, 64);
  block.core_kind = NPUPROF_CORE_CUBE;
  block.core = 0;
  block.cube_events[0] = 0x300;  // a ninth event
  block.cube_event_count = 1;
  const int refused = profiler.Add(block);
  EXPECT_TRUE(refused == -ENOSPC || refused == -EOPNOTSUPP) << refused;
  block.cube_events[0] = 0x55;
  EXPECT_EQ(profiler.Add(block), 2);
  block.core = 1;
  block.options = 1;
  EXPECT_EQ(profiler.Add(block), -EINVAL);  // options must agree
}

TEST_F(Request, MappingsArePagesOfTheAreasAndControlIsReadOnly) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  void* address = nullptr;
  EXPECT_EQ(npusim_dev_mmap(profiler.handle(), 4096, 4096, &address), -EINVAL);
  EXPECT_EQ(npusim_dev_mmap(profiler.handle(), NPUPROF_MMAP_CONTROL, 0, &address), -EINVAL);
  EXPECT_EQ(npusim_dev_mmap(profiler.handle(), NPUPROF_MMAP_CONTROL, 4097, &address), -EINVAL);
  EXPECT_EQ(npusim_dev_mmap(profiler.handle(), NPUPROF_MMAP_DATA, 1u << 20, &address), -EINVAL);
  ASSERT_EQ(npusim_dev_mmap(profiler.handle(), NPUPROF_MMAP_CONTROL, 4096, &address), 0);
  EXPECT_NE(mprotect(address, 4096, PROT_READ), -1);
  EXPECT_EQ(static_cast<npuprof_ring_ctrl*>(address)[1].channel, uint32_t{NPUPROF_CHANNEL_TASK_LOG});
  EXPECT_EQ(static_cast<npuprof_ring_ctrl*>(address)[0].channel, uint32_t{NPUPROF_CHANNEL_EVENTS});
  EXPECT_DEATH(static_cast<npuprof_ring_ctrl*>(address)[1].head = 5, "");
}

TEST_F(Request, ClockBracketsAreTightAndMonotonic) {
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

TEST_F(Request, ClockFollowsItsSettings) {
  Settings settings;
  settings.clock_mhz = 100;
  settings.clock_start = 1'000'000'000'000;
  ScopedHost other{settings};
  Profiler profiler;
  npuprof_clock first{}, second{};
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &first), 0);
  usleep(20000);
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &second), 0);
  EXPECT_GE(first.device_clock, 1'000'000'000'000u);
  const double elapsed = static_cast<double>(second.host_before_ns - first.host_before_ns);
  const double slack = static_cast<double>(first.host_after_ns - first.host_before_ns + second.host_after_ns -
                                           second.host_before_ns);
  EXPECT_NEAR(static_cast<double>(second.device_clock - first.device_clock), elapsed / 10, slack / 10 + 2);
}

TEST_F(Request, StatsCountTheDriversWork) {
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1024, NPUPROF_RING_REGISTER_PATH));
  profiler.Start();
  RunTasks(*host, 100);
  profiler.Stop();
  const npuprof_stats stats = profiler.Stats();
  EXPECT_EQ(stats.records, profiler.Head(log) + profiler.Head(0));
  EXPECT_EQ(stats.tasks_started, 100u);
  EXPECT_EQ(stats.tasks_ended, 100u);
  EXPECT_GE(stats.interrupts, 1u);
  EXPECT_LT(stats.interrupts, 200u);  // not one per record
  EXPECT_GE(stats.register_reads, 400u);
  EXPECT_GT(stats.busy_ns, 0u);
}

}  // namespace
