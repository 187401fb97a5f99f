// SPDX-License-Identifier: Apache-2.0
#include "analysis/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "analysis/api_reader.h"
#include "analysis/api_statistic.h"
#include "analysis/careful_writer.h"
#include "analysis/clock.h"
#include "analysis/collective_tables.h"
#include "analysis/communication.h"
#include "analysis/device_trace.h"
#include "analysis/export_output.h"
#include "analysis/host_trace.h"
#include "analysis/json_timeline.h"
#include "analysis/names.h"
#include "analysis/no_room.h"
#include "analysis/overlap.h"
#include "analysis/perfetto_timeline.h"
#include "analysis/readme.h"
#include "analysis/record_reader.h"
#include "analysis/samples/device_marks.h"
#include "analysis/samples/run.h"
#include "analysis/step_trace.h"
#include "analysis/task_tables.h"
#include "analysis/task_view.h"
#include "analysis/text.h"
#include "analysis/timeline.h"

namespace npuprof::analysis {
namespace fs = std::filesystem;
namespace {
constexpr uint64_t kTasksPerProgress = 1024;

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> Checked(const std::vector<std::string>& wanted,
                                 const std::vector<std::string>& known,
                                 const std::vector<std::string>& otherwise, const char* what) {
  for (const auto& word : wanted) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      throw Error(fmt::format("unknown {} '{}'; known are {}", what, word, Join(known)));
    }
  }
  return wanted.empty() ? otherwise : wanted;
}

class Exporter {
 public:
  /// With `columns` the tables go there, and nothing to files.
  Exporter(const Profile& profile, const ExportOptions& options, ColumnTables* columns = nullptr)
      : profile_(profile),
        options_(options),
        columns_(columns),
        formats_(Checked(options.formats, KnownFormats(), DefaultFormats(), "format")),
        tables_(Checked(options.tables, KnownTables(), KnownTables(), "table")),
        index_(profile.path(), Parts(profile)),
        space_({}, options.memory != 0 ? options.memory : SpillSpace::kInMemory),
        pool_(&space_),
        host_(&pool_, &space_, &diagnostics_),
        communication_(&space_, HasTimeline()),
        overlap_(&space_) {}

  ExportResult Run();

