/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of the driver, in nanoseconds. */
#ifndef NPUSIM_HOST_TIMING_H
#define NPUSIM_HOST_TIMING_H

#include <cstdint>

namespace npusim {

/** After the first entry of a FIFO interrupted, how long the driver lets more of them gather. */
inline constexpr uint64_t kGatherNs = 1'000'000;
/** How often device-written rings are looked at while records come, and at most while none do. */
inline constexpr uint64_t kPollMinNs = 500'000;
inline constexpr uint64_t kPollMaxNs = 16'000'000;
/** How long a lost interrupt stays unnoticed. */
inline constexpr uint64_t kWatchdogNs = 100'000'000;
/** Clock brackets in the event ring. */
inline constexpr uint64_t kClockEventNs = 1'000'000'000;
/** Sampling that is later than this skips the periods it missed and says so. */
inline constexpr uint64_t kThrottleNs = 1'000'000'000;
inline constexpr uint64_t kMinPeriodNs = 10'000;
inline constexpr uint64_t kMaxPeriodNs = 10'000'000'000;

}  // namespace npusim
#endif  // NPUSIM_HOST_TIMING_H
