// SPDX-License-Identifier: Apache-2.0
// Memory that is short in the middle of a call: it says ENOMEM or does without, and leaves nothing behind.
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <tuple>

#include "faults.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr const char* kPmu = "/sys/bus/event_source/devices/npuprof_0/";

// Level 4 is what the console does not show meanwhile, or the lab would take this for real. A line without an end might
// go on, and is not to be seen yet.
TEST(ConsoleFaults, ThatTheKernelTellsOfAreFound) {
  QuietConsole console;
  ASSERT_EQ(WriteFile("/dev/kmsg", "<4>nothing to see here\n"), 0);
  console.Collect();
  EXPECT_EQ(console.complaints(), "");
  ASSERT_EQ(WriteFile("/dev/kmsg", "<4>WARNING: a test says so\n"), 0);
  ASSERT_EQ(WriteFile("/dev/kmsg", "<4>and more\n"), 0);
  console.Collect();
  EXPECT_EQ(console.complaints().find("WARNING: a test says so\n"), 0u) << console.complaints();
  EXPECT_NE(console.complaints().find("and more\n"), std::string::npos) << console.complaints();
}

TEST_F(Faults, InOpen) {
  int fd = -1;
  const int failures = Each([] {}, [&] { return fd = Backend::Get().Open(0), fd < 0 ? fd : 0; },
                            [&](int result) {
                              if (result == 0) close(fd);
                            });
  EXPECT_GE(failures, 40);  // pages of the three areas alone
  ExpectUsable();
}

// Where a ring's records come from, and whether old ones make way.
struct RingFaults : Faults, testing::WithParamInterface<uint32_t> {
  std::vector<npuprof_add_ring> Rings() const {
    std::vector<npuprof_add_ring> rings{DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 512, GetParam()),
                                        PmuRing(64, GetParam()),
                                        SampleRing(NPUPROF_CORE_CUBE, 0, 200 * kMs, 512, {0x416}, GetParam()),
                                        UnitRing(NPUPROF_CHANNEL_HBM, 200 * kMs, 512, GetParam())};
    return rings;
  }
  void AddAll(Profiler& profiler) const {
    int number = 0;
    for (const npuprof_add_ring& ring : Rings()) ASSERT_EQ(profiler.Add(ring), ++number);
  }
};
INSTANTIATE_TEST_SUITE_P(Paths, RingFaults,
                         testing::Values(uint32_t{NPUPROF_RING_REGISTER_PATH},
                                         uint32_t{NPUPROF_RING_DEVICE_PATH},
                                         uint32_t{NPUPROF_RING_OVERWRITE}),
                         [](const testing::TestParamInfo<uint32_t>& path) {
                           return path.param == NPUPROF_RING_OVERWRITE ? std::string("Overwrite")
                                                                       : PathName(path);
                         });

TEST_P(RingFaults, InAddRing) {
  std::optional<Profiler> profiler;
  for (const npuprof_add_ring& ring : Rings()) {
    const int failures = Each([&] { profiler.emplace(); }, [&] { return std::min(profiler->Add(ring), 0); },
                              [&](int result) {
                                // The claim of a failed request is gone, its number and place are free.
                                Profiler other;
                                EXPECT_EQ(other.Add(ring), result == 0 ? -EBUSY : 1);
                                other.Close();
                                if (result != 0) {
                                  EXPECT_EQ(profiler->Add(ring), 1);
                                }
                              });
    EXPECT_GE(failures, 3) << ring.channel;
  }
  profiler.reset();
  ExpectUsable();
}

TEST_P(RingFaults, InStart) {
  std::optional<Profiler> profiler;
  const auto prepare = [&] {
    profiler.emplace();
    ASSERT_NO_FATAL_FAILURE(AddAll(*profiler));
    profiler->Map();
  };
  const int failures = Each(
      prepare, [&] { return profiler->Control(NPUPROF_IOC_START); },
      [&](int result) {
        if (result != 0) profiler->Start();
        profiler->Stop();
      });
  EXPECT_GE(failures, 2);  // the request; a list of addresses, or a group of samples
  profiler.reset();
  ExpectUsable();
}

TEST_P(RingFaults, InStop) {
  std::optional<Profiler> profiler;
  const auto prepare = [&] {
    profiler.emplace();
    ASSERT_NO_FATAL_FAILURE(AddAll(*profiler));
    profiler->Start();
  };
  const int failures = Each(
      prepare, [&] { return profiler->Control(NPUPROF_IOC_STOP); },
      [&](int result) {
        const uint32_t state = result == 0 ? NPUPROF_RING_STOPPED : NPUPROF_RING_RUNNING;
        EXPECT_EQ(profiler->Ctrl(1).state, state);
        if (result != 0) profiler->Stop();
      });
  EXPECT_GE(failures, 1);
  profiler.reset();
  ExpectUsable();
}

TEST_F(Faults, InMmap) {
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 4096)), 1);
  // Nothing is mapped for half a terabyte around, so that page tables of every level are missing.
  void* const far = reinterpret_cast<void*>(uintptr_t{0x200000000000});
  for (const auto& [offset, bytes, protection] : {std::tuple{NPUPROF_MMAP_CONTROL, kPage, PROT_READ},
                                                  {NPUPROF_MMAP_TAILS, kPage, PROT_READ | PROT_WRITE},
                                                  {NPUPROF_MMAP_DATA, 16 * kPage, PROT_READ}}) {
    const auto call = [&, offset = offset, bytes = bytes, protection = protection] {
      void* got = mmap(far, bytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE, profiler.handle(),
                       static_cast<off_t>(offset));
      return got == MAP_FAILED ? -errno : 0;
    };
    const int failures = Each([] {}, call,
                              [&, bytes = bytes](int result) {
                                if (result == 0) {
                                  EXPECT_EQ(munmap(far, bytes), 0);
                                }
                              });
    EXPECT_GE(failures, 4) << std::hex << offset;  // the mapping, and three levels of page tables
  }
  profiler.Start();
  profiler.Stop();
}

// What keeps the device awake; sysfs shows it for the PCI device.
std::string PowerUsage() {
  return ReadFile("/sys/class/npuprof/npuprof0/device/power/runtime_usage");
}

TEST_F(Faults, InOpeningAnEventOfPerf) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = static_cast<uint32_t>(std::atoi(ReadFile(std::string(kPmu) + "type").c_str()));
  attr.config = 1 << 16 | 0x9;
  const int cpu = std::atoi(ReadFile(std::string(kPmu) + "cpumask").c_str());
  const std::string usage = PowerUsage();
  ASSERT_NE(usage, "");
  int fd = -1;
  const auto call = [&] {
    fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    return fd < 0 ? -errno : 0;
  };
  const int failures = Each([] {}, call,
                            [&](int result) {
                              if (result == 0) close(fd);
                              // The file's end is work that is done on the way out of the call.
                              EXPECT_EQ(PowerUsage(), usage);
                            });
  EXPECT_GE(failures, 2);
  ExpectUsable();
}

}  // namespace
}  // namespace selftest
