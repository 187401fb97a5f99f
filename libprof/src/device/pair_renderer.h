// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "device/renderers.h"
#include "device/ticks.h"
#include "npuprof_records.h"

namespace npuprof::device {

inline constexpr uint32_t kEvents = 2;  // per unit, of every channel that is rendered

/// The two quantities of one unit at one moment, with what came before.
struct Sample {
  uint64_t clock = 0;
  uint64_t ticks = 0;  ///< since the sample before
  uint32_t unit = 0;
  std::array<uint64_t, kEvents> now{}, sum{};

  uint64_t PerSecond(uint32_t event, uint64_t hz) const { return MulDiv(now[event], hz, ticks); }
};

/// Gathers the quantities of a sample unit by unit.
class PairRenderer : public Renderer {
 public:
  explicit PairRenderer(const SampleTimes& times)
      : hz_(times.clock_hz),
        period_(MulDiv(times.period_ns, times.clock_hz, 1'000'000'000)),
        base_(times.base) {}
  void Take(const void* record, std::string* out) override {
    npuprof_rec_bandwidth in;
    std::memcpy(&in, record, sizeof in);
    if (in.event >= kEvents) return;
    in.clock -= base_;
    if (have_ != 0 && (in.clock != open_.clock || in.unit != open_.unit)) Emit(out);
    open_.clock = in.clock;
    open_.unit = in.unit;
    open_.now[in.event] = in.value;
    have_ |= 1u << in.event;
    if (have_ == (1u << kEvents) - 1) Emit(out);
  }
  void Finish(std::string* out) override {
    if (have_ != 0) Emit(out);
  }

 protected:
  virtual void Write(const Sample& sample, std::string* out) = 0;
  uint64_t hz() const { return hz_; }
  uint64_t Ns(uint64_t clock) const { return MulDiv(clock, 1'000'000'000, hz_); }

 private:
  struct Past {
    uint64_t clock = 0;
    std::array<uint64_t, kEvents> sum{};
  };

  void Emit(std::string* out) {
    const auto [found, first] = past_.try_emplace(open_.unit);
    Past& past = found->second;
    if (first) past.clock = open_.clock - period_;
    open_.ticks = open_.clock - past.clock;
    for (uint32_t event = 0; event < kEvents; ++event) past.sum[event] += open_.now[event];
    past.clock = open_.clock;
    open_.sum = past.sum;
    Write(open_, out);
    open_ = {};
    have_ = 0;
  }

  const uint64_t hz_, period_, base_;
  Sample open_;
  uint32_t have_ = 0;
  std::map<uint32_t, Past> past_;
};

}  // namespace npuprof::device
