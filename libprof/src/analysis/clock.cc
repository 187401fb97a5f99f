// SPDX-License-Identifier: Apache-2.0
#include "analysis/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace npuprof::analysis {
namespace {

using Wide = __int128;
constexpr Wide kSecond = 1'000'000'000;

int64_t Saturate(Wide value) {
  return static_cast<int64_t>(std::clamp<Wide>(value, std::numeric_limits<int64_t>::min() / 2,
                                               std::numeric_limits<int64_t>::max() / 2));
}

// Rounds to the nearest; `denominator` is positive.
Wide Divide(Wide numerator, Wide denominator) {
  const Wide half = denominator / 2;
  return numerator >= 0 ? (numerator + half) / denominator : -((-numerator + half) / denominator);
}

Wide Difference(uint64_t a, uint64_t b) {
  return static_cast<Wide>(a) - static_cast<Wide>(b);
}

// What a device that does not answer reads as, or what is no reading of two clocks at all.
bool Impossible(const ClockBracket& point) {
  constexpr uint64_t kAllOnes = std::numeric_limits<uint64_t>::max();
  return point.device == 0 || point.device == kAllOnes || point.host_ns == 0 || point.host_ns == kAllOnes ||
         point.width_ns > std::numeric_limits<int64_t>::max();
}

// The most of `points`, which rise in device ticks, that rise in both clocks. A reading that contradicts the others
// must not decide which of them are believed, whether it comes first or last.
std::vector<ClockBracket> Agreeing(const std::vector<ClockBracket>& points) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> ends;  // by length less one: the earliest end in host time of a series of that length
  std::vector<size_t> before(points.size(), kNone);
  for (size_t k = 0; k < points.size(); ++k) {
    const auto place =
        std::lower_bound(ends.begin(), ends.end(), points[k].host_ns,
                         [&](size_t end, uint64_t host) { return points[end].host_ns < host; });
    if (place != ends.begin()) before[k] = *(place - 1);
    if (place == ends.end()) {
      ends.push_back(k);
    } else {
      *place = k;
    }
  }
  std::vector<ClockBracket> agreeing;
  for (size_t k = ends.empty() ? kNone : ends.back(); k != kNone; k = before[k])
    agreeing.push_back(points[k]);
  std::reverse(agreeing.begin(), agreeing.end());
  return agreeing;
}

}  // namespace

HostClock::HostClock(const Profile& profile) : anchor_(profile.host_anchor()), hertz_(profile.host_hz()) {}

int64_t HostClock::Wall(uint64_t cycles) const {
  if (hertz_ == 0) return Saturate(static_cast<Wide>(cycles) + anchor_.wall_minus_raw_ns);
  const Wide ns = Divide(Difference(cycles, anchor_.cycles) * kSecond, static_cast<Wide>(hertz_));
  return Saturate(ns + anchor_.monotonic_raw_ns + anchor_.wall_minus_raw_ns);
}

int64_t HostClock::Duration(uint64_t cycles) const {
  return hertz_ == 0 ? Saturate(cycles) : Saturate(Divide(static_cast<Wide>(cycles) * kSecond, hertz_));
}

DeviceClock::DeviceClock(const Profile& profile, size_t device, Diagnostics* diagnostics)
    : anchor_(profile.device_anchor(device)), hertz_(profile.devices().at(device).clock_hz) {
  std::vector<ClockBracket> points = profile.devices()[device].brackets;
  const int id = profile.devices()[device].id;
  const auto warn = [&](std::string text) { diagnostics->Warn("npuprof/manifest.json", std::move(text)); };
  if (const size_t impossible = std::erase_if(points, Impossible); impossible > 0) {
    warn(fmt::format(
        "{} of the clock brackets of device {} are not used: a device clock of 0 or all ones is no reading",
        impossible, id));
  }
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return a.device != b.device ? a.device < b.device : a.width_ns < b.width_ns;
  });
  // Read twice in one tick gives no slope; the narrower bracket says more.
  points.erase(std::unique(points.begin(), points.end(),
                           [](const auto& a, const auto& b) { return a.device == b.device; }),
               points.end());
  points_ = Agreeing(points);
  if (points_.size() < points.size()) {
    warn(fmt::format("{} of {} clock brackets of device {} contradict the others and are not used",
                     points.size() - points_.size(), points.size(), id));
  }
  if (points_.size() < 2) {
    points_.clear();
    return;
  }
  const auto& first = points_.front();
  const auto& last = points_.back();
  const Wide nominal = Divide(Difference(last.device, first.device) * kSecond, static_cast<Wide>(hertz_));
  const Wide measured = Difference(last.host_ns, first.host_ns);
  const Wide off = nominal > measured ? nominal - measured : measured - nominal;
  Wide width = 0;
  for (const auto& point : points_) width = std::max<Wide>(width, point.width_ns);
  // Real oscillators stay within 0.1 %; more means that the brackets are not of this clock.
  if (off > nominal / 1000 + 2 * width) {
    warn(fmt::format("clock brackets of device {} contradict its {} Hz; the nominal rate is used", id,
                     hertz_));
    points_.clear();
    return;
  }
  error_ns_ = static_cast<uint64_t>(width / 2);
}

int64_t DeviceClock::Wall(uint64_t ticks) const {
  if (points_.empty()) {
    const Wide ns = Divide(Difference(ticks, anchor_.clock) * kSecond, static_cast<Wide>(hertz_));
    return Saturate(ns + anchor_.host_raw_ns + anchor_.wall_minus_raw_ns);
  }
  const auto next = std::upper_bound(points_.begin(), points_.end(), ticks,
                                     [](uint64_t value, const ClockBracket& p) { return value < p.device; });
  // Outside the brackets the mean rate of the run carries on; a single short stretch would exaggerate its
  // error.
  const ClockBracket* from = &points_.front();
  const ClockBracket* to = &points_.back();
  const ClockBracket* base = next == points_.begin() ? from : &*(next - 1);
  if (next != points_.begin() && next != points_.end()) {
    from = base;
    to = &*next;
  }
  const Wide ns = Divide(Difference(ticks, base->device) * Difference(to->host_ns, from->host_ns),
                         Difference(to->device, from->device));
  return Saturate(ns + base->host_ns + anchor_.wall_minus_raw_ns);
}

}  // namespace npuprof::analysis
