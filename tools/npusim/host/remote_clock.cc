// SPDX-License-Identifier: Apache-2.0
#include "host/remote_clock.h"

#include <cmath>

namespace npusim {
namespace {

// While the rate is unknown a bracket gets worse by so much with age: calibrated clocks differ by less.
constexpr double kDriftUnknown = 300e-6;
constexpr double kDriftKnown = 5e-6;
// Rates further from one than this are misread clocks.
constexpr double kMaxDrift = 0.01;
constexpr uint64_t kBeginningNs = 500'000'000;

}  // namespace

void RemoteClock::Add(uint64_t before_ns, uint64_t remote_ns, uint64_t after_ns) {
  if (after_ns < before_ns) return;
  const Pair pair{before_ns + (after_ns - before_ns) / 2, remote_ns, (after_ns - before_ns + 1) / 2};
  if (first_.half == kNone) {
    first_ = now_ = pair;
    return;
  }
  if (pair.remote < now_.remote) return;
  if (pair.remote - first_.remote < kBeginningNs) {
    if (pair.half <= first_.half) first_ = pair;
  } else {
    const double span = static_cast<double>(pair.remote - first_.remote);
    const double rate = static_cast<double>(pair.local - first_.local) / span;
    // No better than one if the brackets are too wide to tell.
    const double doubt = static_cast<double>(pair.half + first_.half) / span;
    if (std::abs(rate - 1) < kMaxDrift && doubt < std::abs(rate_ - rate) + kDriftUnknown) rate_ = rate;
  }
  const double age = static_cast<double>(pair.remote - now_.remote);
  const double drift = rate_ == 1 ? kDriftUnknown : kDriftKnown;
  if (static_cast<double>(pair.half) <= static_cast<double>(now_.half) + age * drift) now_ = pair;
}

uint64_t RemoteClock::ToLocal(uint64_t remote_ns) const {
  const double delta = static_cast<double>(static_cast<int64_t>(remote_ns - now_.remote)) * rate_;
  return now_.local + static_cast<uint64_t>(std::llround(delta));
}

uint64_t RemoteClock::ToRemote(uint64_t local_ns) const {
  const double delta = static_cast<double>(static_cast<int64_t>(local_ns - now_.local)) / rate_;
  return now_.remote + static_cast<uint64_t>(std::llround(delta));
}

}  // namespace npusim