 private:
  static std::vector<std::string> Parts(const Profile& profile);
  bool HasTimeline() const { return Has(formats_, "json") || Has(formats_, "perfetto"); }
  bool WantsCollectives() const {
    return host_.has_collectives() &&
           (HasTimeline() || Wants("op_summary") || Wants("communication_statistic"));
  }
  bool Wants(const char* table) const { return Has(formats_, "csv") && Has(tables_, table); }
  static bool Has(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  TablePlace Place(const char* table) {
    if (columns_) return &(*columns_)[table];
    return File(table, "csv");
  }
  void Write();
  void Withdraw();
  fs::path File(const char* name, const char* extension) const { return output_.File(name, extension); }
  std::function<void(uint64_t)> Progress(const std::string& stage);
  void Check() {
    if (!options_.check) return;
    stopping_ = true;
    options_.check();
    stopping_ = false;
  }
  /// What fails in `make` costs `what` alone. False if it failed.
  template <typename Make>
  bool Costs(std::string_view what, Make make);
  void WriteTables();
  std::string OutOfMemory() const;
  void ExportDevice(size_t device);
  void FindCollectives(size_t device, const DeviceTrace& trace, const DeviceClock& clock);
  /// Those of the device that began until then get their rows.
  void AddCollectivesUntil(int64_t ns);
  void ExportTask(size_t device, const DeviceTrace& trace, const DeviceClock& clock, const DeviceTask& task,
                  RecordLoader* loader);
  void ExportSamples();
  Timeline* MarkTimeline();
  void WriteStepTimeline();
  void Commit(Timeline* timeline, const char* name);
  void ExportSample(const SampleJob& job, const SampleInput& input);
  void ExportHostLayer();
  void OpenTimeline();
  void AddWriter(const char* format, const std::function<std::unique_ptr<TimelineWriter>()>& make);
  void Keep(const fs::path& path, const char* table, uint64_t rows);
  void Finish(CsvFile* file, const char* table);

  const Profile& profile_;
  const ExportOptions& options_;
  ColumnTables* columns_;
  std::vector<std::string> formats_, tables_;
  ExportOutput output_;
  bool stopping_ = false, failed_ = false;
  SliceIndex index_;
  Diagnostics diagnostics_;
  SpillSpace space_;
  StringPool pool_;
  HostTrace host_;
  std::vector<std::unique_ptr<DeviceTrace>> devices_;
  std::map<int, PmuColumns> pmu_columns_;
  std::optional<TaskTimeTable> task_time_;
  std::optional<OpSummaryTable> op_summary_;
  OpStatistic op_statistic_;
  Communication communication_;
  Overlap overlap_;
  std::vector<const Collective*> pending_;  // of the device, by start, without a row of op_summary so far
  std::optional<Timeline> timeline_;
  std::vector<const CarefulWriter*> writers_;
  std::optional<Timeline> marks_timeline_;
  std::map<int, std::vector<Step>> steps_;
  std::map<int, TaskNames> task_names_;  // of devices with records that need them
  std::map<uint64_t, DeviceMark> marks_;
  ExportResult result_;
  uint64_t done_ = 0, total_ = 0;
};

template <typename Make>
bool Exporter::Costs(std::string_view what, Make make) {
  try {
    make();
    return true;
  } catch (const NoRoom&) {
    throw;  // what else is written fails alike, and what would be left takes room away
  } catch (const Error& error) {
    if (stopping_) throw;  // it is not ours
    result_.failures.push_back({std::string(what), error.what()});
    failed_ = true;
    return false;
  }
}

std::vector<std::string> Exporter::Parts(const Profile& profile) {
  std::vector<std::string> parts;
  if (profile.has_host()) parts.push_back("host");
  for (const auto& device : profile.devices()) parts.push_back(device.directory);
  return parts;
}

std::function<void(uint64_t)> Exporter::Progress(const std::string& stage) {
  return [this, stage](uint64_t bytes) {
    done_ += bytes;
    Check();
    if (options_.progress) options_.progress(stage, done_, std::max(done_, total_));
  };
}

void Exporter::Keep(const fs::path& path, const char* table, uint64_t rows) {
  if (rows == 0 || columns_) return;
  const auto files = CsvFile::FilesOf(path, rows);
  result_.files.insert(result_.files.end(), files.begin(), files.end());
  result_.rows[table] = rows;
}

void Exporter::Finish(CsvFile* file, const char* table) {
  if (file->rows() < 2) return;  // only the header
  if (columns_) return;
  file->Commit();
  Keep(file->path(), table, file->rows() - 1);
}

ExportResult Exporter::Run() {
  try {
    if (columns_) {
      space_.SetDirectory(fs::temp_directory_path());
    } else {
      output_.Choose(
          options_.output.empty() ? profile_.path() / "mindstudio_profiler_output" : options_.output,
          options_.timestamp);
      space_.SetDirectory(output_.directory());
    }
    Write();
  } catch (const std::bad_alloc&) {
    Withdraw();
    throw Error(OutOfMemory());
  } catch (...) {
    Withdraw();
    throw;
  }
  return std::move(result_);
}

std::string Exporter::OutOfMemory() const {
  const Slice* largest = nullptr;
  for (const auto& [base, slices] : index_.all()) {
    for (const Slice& slice : slices) {
      if (largest == nullptr || slice.bytes > largest->bytes) largest = &slice;
    }
  }
  if (largest == nullptr) return fmt::format("memory is short for an export of {}", profile_.path().string());
  return fmt::format("memory is short for an export of {}; its largest file is {} with {} bytes",
                     profile_.path().string(), largest->name, largest->bytes);
}

void Exporter::Withdraw() {
  task_time_.reset();
  op_summary_.reset();
  timeline_.reset();
  marks_timeline_.reset();
  output_.Withdraw(result_.files);
}

void Exporter::Write() {
  for (const auto& [path, slices] : index_.all()) total_ += TotalBytes(slices);
  host_.Load(profile_, index_, Progress("host"));
  Flips device_flips;
  for (const auto& device : profile_.devices()) {
    auto& trace =
        devices_.emplace_back(std::make_unique<DeviceTrace>(device.id, index_, &space_, &diagnostics_));
    trace->LoadMarks(Progress(device.directory));
    device_flips.insert(trace->flips().begin(), trace->flips().end());
    if (device.mode == "task-based" && TotalBytes(trace->pmu_slices()) > 0) {
      pmu_columns_.emplace(device.id, PmuColumns(device, &diagnostics_));
    }
  }
  host_.AssignBatches(device_flips);
  if (WantsCollectives()) communication_.LoadHost(index_, &host_, pool_, &diagnostics_, Progress("host"));

  if (Wants("task_time")) Costs("task_time", [&] { task_time_.emplace(Place("task_time")); });
  if (Wants("op_summary"))
    Costs("op_summary", [&] { op_summary_.emplace(Place("op_summary"), pmu_columns_); });
  OpenTimeline();
  for (size_t i = 0; i < devices_.size(); ++i) {
    Costs(profile_.devices()[i].directory, [&] { ExportDevice(i); });
    devices_[i].reset();  // one device's tasks in memory at a time
  }
  WriteTables();
  ExportSamples();
  if (timeline_) ExportHostLayer();
  if (Has(formats_, "json") && !columns_) WriteStepTimeline();
  if (marks_timeline_) Costs("msprof_tx (json)", [&] { Commit(&*marks_timeline_, "msprof_tx"); });

  result_.simulated = profile_.simulated();
  result_.losses = profile_.losses();
  result_.broken_records = diagnostics_.broken();
  AddFailures(profile_.failures(), &result_.failures);
  AddFailures(diagnostics_.failures(), &result_.failures);
  result_.warnings = profile_.warnings();
  result_.warnings.insert(result_.warnings.end(), diagnostics_.warnings().begin(),
                          diagnostics_.warnings().end());
  if (Has(formats_, "csv") && timeline_ && tables_.size() == KnownTables().size())
    result_.not_exported = index_.Unread();
  if (columns_) return;
  if (failed_ && result_.files.empty()) throw Error(result_.failures.front().text);
  Costs("README.txt", [&] {
    result_.files.push_back(WriteReadme(output_.directory(), profile_, result_, output_.timestamp()));
  });
}

void Exporter::WriteTables() {
  const auto table = [&](const char* name, const auto& write) {
    if (!Wants(name)) return;
    Costs(name, [&] {
      const TablePlace place = Place(name);
      Keep(place.path, name, write(place));
    });
  };
  if (op_summary_) Costs("op_summary", [&] { Finish(&op_summary_->file(), "op_summary"); });
  if (!op_statistic_.empty())
    table("op_statistic", [&](const TablePlace& place) { return op_statistic_.Write(place, pool_); });
  table("communication_statistic", [&](const TablePlace& place) {
    return WriteCommunicationStatistic(place, communication_.collectives(), pool_);
  });
  if (task_time_) Costs("task_time", [&] { Finish(&task_time_->file(), "task_time"); });
  if (profile_.has_host())
    table("api_statistic", [&](const TablePlace& place) { return WriteApiStatistic(place, host_, pool_); });
  table("step_trace", [&](const TablePlace& place) { return WriteStepTrace(place, steps_); });
}

void Exporter::OpenTimeline() {
  const bool json = Has(formats_, "json"), perfetto = Has(formats_, "perfetto");
  if (!json && !perfetto) return;
  timeline_.emplace(profile_.pid(), host_.apis(), &pool_);
  if (json) {
    const fs::path path = File("msprof", "json");
    AddWriter("json", [&] { return std::make_unique<JsonTimeline>(path, options_.timeline_bytes); });
  }
  if (perfetto) {
    const fs::path path = File("msprof", "pftrace");
    const auto begin_ns = static_cast<int64_t>(profile_.begin_us() * 1000);
    AddWriter("perfetto", [&] { return std::make_unique<PerfettoTimeline>(path, begin_ns); });
  }
  std::map<int, int> slots;
  for (const auto& device : profile_.devices()) {
    const auto [other, fresh] = slots.try_emplace(device.id % 32, device.id);
    if (!fresh)
      diagnostics_.Warn(device.directory,
                        fmt::format("shares its process in the timeline with device {}, because "
                                    "the numbers of processes have room for 32 devices",
                                    other->second));
  }
}

void Exporter::AddWriter(const char* format, const std::function<std::unique_ptr<TimelineWriter>()>& make) {
  const std::string what = fmt::format("timeline ({})", format);
  Costs(what, [&] {
    auto writer = std::make_unique<CarefulWriter>(make(), [this, what](const std::string& reason) {
      result_.failures.push_back({what, reason});
      failed_ = true;
    });
    writers_.push_back(writer.get());
    timeline_->Add(std::move(writer));
  });
}

void Exporter::ExportDevice(size_t device) {
  const DeviceInfo& info = profile_.devices()[device];
  DeviceTrace& trace = *devices_[device];
  const DeviceClock clock(profile_, device, &diagnostics_);
  steps_[info.id] = BuildSteps(trace.marks(), clock);
  CollectMarks(info, trace, clock, &marks_);
  for (const char* kind : {"socpmu", "aicpu"}) {
    if (TotalBytes(index_.Get(fmt::format("{}/data/{}.data.{}", info.directory, kind, info.id))) > 0)
      task_names_.try_emplace(info.id);
  }
  trace.LoadTasks(pmu_columns_.contains(info.id), Progress(info.directory));
  trace.Join(host_, clock);
  trace.SortByStart();
  if (timeline_ && (!trace.tasks().empty() || !steps_[info.id].empty())) {
    timeline_->BeginDevice(info.id, info.simulated);
  }
  // Where a collective ends is known when its tasks are, and rows come by the begin.
  if (WantsCollectives()) FindCollectives(device, trace, clock);
  const bool counted = pmu_columns_.contains(info.id);
  static const Slices kNone;
  RecordLoader loader(counted ? trace.pmu_slices() : kNone, kTaskPmuFormat.bytes);
  // Records of counters are read task by task while the tables are written, which is most of the work.
  const auto progress = Progress(info.directory);
  const uint64_t bytes = counted ? TotalBytes(trace.pmu_slices()) : 0;
  const uint64_t tasks = trace.tasks().size();
  uint64_t written = 0;
  for (const auto& task : trace.tasks()) {
    ExportTask(device, trace, clock, task, &loader);
    if (++written % kTasksPerProgress == 0) progress(bytes / tasks * kTasksPerProgress);
  }
  AddCollectivesUntil(INT64_MAX);
  if (timeline_) {
    timeline_->AddSteps(steps_[info.id]);
    timeline_->AddCollectives(info.id, info.simulated, communication_, &host_);
    timeline_->AddOverlap(info.id, info.simulated, overlap_, CollectivesOf(communication_, info.id));
  }
  communication_.ForgetTasks();
  overlap_.Clear();
  result_.devices.push_back(trace.counts());
}

void Exporter::FindCollectives(size_t device, const DeviceTrace& trace, const DeviceClock& clock) {
  const DeviceInfo& info = profile_.devices()[device];
  communication_.LoadDevice(info.id,
                            index_.Get(fmt::format("{}/data/aicpu.data.{}", info.directory, info.id)), &host_,
                            &diagnostics_, {});
  for (const DeviceTask& task : trace.tasks()) {
    Check();
    communication_.Add(DescribeTask(host_, info.id, clock, task), &host_, 0);
  }
  pending_ = CollectivesOf(communication_, info.id);
  std::reverse(pending_.begin(), pending_.end());
}

void Exporter::AddCollectivesUntil(int64_t ns) {
  for (; !pending_.empty() && pending_.back()->start_ns <= ns; pending_.pop_back()) {
    const auto add = [&] { op_summary_->Add(*pending_.back(), pool_); };
    if (op_summary_ && !Costs("op_summary", add)) op_summary_.reset();
  }
}

void Exporter::ExportTask(size_t device, const DeviceTrace& trace, const DeviceClock& clock,
                          const DeviceTask& task, RecordLoader* loader) {
  Check();
  const DeviceInfo& info = profile_.devices()[device];
  const TaskView view = DescribeTask(host_, info.id, clock, task);
  if (task_time_ && !Costs("task_time", [&] { task_time_->Add(view, pool_); })) task_time_.reset();
  if (timeline_) {
    timeline_->AddTask(view, host_);
    overlap_.Add(view.start_ns, view.end_ns, view.op && !communication_.Schedules(view, pool_));
  }
  if (!view.op) return;
  AddCollectivesUntil(view.start_ns);
  op_statistic_.Add(view);
  if (const auto names = task_names_.find(info.id); names != task_names_.end())
    names->second.Add(task.stream, task.task, view.op->name);
  ++devices_[device]->counts().operators;
  if (!op_summary_) return;
  TaskPmu pmu;
  uint8_t record[kTaskPmuFormat.bytes];
  const bool has_pmu = task.pmu != DeviceTask::kNoPmu && loader->Load(task.pmu, record);
  if (has_pmu) pmu = DeviceTrace::DecodePmu(record);
  const auto add = [&] {
    op_summary_->Add(view, has_pmu ? &pmu : nullptr, trace.side_sum(task.side), trace.FrequencyAt(task.end),
                     pool_);
  };
  if (!Costs("op_summary", add)) op_summary_.reset();
}

void Exporter::ExportSamples() {
  const SampleInput input{
      profile_,
      index_,
      &diagnostics_,
      &host_,
      &pool_,
      task_names_,
      marks_,
      timeline_ ? &*timeline_ : nullptr,
      [this](const char* table) { return Wants(table) ? std::optional(Place(table)) : std::nullopt; },
      [this](const std::string& part) { return Progress(part); },
      nullptr,
      MarkTimeline()};
  for (const SampleJob& job : SampleJobs()) {
    const bool wanted =
        std::any_of(job.tables.begin(), job.tables.end(), [&](const char* t) { return Wants(t); });
    if (wanted || timeline_) ExportSample(job, input);
  }
}

// Two layers are published in files of their own too, as other analyses write them.
Timeline* Exporter::MarkTimeline() {
  const char* kMarks = "host/data/{}.additional.msproftx";
  const bool any = index_.all().contains(fmt::format(fmt::runtime(kMarks), "aging")) ||
                   index_.all().contains(fmt::format(fmt::runtime(kMarks), "unaging"));
  if (!any || !timeline_ || !Has(formats_, "json")) return nullptr;
  Costs("msprof_tx (json)", [&] {
    auto writer = std::make_unique<JsonTimeline>(File("msprof_tx", "json"));
    marks_timeline_.emplace(profile_.pid(), 0, &pool_);
    marks_timeline_->Add(std::move(writer));
  });
  return marks_timeline_ ? &*marks_timeline_ : nullptr;
}

void Exporter::WriteStepTimeline() {
  const bool any =
      std::any_of(steps_.begin(), steps_.end(), [](const auto& of) { return !of.second.empty(); });
  if (!any) return;
  Costs("step_trace (json)", [&] {
    Timeline timeline(profile_.pid(), 0, &pool_);
    timeline.Add(std::make_unique<JsonTimeline>(File("step_trace", "json")));
    for (const DeviceInfo& device : profile_.devices()) {
      if (steps_[device.id].empty()) continue;
      timeline.BeginDevice(device.id, device.simulated);
      timeline.AddSteps(steps_[device.id]);
    }
    Commit(&timeline, "step_trace");
  });
}

void Exporter::Commit(Timeline* timeline, const char* name) {
  if (timeline->events() == 0) return;
  const auto files = timeline->files();
  timeline->Commit();
  result_.files.insert(result_.files.end(), files.begin(), files.end());
  result_.rows[std::string(name) + " (json)"] = timeline->events();
}

void Exporter::ExportSample(const SampleJob& job, const SampleInput& input) {
  const std::string tables = job.tables.empty() ? "timeline" : Join({job.tables.begin(), job.tables.end()});
  SampleRun run(input);
  const bool made = Costs(tables, [&] {
    job.run(run);
    for (SampleTable& table : run.tables()) {
      if (table.file()) Finish(table.file(), table.name());
    }
  });
  for (const char* table : job.tables)
    if (!made && columns_) columns_->erase(table);
  for (const std::string& failure : run.failures()) result_.failures.push_back({tables, failure});
}

void Exporter::ExportHostLayer() {
  if (host_.apis() > 0) {
    timeline_->BeginHost();
    ForEachApi(index_, nullptr, {}, [&](const Api& api) {
      Check();
      timeline_->AddApi(api, &host_);
    });
    timeline_->EndHost(&host_);
  }
  if (timeline_->events() == 0) return;
  std::vector<std::vector<fs::path>> files;
  const size_t before = result_.files.size();
  for (const CarefulWriter* writer : writers_) {
    files.push_back(writer->files());
    // Kept first: if room runs out at a later file, the earlier are to be withdrawn.
    result_.files.insert(result_.files.end(), files.back().begin(), files.back().end());
  }
  timeline_->Commit();
  result_.files.resize(before);
  for (size_t i = 0; i < writers_.size(); ++i) {
    if (writers_[i]->failed()) continue;
    result_.files.insert(result_.files.end(), files[i].begin(), files[i].end());
    result_.rows.try_emplace("timeline",
                             writers_[i]->events());  // others put the same into other numbers of events
  }
}

}  // namespace

