// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/clock_series.h"
#include "device/device_session.h"
#include "device/renderers.h"
#include "drain/drain.h"
#include "drain/ledger.h"
#include "npuprof_records.h"
#include "trace/manifest.h"
#include "trace/record_file.h"
#include "trace/sampling.h"

namespace npuprof::device {

/// Moves all rings of one device session into files, decodes its event ring, and takes a clock bracket once a
/// second. Add it to the collection before DeviceSession::Start(), then call Stop(), then Finish().
class DeviceSource final : public drain::Source {
 public:
  /// @p session must be mapped, and must outlive the collection's Finish().
  explicit DeviceSource(DeviceSession& session);

  /// Sends ring @p ring to @p file (several rings may share one). Before the source is added. Both outlive
  /// Finish(). A ring without a file is read and dropped, and reported as lost with cause "no_file".
  void Route(unsigned ring, trace::RecordFile& file);
  /// The same through a renderer; a ring may have several, each with its file.
  void Route(unsigned ring, trace::RecordFile& file, std::shared_ptr<Renderer> renderer);
  /// What is subtracted from device clocks in everything that this tells; before the source is added.
  void SetBase(uint64_t base) { base_ = base; }
  /// Shows @p visit records that are taken up: channel, records, their number and size. Before the source is added.
  using Visit = std::function<void(uint32_t channel, const std::byte* data, size_t count, size_t size)>;
  void OnRecords(Visit visit) { on_records_ = std::move(visit); }
  /// Notes a bracket taken elsewhere (at start and stop). Any thread but only while the drain does not visit:
  /// before Add() or after Finish().
  void AddClock(const ClockBracket& bracket) { marked_.push_back(bracket); }

  drain::Progress Poll(const drain::Pass& pass) override;
  int WakeFd() const override;
  void ClearWake() override;

  /// Rings, gaps and clocks for the manifest. Drain thread, or any thread after Finish(). Tasks and driver
  /// figures are left to the caller (DeviceSession::Stats()).
  void Describe(trace::Manifest::Device* out) const;
  /// Its two halves: what is read from the session, and for the rings of that, what became of the records that were taken
  /// up. The second may be asked for, again and again, when the session is no more.
  void DescribeSession(trace::Manifest::Device* out) const;
  void AddFate(std::vector<trace::Manifest::Ring>* rings) const;
  /// Gap records beyond the 10,000 that Describe() lists; their losses are in the ring counts all the same.
  uint64_t gaps_not_kept() const { return gaps_not_kept_; }
  /// Units of rendered files whose values were larger than the format can hold. After Finish().
  uint64_t cut() const;

 private:
  struct Rendered {
    std::shared_ptr<Renderer> renderer;
    trace::RecordFile* file;
    std::unique_ptr<drain::Ledger> units;  // where it is must not change
    std::string pending;                   // a unit that found no room yet
  };
  struct Target {
    trace::RecordFile* file = nullptr;
    drain::Ledger ledger;
    uint64_t dropped = 0;
    uint64_t throttled_period_ns = 0;
    std::vector<Rendered> rendered;
    uint64_t taken = 0;  // records that were rendered
    trace::IntervalMeter meter;
  };
  void MoveRing(unsigned ring, drain::Progress* progress);
  static size_t Render(Target& target, const std::byte* data, size_t count, size_t size);
  static bool Place(Target& target);
  static uint64_t LostRendered(const Target& target);
  void NoteSamples(unsigned ring, const std::byte* data, size_t count);
  void ReadEvents();

  DeviceSession& session_;
  std::vector<Target> routes_;
  uint64_t base_ = 0;
  Visit on_records_;
  std::vector<npuprof_rec_event> gaps_;
  uint64_t gaps_not_kept_ = 0;
  std::vector<npuprof_rec_event> epochs_;
  uint64_t events_read_ = 0;
  ClockSeries clocks_;                // once a second
  std::vector<ClockBracket> marked_;  // of moments that matter: the start, and when the device lost its state
  std::chrono::steady_clock::time_point next_clock_{};
};

}  // namespace npuprof::device
