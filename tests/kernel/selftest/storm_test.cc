// SPDX-License-Identifier: Apache-2.0
// The same things very often, and many of them at once.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <random>
#include <thread>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

struct Storm : OnBothPaths {};
ON_BOTH_PATHS(Storm);

TEST(Storm, OpenAndClose) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < Rounds(3000); ++k) {
        const int fd = Backend::Get().Open(static_cast<uint32_t>(t % 2));
        if (fd < 0) {
          ++failures;
          continue;
        }
        if (k % 3 == 0) {
          npuprof_query query{};
          query.size = sizeof query;
          failures += Backend::Get().Ioctl(fd, NPUPROF_IOC_QUERY, &query) != 0;
        }
        close(fd);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// Ten thousand in all, half on each path, with tasks going on all the time.
TEST_P(Storm, StartAndStop) {
  Port port;
  std::atomic<bool> stop{false};
  std::thread work([&] {
    while (!stop) {
      port.Submit(16, 18'000, 24);
      port.Drain();
    }
  });
  const int cycles = Rounds(5000);
  uint64_t records = 0;
  for (int k = 0; k < cycles; ++k) {
    Profiler profiler;
    const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path()));
    if (log != 1) {
      ADD_FAILURE() << "cycle " << k << ": " << log;
      break;
    }
    if (k % 4 == 0) {
      EXPECT_EQ(profiler.Add(PmuRing(64, path())), 2) << k;
    }
    profiler.Start();
    const npuprof_control end = profiler.Stop(10 * kSecond);
    // What started in the window has ended, for STOP waited: as many starts as ends, or they were lost.
    const npuprof_stats stats = profiler.Stats();
    ASSERT_EQ(stats.tasks_started, stats.tasks_ended) << "cycle " << k << ", straddling " << end.straddling;
    ASSERT_EQ(profiler.Head(log) + profiler.Lost(log), stats.tasks_started + stats.tasks_ended)
        << "cycle " << k;
    records += profiler.Head(log);
  }
  stop = true;
  work.join();
  EXPECT_GT(records, 0u);  // some windows had tasks
}

TEST(Storm, EverythingAtOnceOnSharedFiles) {
  // Requests on one file from several threads: they are served one after the other, none gets lost.
  for (int round = 0; round < Rounds(60); ++round) {
    Port port;
    Profiler profiler(static_cast<uint32_t>(round % 2));
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
    ASSERT_EQ(profiler.Add(SampleRing(NPUPROF_CORE_CUBE, 0, 20 * kMs, 64, {0x416})), 2);
    profiler.Map();
    std::atomic<int> starts{0}, stops{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(round * 10 + t));
        for (int k = 0; k < 60; ++k) {
          switch (random() % 6) {
            case 0:
              starts += profiler.Control(NPUPROF_IOC_START) == 0;
              break;
            case 1:
              if (k > 30) stops += profiler.Control(NPUPROF_IOC_STOP) == 0;
              break;
            case 2:
              profiler.Control(NPUPROF_IOC_FLUSH);
              break;
            case 3:
              profiler.Stats();
              break;
            case 4: {
              pollfd fd{profiler.handle(), POLLIN, 0};
              poll(&fd, 1, 1);
              break;
            }
            default:
              port.Submit(2, 1800, 4, 1, static_cast<uint32_t>(round % 2));
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_LE(starts, 1) << round;
    ASSERT_LE(stops, starts) << round;
    if (starts == 1 && stops == 0) profiler.Stop();
    ASSERT_TRUE(port.Drain(static_cast<uint32_t>(round % 2)));
  }
}

TEST(Storm, TwoOwnersEachWithItsOwnCores) {
  Port port;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (uint16_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < Rounds(200); ++k) {
        Profiler profiler;
        const uint32_t path = k % 2 ? NPUPROF_RING_DEVICE_PATH : NPUPROF_RING_REGISTER_PATH;
        failures += profiler.Add(SampleRing(NPUPROF_CORE_CUBE, t, 20 * kMs, 64, {0x416}, path)) != 1;
        failures += profiler.Add(SampleRing(NPUPROF_CORE_VECTOR, t, 20 * kMs, 64, {0x8}, path)) != 2;
        profiler.Start();
        profiler.Stop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// Takes long to add; on a slow kernel a smaller one does.
npuprof_add_ring LargeRing(uint16_t core) {
  const uint32_t slots = (1u << 20) / std::bit_floor(static_cast<uint32_t>(Patience()));
  return SampleRing(NPUPROF_CORE_CUBE, core, 1000 * kMs, slots, {0x416}, NPUPROF_RING_REGISTER_PATH);
}

// Memory for a large ring is found without holding up those who use the device.
TEST(Storm, ALargeRingHoldsNobodyUp) {
  Profiler large, small;
  ASSERT_EQ(small.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  small.Start();
  std::atomic<bool> adding{false}, added{false};
  std::atomic<int> result{0};
  std::thread adder([&] {
    adding = true;
    result = large.Add(LargeRing(1));
    added = true;
  });
  while (!adding) std::this_thread::yield();
  int served = 0;
  while (!added) {
    small.Stats();
    ++served;
  }
  adder.join();
  EXPECT_EQ(result, 1);
  EXPECT_GT(served, 10);
  small.Stop();
}

TEST(Storm, ClosedWhileARingIsAdded) {
  int added = 0, closed = 0;
  for (int k = 0; k < Rounds(20, 5); ++k) {
    const int fd = Backend::Get().Open(0);
    ASSERT_GE(fd, 0);
    std::atomic<int> result{1};
    std::atomic<bool> adding{false};
    std::thread adder([&] {
      npuprof_add_ring add = LargeRing(2);
      add.size = sizeof add;
      adding = true;
      result = Backend::Get().Ioctl(fd, NPUPROF_IOC_ADD_RING, &add);
    });
    while (!adding) std::this_thread::yield();
    usleep(static_cast<useconds_t>(k * 3000));
    close(fd);
    adder.join();
    EXPECT_TRUE(result == 0 || result == -EBADF) << result;
    ++(result == 0 ? added : closed);
    // Nothing is left of its claim, nor of its memory.
    Profiler next;
    ASSERT_EQ(next.Add(LargeRing(2)), 1) << k;
  }
  EXPECT_GT(closed, 0) << added;
}

}  // namespace
}  // namespace selftest
