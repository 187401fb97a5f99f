// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device_session.h"

namespace npuprof::device {

/// Readings of a device clock that are taken at a steady pace for as long as a session runs. Their number is bounded: once
/// there are too many every second one goes, and from then on only every second one is kept, so what is left is always
/// evenly spaced from the first to the newest. One thread at a time.
class ClockSeries {
 public:
  /// Each is some ninety bytes of a manifest that is rewritten once a second.
  static constexpr size_t kMost = 2000;

  void Add(const ClockBracket& bracket) {
    newest_ = bracket;
    newest_is_kept_ = count_++ % stride_ == 0;
    if (!newest_is_kept_) return;
    kept_.push_back(bracket);
    if (kept_.size() < kMost) return;
    size_t left = 0;
    for (size_t i = 0; i < kept_.size(); i += 2) kept_[left++] = kept_[i];
    kept_.resize(left);
    stride_ *= 2;
    newest_is_kept_ = kMost % 2 == 1;
  }

  /// In the order in which they came; the newest is always among them.
  std::vector<ClockBracket> All() const {
    std::vector<ClockBracket> all = kept_;
    if (count_ > 0 && !newest_is_kept_) all.push_back(newest_);
    return all;
  }

 private:
  std::vector<ClockBracket> kept_;
  ClockBracket newest_;
  bool newest_is_kept_ = false;
  uint64_t count_ = 0, stride_ = 1;
};

}  // namespace npuprof::device
