// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace npuprof::host {

/// Which counter stamps host records.
enum class ClockKind {
  kCycleCounter,  ///< the CPU's own counter, running at one rate on all CPUs
  kMonotonicRaw,  ///< CLOCK_MONOTONIC_RAW in nanoseconds, where the counter cannot be trusted
};

/// The clock of all host records. Decided once, when the library is loaded.
ClockKind Kind();

/// The counter now. Never fails, safe in signal handlers, a few nanoseconds.
uint64_t Cycles();

/// CLOCK_MONOTONIC_RAW in nanoseconds.
uint64_t MonotonicRawNs();

/// A moment in both clocks.
struct ClockPair {
  uint64_t monotonic_raw_ns = 0;
  uint64_t cycles = 0;
  uint64_t width_ns = 0;  ///< how far apart the readings around @c cycles lie
};
/// Both clocks now, the tightest of five.
ClockPair ReadPair();

/// Rate of the counter in Hz against CLOCK_MONOTONIC_RAW. The first call may take 20 ms where the kernel does not
/// tell the rate; later calls measure over all the time since the library was loaded and so get more exact.
double MeasureHz();

/// CLOCK_MONOTONIC_RAW in nanoseconds at counter value @p cycles, extrapolated from @p near with rate @p hz.
uint64_t MonotonicRawNsAt(uint64_t cycles, const ClockPair& near, double hz);

/// The counter at @p monotonic_raw_ns, extrapolated from @p near with rate @p hz.
uint64_t CyclesAt(uint64_t monotonic_raw_ns, const ClockPair& near, double hz);

}  // namespace npuprof::host
