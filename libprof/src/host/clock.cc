// SPDX-License-Identifier: Apache-2.0
#include "host/clock.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace npuprof::host {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kShortestMeasurementNs = 20'000'000;
// From here on the measurement is better than the rate which the kernel found while booting.
constexpr uint64_t kTrustMeasurementNs = 10 * kNsPerSecond;

#if defined(__x86_64__)
bool FileHasWord(const char* path, const char* word) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[256];
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  for (char *rest = nullptr, *item = strtok_r(text, " \n", &rest); item;
       item = strtok_r(nullptr, " \n", &rest)) {
    if (std::strcmp(item, word) == 0) return true;
  }
  return false;
}
#endif

// The processor promises one rate, and the kernel, which compares CPUs, has not found the counters apart: then it
// would have taken "tsc" off its list of clock sources.
bool CounterIsUsable() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8))) return false;
  return FileHasWord("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc");
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

inline uint64_t ReadCounter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

// The kernel's own conversion of the counter, from the user page of a perf event; 0 if it is not told.
double KernelHz() {
#if defined(__aarch64__)
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return static_cast<double>(hz);
#else
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return 0;
  double hz = 0;
  void* map = mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) {
    const auto* page = static_cast<const perf_event_mmap_page*>(map);
    if (page->cap_user_time && page->time_mult) {
      hz = std::ldexp(1e9, page->time_shift) / page->time_mult;
    }
    munmap(map, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  }
  close(fd);
  return hz;
#endif
}

// Decided when the library is loaded, or by a constructor of another library that asks before.
std::atomic<int> g_kind{-1};
ClockPair g_origin;

__attribute__((constructor)) void DecideAtLoad() {
  Kind();
  g_origin = ReadPair();
}

}  // namespace

ClockKind Kind() {
  int kind = g_kind.load(std::memory_order_relaxed);
  if (kind < 0) {
    kind = static_cast<int>(CounterIsUsable() ? ClockKind::kCycleCounter : ClockKind::kMonotonicRaw);
    g_kind.store(kind, std::memory_order_relaxed);
  }
  return static_cast<ClockKind>(kind);
}

uint64_t MonotonicRawNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Cycles() {
  return Kind() == ClockKind::kCycleCounter ? ReadCounter() : MonotonicRawNs();
}

ClockPair ReadPair() {
  ClockPair best;
  best.width_ns = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = MonotonicRawNs();
    const uint64_t cycles = Cycles();
    const uint64_t after = MonotonicRawNs();
    if (after - before < best.width_ns) best = {before + (after - before) / 2, cycles, after - before};
  }
  if (Kind() == ClockKind::kMonotonicRaw) best.cycles = best.monotonic_raw_ns;
  return best;
}

double MeasureHz() {
  if (Kind() == ClockKind::kMonotonicRaw) return static_cast<double>(kNsPerSecond);
  // No static object that is made here: a fork in that moment would leave it half made in the child, for ever.
  static std::atomic<double> known{-1};
  double kernel_hz = known.load(std::memory_order_relaxed);
  if (kernel_hz < 0) {
    kernel_hz = KernelHz();
    known.store(kernel_hz, std::memory_order_relaxed);
  }
  ClockPair now = ReadPair();
  uint64_t elapsed = now.monotonic_raw_ns - g_origin.monotonic_raw_ns;
  if (kernel_hz == 0 && elapsed < kShortestMeasurementNs) {
    timespec rest{0, static_cast<long>(kShortestMeasurementNs - elapsed)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, nullptr);
    now = ReadPair();
    elapsed = now.monotonic_raw_ns - g_origin.monotonic_raw_ns;
  }
  const double measured =
      static_cast<double>(now.cycles - g_origin.cycles) * 1e9 / static_cast<double>(elapsed);
  if (kernel_hz == 0 || elapsed >= kTrustMeasurementNs) return measured;
  // The kernel's figure holds only if it is about the clock that CLOCK_MONOTONIC_RAW follows (under some
  // hypervisors it is not): then both agree within what the measurement can tell.
  const double error = static_cast<double>(now.width_ns + g_origin.width_ns) / static_cast<double>(elapsed);
  return std::abs(measured / kernel_hz - 1) <= error + 1e-6 ? kernel_hz : measured;
}

uint64_t MonotonicRawNsAt(uint64_t cycles, const ClockPair& near, double hz) {
  // Apart, because the difference of two counters is exact and the counters themselves may not fit a double.
  const auto delta = static_cast<int64_t>(cycles - near.cycles);
  return near.monotonic_raw_ns + static_cast<uint64_t>(std::llround(static_cast<double>(delta) * 1e9 / hz));
}

uint64_t CyclesAt(uint64_t monotonic_raw_ns, const ClockPair& near, double hz) {
  const double delta =
      (static_cast<double>(monotonic_raw_ns) - static_cast<double>(near.monotonic_raw_ns)) * hz / 1e9;
  return near.cycles + static_cast<uint64_t>(static_cast<int64_t>(std::llround(delta)));
}

}  // namespace npuprof::host