const std::vector<std::string>& KnownFormats() {
  static const std::vector<std::string> kFormats = {"csv", "json", "perfetto"};
  return kFormats;
}

const std::vector<std::string>& DefaultFormats() {
  static const std::vector<std::string> kFormats = {"csv", "json"};
  return kFormats;
}

const std::vector<std::string>& KnownTables() {
  static const std::vector<std::string> kTables = [] {
    std::vector<std::string> tables = {"op_summary",    "op_statistic", "task_time",
                                       "api_statistic", "step_trace",   "communication_statistic"};
    for (const SampleJob& job : SampleJobs())
      tables.insert(tables.end(), job.tables.begin(), job.tables.end());
    return tables;
  }();
  return kTables;
}

void AddFailures(const std::vector<Warning>& warnings, std::vector<ExportFailure>* failures) {
  for (const Warning& warning : warnings) {
    const auto same = [&](const ExportFailure& f) {
      return f.tables == warning.file && f.text == warning.text;
    };
    if (std::none_of(failures->begin(), failures->end(), same))
      failures->push_back({warning.file, warning.text});
  }
}

LoadedTables LoadTables(const Profile& profile, const std::vector<std::string>& tables,
                        const std::function<void()>& check) {
  LoadedTables loaded;
  ExportOptions options;
  options.formats = {"csv"};
  options.tables = tables;
  options.check = check;
  loaded.result = Exporter(profile, options, &loaded.tables).Run();
  for (const ExportFailure& failure : loaded.result.failures) {
    const std::string list = ", " + failure.tables + ",";
    for (const std::string& table : tables) {
      if (list.find(", " + table + ",") != std::string::npos)
        throw Error(fmt::format("{}: {}", failure.tables, failure.text));
    }
  }
  std::erase_if(loaded.tables, [](const auto& table) { return table.second.rows() == 0; });
  const std::vector<std::string> typed = {"op_summary",    "op_statistic", "task_time",
                                          "api_statistic", "step_trace",   "communication_statistic"};
  for (auto& [name, table] : loaded.tables)
    table.Finish(std::find(typed.begin(), typed.end(), name) == typed.end());
  return loaded;
}

ExportResult Export(const Profile& profile, const ExportOptions& options) {
  return Exporter(profile, options).Run();
}

}  // namespace npuprof::analysis
