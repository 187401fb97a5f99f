// SPDX-License-Identifier: Apache-2.0
#include "database/export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "analysis/api_reader.h"
#include "analysis/clock.h"
#include "analysis/communication.h"
#include "analysis/device_trace.h"
#include "analysis/host_trace.h"
#include "analysis/metadata.h"
#include "analysis/names.h"
#include "analysis/output_claim.h"
#include "analysis/samples/device_marks.h"
#include "analysis/samples/run.h"
#include "database/sqlite_file.h"
#include "database/table_set.h"
#include "database/task_rows.h"

namespace npuprof::database {

using namespace analysis;  // NOLINT: the decoder's words are used in every line
namespace fs = std::filesystem;

namespace {

// The newest database of a directory, whoever wrote it; empty if there is none.
fs::path Newest(const fs::path& directory) {
  std::string newest;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("msprof_") || !name.ends_with(".db")) continue;
    const std::string digits = name.substr(7, name.size() - 10);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    newest = std::max(newest, name);
  }
  return newest.empty() ? fs::path() : directory / newest;
}

const char* ChipName(const std::string& platform) {
  static const std::map<std::string, const char*> kChips = {{"0", "Ascend310"},  {"1", "Ascend910A"},
                                                            {"4", "Ascend310P"}, {"5", "Ascend910B"},
                                                            {"7", "Ascend310B"}, {"15", "Ascend950"}};
  const auto chip = kChips.find(platform);
  return chip == kChips.end() ? "unknown" : chip->second;
}

class Exporter {
 public:
  Exporter(const Profile& profile, const ExportOptions& options, const fs::path& directory,
           const std::string& timestamp)
      : profile_(profile),
        options_(options),
        index_(profile.path(), Parts(profile)),
        space_(directory, options.memory != 0 ? options.memory : SpillSpace::kInMemory),
        pool_(&space_),
        host_(&pool_, &space_, &diagnostics_),
        file_(directory / fmt::format("msprof_{}.db", timestamp)),
        tables_(&file_, &pool_),
        communication_(&space_),
        tasks_(profile, &host_, pool_, &tables_, &communication_, &space_) {}

  Result Run();

 private:
  static std::vector<std::string> Parts(const Profile& profile) {
    std::vector<std::string> parts;
    if (profile.has_host()) parts.push_back("host");
    for (const auto& device : profile.devices()) parts.push_back(device.directory);
    return parts;
  }
  std::function<void(uint64_t)> Progress(const std::string& stage) {
    return [this, stage](uint64_t bytes) {
      done_ += bytes;
      Check();
      if (options_.progress) options_.progress(stage, done_, std::max(done_, total_));
    };
  }
  void Check() const {
    if (options_.check) options_.check();
  }
  void Identity();
  void Devices();
  void Device(size_t place);
  void Samples();
  void Calls();

  const Profile& profile_;
  const ExportOptions& options_;
  SliceIndex index_;
  Diagnostics diagnostics_;
  SpillSpace space_;
  StringPool pool_;
  HostTrace host_;
  SqliteFile file_;
  TableSet tables_;
  Communication communication_;
  TaskRows tasks_;
  std::vector<std::unique_ptr<DeviceTrace>> devices_;
  std::map<uint64_t, DeviceMark> marks_;
  Result result_;
  uint64_t done_ = 0, total_ = 0;
};

Result Exporter::Run() {
  for (const auto& [path, slices] : index_.all()) total_ += TotalBytes(slices);
  // First of all texts in published databases.
  for (const char* text : {"release", "allocate"}) tables_.strings().Of(text);
  Identity();
  host_.Load(profile_, index_, Progress("host"));
  communication_.LoadHost(index_, &host_, pool_, &diagnostics_, Progress("host"));
  Devices();
  tasks_.Communicated();
  Samples();
  Calls();
  result_.rows = tables_.rows();
  tables_.Finish();
  Check();
  file_.Commit();
  result_.path = file_.path();
  result_.broken_records = diagnostics_.broken();
  result_.warnings = diagnostics_.warnings();
  result_.unusable = diagnostics_.failures();
  return std::move(result_);
}

void Exporter::Identity() {
  for (const auto& [name, value] : {std::pair{"SCHEMA_VERSION", "1.2.0"},
                                    {"SCHEMA_VERSION_MAJOR", "1"},
                                    {"SCHEMA_VERSION_MINOR", "2"},
                                    {"SCHEMA_VERSION_MICRO", "0"}})
    tables_.Row("META_DATA", {name, value});
  if (profile_.simulated())
    tables_.Row("META_DATA",
                {"SIMULATED", "device figures come from the simulated NPU and describe no real hardware"});
  constexpr int64_t kOpen = -1;  // the end is not on record
  const auto end = profile_.end_us();
  tables_.Row("SESSION_TIME_INFO",
              {profile_.begin_us() * 1000, end ? static_cast<int64_t>(*end * 1000) : kOpen});
  std::string uid = "0";
  if (profile_.has_host()) uid = Metadata::Read(profile_.path(), "host/info.json").Text("hostUid", "0");
  tables_.Row("HOST_INFO", {uid, profile_.hostname()});
  constexpr int kNoDevice = -1, kNoRank = -1;
  const char* chip = ChipName(profile_.platform_version());
  if (profile_.devices().empty()) tables_.Row("NPU_INFO", {kNoDevice, chip});
  for (const DeviceInfo& device : profile_.devices()) {
    tables_.Row("NPU_INFO", {device.id, chip});
    tables_.Row("RANK_DEVICE_MAP", {kNoRank, device.id});
  }
}

