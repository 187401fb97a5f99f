// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "trace/manifest.h"

namespace npuprof::trace {

/// Follows the times of samples and measures how well they keep their period. One thread at a time.
class IntervalMeter {
 public:
  void Start(uint64_t period_ns) { sampling_.period_ns = period_ns; }
  bool on() const { return sampling_.period_ns != 0; }

  /// A sample was taken at @p ns, on any clock; several calls with the same time are one sample.
  void Note(uint64_t ns) {
    if (sampling_.samples != 0 && ns == last_) return;
    // A clock that began anew, as after a reset of the device, tells of no interval.
    if (ns < last_) {
      last_ = ns;
      open_ = 0;
      ++sampling_.samples;
      return;
    }
    // An interval counts once the next one began: Stop takes a last sample before its time.
    if (open_ != 0) Count(open_);
    open_ = sampling_.samples == 0 ? 0 : ns - last_;
    last_ = ns;
    ++sampling_.samples;
  }

  Manifest::Sampling Result() const {
    Manifest::Sampling result = sampling_;
    result.mean_ns = counted_ == 0 ? 0 : (sum_ + counted_ / 2) / counted_;
    return result;
  }

 private:
  void Count(uint64_t interval) {
    const uint64_t period = sampling_.period_ns;
    sampling_.worst_error_ns =
        std::max(sampling_.worst_error_ns, interval > period ? interval - period : period - interval);
    sum_ += interval;
    ++counted_;
  }

  Manifest::Sampling sampling_;
  uint64_t last_ = 0, open_ = 0, sum_ = 0, counted_ = 0;
};

}  // namespace npuprof::trace
