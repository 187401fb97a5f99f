// SPDX-License-Identifier: Apache-2.0
// What the readers of sampled data have in common: where data come from and where results go.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/diagnostics.h"
#include "analysis/export.h"
#include "analysis/host_trace.h"
#include "analysis/metadata.h"
#include "analysis/profile.h"
#include "analysis/samples/device_marks.h"
#include "analysis/samples/device_times.h"
#include "analysis/samples/row_sink.h"
#include "analysis/samples/task_names.h"
#include "analysis/slices.h"
#include "analysis/text.h"
#include "analysis/timeline.h"

namespace npuprof::analysis {

/// A table that may not be wanted; then rows go nowhere. Its file is there from the first row on.
class SampleTable {
 public:
  using Cells = std::initializer_list<std::string_view>;
  SampleTable(const char* name, std::optional<TablePlace> place, Cells columns)
      : name_(name), place_(std::move(place)), columns_(columns.begin(), columns.end()) {}
  void Row(Cells cells);
  const char* name() const { return name_; }
  /// Null if there are no rows.
  CsvFile* file() { return file_ ? &*file_ : nullptr; }

 private:
  const char* name_;
  std::optional<TablePlace> place_;
  std::vector<std::string> columns_;
  std::optional<CsvFile> file_;
};

/// Counters of one layer of the timeline, which may not be wanted.
class Counters {
 public:
  using Series = std::initializer_list<std::pair<std::string_view, double>>;
  /// @param device  null for the host
  Counters(Timeline* timeline, Timeline::Layer layer, const DeviceInfo* device)
      : timeline_(timeline), layer_(layer), device_(device) {}
  void Add(std::string_view name, int64_t wall_ns, Series series);

 private:
  Timeline* timeline_;
  Timeline::Layer layer_;
  const DeviceInfo* device_;
  std::optional<uint64_t> pid_;
};

/// What every reader may use. References outlive the run.
struct SampleInput {
  const Profile& profile;
  const SliceIndex& index;
  Diagnostics* diagnostics;
  HostTrace* host;
  StringPool* pool;
  const std::map<int, TaskNames>& tasks;                                      ///< by device id
  const std::map<uint64_t, DeviceMark>& marks;                                ///< by their number
  Timeline* timeline;                                                         ///< null if it is not wanted
  std::function<std::optional<TablePlace>(const char*)> table_place;          ///< nothing if it is not wanted
  std::function<std::function<void(uint64_t)>(const std::string&)> progress;  ///< by part of the directory
  RowSink* rows = nullptr;            ///< null if no database is wanted
  Timeline* mark_timeline = nullptr;  ///< of marks alone; null if it is not wanted
};

/// One device, while one of its files is read.
struct SampleDevice {
  size_t place;  ///< in Profile::devices()
  const DeviceInfo& info;
  DeviceTimes times;
  std::function<void(uint64_t)> progress;
  std::string id() const { return std::to_string(info.id); }
};

class SampleRun {
 public:
  explicit SampleRun(const SampleInput& input) : in(input) {}

  SampleTable& Table(const char* name, SampleTable::Cells columns) {
    return tables_.emplace_back(name, in.table_place(name), columns);
  }
  Counters Layer(Timeline::Layer layer, const DeviceInfo* device) const {
    return Counters(in.timeline, layer, device);
  }
  /// Slices of "<kind>.<id>" of a device, "hbm.data" for example.
  const Slices& File(const DeviceInfo& device, const std::string& kind) const {
    return in.index.Get(device.directory + "/data/" + kind + "." + std::to_string(device.id));
  }
  const Slices& HostFile(const std::string& name) const { return in.index.Get("host/data/" + name); }
  /// Calls `read` for each device that has something of one of the kinds. A device that fails costs itself alone.
  void EachDevice(std::initializer_list<const char*> kinds,
                  const std::function<void(const SampleDevice&)>& read);
  /// A row for the database, in its units, if one is wanted.
  void Stored(const char* table, std::initializer_list<Value> cells) const {
    if (in.rows) in.rows->Row(table, cells);
  }
  Metadata Sample(const DeviceInfo& device) const {
    return Metadata::Read(in.profile.path(), device.directory + "/sample.json");
  }
  Metadata Info(const DeviceInfo& device) const {
    return Metadata::Read(in.profile.path(), device.directory + "/info.json." + std::to_string(device.id));
  }
  Metadata HostInfo() const { return Metadata::Read(in.profile.path(), "host/info.json"); }

  std::deque<SampleTable>& tables() { return tables_; }
  const std::vector<std::string>& failures() const { return failures_; }

  const SampleInput& in;

 private:
  std::deque<SampleTable> tables_;  // stable, because readers hold references
  std::vector<std::string> failures_;
};

/// One file or group of files and the tables made of it.
struct SampleJob {
  std::vector<const char*> tables;  ///< may be empty: counters alone
  void (*run)(SampleRun& run);
};
/// In the order in which they run.
const std::vector<SampleJob>& SampleJobs();

/// Decimal of a mean of `count` values, 0 if there are none.
std::string Mean(double sum, uint64_t count);

}  // namespace npuprof::analysis