void Exporter::Devices() {
  Flips flips;
  for (const auto& device : profile_.devices()) {
    auto& trace =
        devices_.emplace_back(std::make_unique<DeviceTrace>(device.id, index_, &space_, &diagnostics_));
    trace->LoadMarks(Progress(device.directory));
    flips.insert(trace->flips().begin(), trace->flips().end());
  }
  host_.AssignBatches(flips);
  for (size_t i = 0; i < devices_.size(); ++i) Device(i);
}

void Exporter::Device(size_t place) {
  const DeviceInfo& info = profile_.devices()[place];
  DeviceTrace& trace = *devices_[place];
  const DeviceClock clock(profile_, place, &diagnostics_);
  CollectMarks(info, trace, clock, &marks_);
  const auto progress = Progress(info.directory);
  communication_.LoadDevice(info.id,
                            index_.Get(fmt::format("{}/data/aicpu.data.{}", info.directory, info.id)), &host_,
                            &diagnostics_, progress);
  const bool counted = info.mode == "task-based" && TotalBytes(trace.pmu_slices()) > 0;
  trace.LoadTasks(counted, progress);
  trace.Join(host_, clock, true);
  trace.SortByStart();
  std::optional<PmuColumns> columns;
  if (counted) columns.emplace(info, &diagnostics_, PmuColumns::Metrics::kEvery);
  tasks_.BeginDevice(info, trace, clock, columns ? &*columns : nullptr);
  constexpr uint64_t kTasksPerProgress = 1024;
  uint64_t written = 0;
  for (const DeviceTask& task : trace.tasks()) {
    tasks_.Add(task);
    if (++written % kTasksPerProgress == 0) progress(0);
  }
  for (const auto& [number, mark] : marks_) {
    if (mark.device == info.id) tasks_.AddMark(number, mark);
  }
  tasks_.EndDevice();
  devices_[place].reset();  // one device's tasks in memory at a time
}

void Exporter::Samples() {
  const std::map<int, TaskNames> names;  // of tables that the database does not have
  const SampleInput input{profile_,
                          index_,
                          &diagnostics_,
                          &host_,
                          &pool_,
                          names,
                          marks_,
                          nullptr,
                          [](const char*) { return std::nullopt; },
                          [this](const std::string& part) { return Progress(part); },
                          &tables_};
  for (const SampleJob& job : SampleJobs()) {
    Check();
    const std::string what = job.tables.empty() ? "counters" : fmt::format("{}", fmt::join(job.tables, ", "));
    SampleRun run(input);
    try {
      job.run(run);
    } catch (const Error& error) {
      result_.failures.push_back({what, error.what()});
    }
    for (const std::string& failure : run.failures()) result_.failures.push_back({what, failure});
  }
}

void Exporter::Calls() {
  if (host_.apis() == 0) return;
  Table& table = tables_.Of("CANN_API");
  const int64_t process = static_cast<int64_t>(profile_.pid()) << 32;
  ForEachApi(index_, nullptr, Progress("host"), [&](const Api& api) {
    if (*LevelName(api.level) == '\0') return;  // marks of frameworks are not calls
    table.Row({host_.clock().Wall(api.begin), host_.clock().Wall(api.end), api.level, process | api.thread,
               api.number, tables_.strings().OfPool(host_.ApiName(api.level, api.type, api.item))});
  });
}

}  // namespace

Result Export(const Profile& profile, const ExportOptions& options) {
  const fs::path directory = options.output.empty() ? profile.path() : options.output;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error(fmt::format("{} cannot be created: {}", directory.string(), error.message()));
  fs::path before;
  const auto complete = [&] {
    before = Newest(directory);
    return !before.empty() && SqliteFile::HasTable(before, "STRING_IDS");
  };
  const auto kept = [&] {
    Result result;
    result.path = before;
    result.kept = true;
    return result;
  };
  if (complete()) return kept();  // also where nothing can be written
  OutputClaim claim;
  while (!claim.Take(directory, "database")) {
    if (options.check) options.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (complete()) return kept();  // whoever had the claim made it
  std::string timestamp = options.timestamp;
  if (timestamp.empty()) timestamp = fmt::format("{:%Y%m%d%H%M%S}", fmt::localtime(std::time(nullptr)));
  try {
    Result result = Exporter(profile, options, directory, timestamp).Run();
    if (!before.empty() && before != result.path) fs::remove(before, error);
    return result;
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("memory is short for a database of {}", profile.path().string()));
  }
}

}  // namespace npuprof::database
