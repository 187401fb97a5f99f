// SPDX-License-Identifier: Apache-2.0
// What goes to and from the main memory: by flow, by copy engine, and as levels.
#include <algorithm>
#include <array>
#include <optional>

#include "device/pair_renderer.h"
#include "device/quantiser.h"
#include "device/renderers.h"

namespace npuprof::device {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;  // of rates in the files

/// Collects all units of a moment.
class MomentRenderer : public PairRenderer {
 public:
  explicit MomentRenderer(const SampleTimes& times) : PairRenderer(times) {}
  void Finish(std::string* out) override {
    PairRenderer::Finish(out);
    Close(out);
  }

 protected:
  void Write(const Sample& sample, std::string* out) override {
    if (clock_ && *clock_ != sample.clock) Close(out);
    clock_ = sample.clock;
    Add(sample);
  }
  virtual void Add(const Sample& sample) = 0;
  /// All that was added, of one moment.
  virtual void Complete(uint64_t clock, std::string* out) = 0;

 private:
  void Close(std::string* out) {
    if (clock_) Complete(*clock_, out);
    clock_.reset();
  }
  std::optional<uint64_t> clock_;
};

class FlowRenderer final : public MomentRenderer {
 public:
  FlowRenderer(const SampleTimes& times, std::vector<uint32_t> flows)
      : MomentRenderer(times), flows_(std::move(flows)) {}

 private:
  static constexpr size_t kColumns = 10;
  struct Record {
    uint32_t reserved0, reserved1;
    uint64_t reserved2;
    uint64_t clock;
    uint32_t bandwidth[kColumns];
  };
  static_assert(sizeof(Record) == kFlowFileRecord);

  void Add(const Sample& s) override {
    for (size_t i = 0; i < std::min(flows_.size(), kColumns); ++i) {
      if (flows_[i] != s.unit) continue;
      const uint64_t rate =
          rests_[i].Take(s.now[0] + s.now[1], static_cast<unsigned __int128>(kMegabyte) * s.ticks, hz());
      record_.bandwidth[i] = static_cast<uint32_t>(std::min<uint64_t>(rate, UINT32_MAX));
    }
  }
  void Complete(uint64_t clock, std::string* out) override {
    record_.clock = clock;
    out->append(reinterpret_cast<const char*>(&record_), sizeof record_);
    record_ = {};
  }

  const std::vector<uint32_t> flows_;
  std::array<Quantiser, kColumns> rests_;
  Record record_{};
};

class AcceleratorRenderer final : public MomentRenderer {
 public:
  explicit AcceleratorRenderer(const SampleTimes& times) : MomentRenderer(times) {}

 private:
  struct Record {
    uint16_t head, magic;
    uint32_t reserved0;
    uint64_t clock;
    uint16_t reserved1, id;
    uint32_t reserved2[3];
    uint64_t written, read, writes, reads;
  };
  static_assert(sizeof(Record) == kTransferFileRecord);

  void Add(const Sample& s) override {
    const uint32_t engine = s.unit / 2;
    if (engine >= engines_.size()) return;
    Record& record = engines_[engine];
    record.magic = NPUPROF_STARS_MAGIC;
    if (s.unit % 2 == 0) {
      record.read = s.now[0];
      record.written = s.now[1];
      return;
    }
    // Transfers under way on the average: microseconds of transfers by those of the time. One that was there at all
    // is one.
    const uint64_t span_us = std::max<uint64_t>(1, MulDiv(s.ticks, 1'000'000, hz()));
    record.reads = (s.now[0] + span_us - 1) / span_us;
    record.writes = (s.now[1] + span_us - 1) / span_us;
  }
  void Complete(uint64_t clock, std::string* out) override {
    constexpr uint16_t kAccelerator = 0x1a;
    for (size_t i = 0; i < engines_.size(); ++i) {
      Record& record = engines_[i];
      if (record.magic != 0) {
        record.head = NPUPROF_HEAD(kAccelerator, 0);
        record.clock = clock;
        record.id = static_cast<uint16_t>(i);
        out->append(reinterpret_cast<const char*>(&record), sizeof record);
      }
      record = {};
    }
  }

  std::array<Record, NPUPROF_ACCELERATORS> engines_{};
};

class LevelRenderer final : public PairRenderer {
 public:
  LevelRenderer(const SampleTimes& times, uint64_t buffer_peak) : PairRenderer(times), peak_(buffer_peak) {}

 private:
  struct Record {
    uint16_t head, magic;
    uint32_t reserved0;
    uint64_t clock;
    uint64_t reserved1[2];
    uint16_t levels;
    uint8_t reserved2[30];
  };
  static_assert(sizeof(Record) == kTransferFileRecord);

  uint16_t Level(uint64_t bytes, uint64_t peak, uint64_t ticks, uint16_t steps, Quantiser* rest) {
    // One step is peak * ticks / hz / steps bytes.
    const uint64_t level =
        rest->Take(bytes, static_cast<unsigned __int128>(peak) * ticks, uint64_t{steps} * hz());
    if (level <= steps) return static_cast<uint16_t>(level);
    rest->Drop();
    return steps;
  }
  void Write(const Sample& s, std::string* out) override {
    constexpr uint16_t kLevel = 0x1c;
    const uint64_t missed = s.now[1] * kLineBytes, all = s.now[0] * kLineBytes + missed;
    Record record{};
    record.head = NPUPROF_HEAD(kLevel, 0);
    record.magic = NPUPROF_STARS_MAGIC;
    record.clock = s.clock;
    record.levels =
        static_cast<uint16_t>(Level(missed, kMemoryBytesPerSecond, s.ticks, kMemoryLevels, &memory_) |
                              Level(all, peak_, s.ticks, kBufferLevels, &buffer_) << 3);
    out->append(reinterpret_cast<const char*>(&record), sizeof record);
  }

  static constexpr uint64_t kLineBytes = 128;
  const uint64_t peak_;
  Quantiser memory_, buffer_;
};

}  // namespace

std::unique_ptr<Renderer> RenderFlows(const SampleTimes& times, std::vector<uint32_t> flows) {
  return std::make_unique<FlowRenderer>(times, std::move(flows));
}
std::unique_ptr<Renderer> RenderAccelerators(const SampleTimes& times) {
  return std::make_unique<AcceleratorRenderer>(times);
}
std::unique_ptr<Renderer> RenderLevels(const SampleTimes& times, uint64_t buffer_peak) {
  return std::make_unique<LevelRenderer>(times, buffer_peak);
}

}  // namespace npuprof::device
