// SPDX-License-Identifier: Apache-2.0
// Loads of cores and bandwidth of main memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/insight/overview_builder.h"
#include "analysis/record_reader.h"
#include "analysis/samples/device_times.h"
#include "npuprof_records.h"

namespace npuprof::analysis {
namespace {

constexpr RecordFormat kBandwidthFormat{24, false, 0, 0};
constexpr RecordFormat kSampleFormat{sizeof(npuprof_rec_core_sample), false, 0, 0};
constexpr double kHbmBytes = 32;  // that one count stands for
constexpr double kMegabyte = 1 << 20;
constexpr unsigned kFirstVectorCore = 25;  // of sampled cores, whatever the chip has

// Time from `begin` to `end` in parts of equal length.
class Parts {
 public:
  Parts(int64_t begin, int64_t end, size_t count)
      : begin_(begin), count_(count), width_(static_cast<double>(end - begin) / static_cast<double>(count)) {}

  // Adds to each part of `row` the time, in parts, that it has of `from` to `to`, times `weight`.
  void Spread(int64_t from, int64_t to, double weight, std::vector<double>* row) const {
    row->resize(count_);
    const auto limit = static_cast<double>(count_);
    double at = std::clamp(Place(from), 0.0, limit);
    const double last = std::clamp(Place(to), 0.0, limit);
    for (auto part = static_cast<size_t>(at); at < last && part < count_; ++part) {
      const double next = std::min(static_cast<double>(part + 1), last);
      (*row)[part] += (next - at) * weight;
      at = next;
    }
  }

 private:
  double Place(int64_t time) const { return static_cast<double>(time - begin_) / width_; }

  int64_t begin_;
  size_t count_;
  double width_;
};

// Cores by kind and number, each with its share of time at work in every bin.
class Loads {
 public:
  Loads(int64_t begin, int64_t end) : parts_(begin, end, OverviewBuilder::kBins) {}

  // `share` of the time from `from` to `to` was work.
  void Add(bool vector, unsigned core, int64_t from, int64_t to, double share) {
    parts_.Spread(from, to, share, &rows_[{vector, core}]);
  }

  CoreLoads Finish() const {
    CoreLoads out;
    for (const auto& [core, row] : rows_) {
      out.labels.push_back((core.first ? "vector " : "cube ") + std::to_string(core.second));
      out.rows.push_back(row);
    }
    return out;
  }

 private:
  Parts parts_;
  std::map<std::pair<bool, unsigned>, std::vector<double>> rows_;
};

void AddBlocks(const Slices& slices, const DeviceClock& clock, Loads* loads) {
  Diagnostics said_already;  // when the tasks' counters were read
  RecordReader reader(slices, kTaskPmuFormat, &said_already);
  while (const uint8_t* record = reader.Next()) {
    if (NPUPROF_HEAD_FUNC(Get<uint16_t>(record, 0)) != NPUPROF_FUNC_BLOCK_PMU) continue;
    const uint8_t core = record[offsetof(npuprof_rec_block_pmu, core)];
    loads->Add((core & 1) != 0, core >> 1,
               clock.Wall(Get<uint64_t>(record, offsetof(npuprof_rec_block_pmu, start))),
               clock.Wall(Get<uint64_t>(record, offsetof(npuprof_rec_block_pmu, end))), 1);
  }
}

void AddSamples(const DeviceInfo& info, const Slices& slices, const DeviceTimes& times,
                Diagnostics* diagnostics, Loads* loads) {
  std::map<unsigned, int64_t> before;
  RecordReader reader(slices, kSampleFormat, diagnostics);
  while (const uint8_t* record = reader.Next()) {
    const unsigned core = record[offsetof(npuprof_rec_core_sample, core_id)];
    const int64_t wall = times.Nanoseconds(Get<uint64_t>(record, offsetof(npuprof_rec_core_sample, time_ns)));
    const auto cycles = static_cast<double>(Get<uint64_t>(record, offsetof(npuprof_rec_core_sample, cycles)));
    const auto [last, fresh] = before.try_emplace(core, wall);
    if (!fresh && wall > last->second) {
      const bool vector = core >= kFirstVectorCore;
      const double mhz = vector ? info.vector_mhz : info.cube_mhz;
      const double possible = static_cast<double>(wall - last->second) * mhz / 1000;
      if (possible > 0)
        loads->Add(vector, vector ? core - kFirstVectorCore : core, last->second, wall,
                   std::min(1.0, cycles / possible));
    }
    last->second = wall;
  }
}

}  // namespace

CoreLoads ReadCoreLoads(const DeviceInfo& info, const Slices& slices, const Profile& profile, size_t place,
                        int64_t begin_ns, int64_t end_ns, Diagnostics* diagnostics) {
  if (end_ns <= begin_ns) return {};
  Loads loads(begin_ns, end_ns);
  if (info.mode == "task-based")
    AddBlocks(slices, DeviceClock(profile, place, diagnostics), &loads);
  else if (info.mode == "sample-based")
    AddSamples(info, slices, DeviceTimes(profile, place, diagnostics), diagnostics, &loads);
  return loads.Finish();
}

Bandwidth ReadBandwidth(const Slices& slices, const Profile& profile, size_t place,
                        Diagnostics* diagnostics) {
  const DeviceTimes times(profile, place, diagnostics);
  using Use = std::function<void(uint32_t event, int64_t before, int64_t now, double megabytes)>;
  // Returns how many samples the channel and direction with most of them has. Reads the file from its begin.
  const auto each = [&](Diagnostics* complaints, const Use& use) {
    struct Series {
      int64_t last = 0;
      size_t samples = 0;
    };
    std::map<std::pair<uint32_t, uint32_t>, Series> series;
    size_t most = 0;
    RecordReader reader(slices, kBandwidthFormat, complaints);
    while (const uint8_t* record = reader.Next()) {
      const auto event = Get<uint32_t>(record, 16), unit = Get<uint32_t>(record, 20);
      if (event > 1) {
        reader.Broken("event " + std::to_string(event) + "; 0 (read) and 1 (write) are known");
        continue;
      }
      const int64_t wall = times.Microseconds(Get<uint64_t>(record, 0));
      Series& own = series[{unit, event}];
      if (own.samples > 0 && wall <= own.last) {
        reader.Broken("a sample that is no later than the one before it");
        continue;
      }
      if (own.samples > 0)
        use(event, own.last, wall, static_cast<double>(Get<uint64_t>(record, 8)) * kHbmBytes / kMegabyte);
      own.last = wall;
      most = std::max(most, ++own.samples);
    }
    return most;
  };
  Bandwidth out;
  out.begin_ns = INT64_MAX;
  out.end_ns = INT64_MIN;
  const size_t samples = each(diagnostics, [&](uint32_t, int64_t before, int64_t now, double) {
    out.begin_ns = std::min(out.begin_ns, before);
    out.end_ns = std::max(out.end_ns, now);
  });
  if (samples < 2) return {};
  const size_t count = std::min(samples - 1, kMostPoints);
  const Parts parts(out.begin_ns, out.end_ns, count);
  out.read.resize(count);
  out.write.resize(count);
  Diagnostics said_already;
  each(&said_already, [&](uint32_t event, int64_t before, int64_t now, double megabytes) {
    const double rate = megabytes * 1e9 / static_cast<double>(now - before);
    parts.Spread(before, now, rate, event == 0 ? &out.read : &out.write);
  });
  return out;
}

}  // namespace npuprof::analysis
