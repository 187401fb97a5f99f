// SPDX-License-Identifier: Apache-2.0
// What the contract leaves to the simulator; the rest is in tests/conformance.
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
  EXPECT_EQ(query.channels, 0x1fffeu);
  EXPECT_GT(query.sample_cost_ns, 0u);
  EXPECT_STREQ(query.name, "simulated reference NPU");
}

TEST_F(Request, AGigabyteIsTheLimit) {
  Profiler profiler;
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

}  // namespace
