// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/insight.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "analysis/clock.h"
#include "analysis/device_trace.h"
#include "analysis/host_trace.h"
#include "analysis/insight/activity.h"
#include "analysis/insight/host_calls.h"
#include "analysis/insight/idle_time.h"
#include "analysis/insight/operator_sums.h"
#include "analysis/insight/overview_builder.h"
#include "analysis/insight/ranks.h"
#include "analysis/record_reader.h"
#include "analysis/step_trace.h"

namespace npuprof::analysis {
namespace {

std::vector<std::string> Parts(const Profile& profile) {
  std::vector<std::string> parts;
  if (profile.has_host()) parts.push_back("host");
  for (const auto& device : profile.devices()) parts.push_back(device.directory);
  return parts;
}

int64_t Length(const std::vector<std::pair<int64_t, int64_t>>& spans) {
  int64_t sum = 0;
  for (const auto& [begin, end] : spans) sum += end - begin;
  return sum;
}

// What two lists have in common, each in order and apart.
int64_t Common(const std::vector<std::pair<int64_t, int64_t>>& a, const std::vector<IdleTime::Span>& b) {
  int64_t sum = 0;
  auto other = b.begin();
  for (const auto& [begin, end] : a) {
    while (other != b.end() && other->end <= begin) ++other;
    for (auto at = other; at != b.end() && at->begin < end; ++at)
      sum += std::min(at->end, end) - std::max(at->begin, begin);
  }
  return sum;
}

class Analysis {
 public:
  Analysis(const Profile& profile, const InsightOptions& options)
      : profile_(profile),
        options_(options),
        index_(profile.path(), Parts(profile)),
        space_(std::filesystem::temp_directory_path()),
        pool_(&space_),
        host_(&pool_, &space_, &diagnostics_),
        activities_(host_),
        overview_(options.most_tasks, pool_) {}

  Insight Run();

 private:
  std::function<void(uint64_t)> Progress(const std::string& stage) {
    return [this, stage](uint64_t bytes) {
      done_ += bytes;
      if (options_.progress) options_.progress(stage, done_, std::max(done_, total_));
    };
  }
  void Device(size_t place);
  void BeginOverview(const DeviceInfo& info, const DeviceTrace& trace, const DeviceClock& clock);
  void EndOverview(size_t place, const Slices& counters, const IdleTime& idle);
  void Missing();

  const Profile& profile_;
  const InsightOptions& options_;
  SliceIndex index_;
  Diagnostics diagnostics_;
  SpillSpace space_;
  StringPool pool_;
  HostTrace host_;
  HostCalls calls_;
  Activities activities_;
  Ranks ranks_;
  OverviewBuilder overview_;
  std::vector<std::unique_ptr<DeviceTrace>> traces_;
  Insight out_;
  uint64_t done_ = 0, total_ = 0;
};

Insight Analysis::Run() {
  for (const auto& [path, slices] : index_.all()) total_ += TotalBytes(slices);
  host_.Load(profile_, index_, Progress("host"));
  calls_.Load(index_, &host_, pool_, {});
  Flips flips;
  for (const auto& device : profile_.devices()) {
    auto& trace =
        traces_.emplace_back(std::make_unique<DeviceTrace>(device.id, index_, &space_, &diagnostics_));
    trace->LoadMarks(Progress(device.directory));
    flips.insert(trace->flips().begin(), trace->flips().end());
  }
  host_.AssignBatches(flips);
  for (size_t place = 0; place < traces_.size(); ++place) Device(place);
  ranks_.Match(pool_, &out_);
  for (const CollectiveSum& sum : out_.collectives) {
    for (DeviceInsight& device : out_.devices) {
      if (device.device == sum.device)
        device.by_bound[static_cast<size_t>(Bound::kCommunication)] += sum.total_ns;
    }
  }
  Missing();
  if (options_.overview) out_.overview = overview_.Finish();
  out_.warnings = profile_.warnings();
  out_.warnings.insert(out_.warnings.end(), diagnostics_.warnings().begin(), diagnostics_.warnings().end());
  out_.failures = profile_.failures();
  out_.failures.insert(out_.failures.end(), diagnostics_.failures().begin(), diagnostics_.failures().end());
  out_.broken_records = diagnostics_.broken();
  return std::move(out_);
}

void Analysis::Device(size_t place) {
  const DeviceInfo& info = profile_.devices()[place];
  DeviceTrace& trace = *traces_[place];
  const DeviceClock clock(profile_, place, &diagnostics_);
  const bool counted = info.mode == "task-based" && TotalBytes(trace.pmu_slices()) > 0;
  trace.LoadTasks(counted, Progress(info.directory));
  trace.Join(host_, clock);
  trace.SortByStart();
  static const Slices kNone;
  RecordLoader loader(counted ? trace.pmu_slices() : kNone, kTaskPmuFormat.bytes);
  IdleTime idle(host_, calls_, options_.most_gaps);
  OperatorSums sums(info, pool_);
  if (options_.overview) BeginOverview(info, trace, clock);
  for (const DeviceTask& task : trace.tasks()) {
    const TaskView view = DescribeTask(host_, info.id, clock, task);
    const Activity activity = activities_.Of(view);
    const int64_t waited = idle.Add(view, activity);
    if (const Operator* collective = activities_.CollectiveOf(view)) ranks_.Add(view, *collective);
    if (activity != Activity::kCompute) continue;
    if (options_.overview) overview_.Add(view);
    uint8_t record[kTaskPmuFormat.bytes];
    TaskPmu pmu;
    const bool has_pmu = task.pmu != DeviceTask::kNoPmu && loader.Load(task.pmu, record);
    if (has_pmu) pmu = DeviceTrace::DecodePmu(record);
    sums.Add(view, has_pmu ? &pmu : nullptr, trace.side_sum(task.side), waited);
  }
  DeviceInsight& out = out_.devices.emplace_back();
  out.device = info.id;
  out.simulated = info.simulated;
  out.clock_error_ns = clock.error_ns();
  out.peaks = PeaksOf(info);
  if (!trace.tasks().empty()) idle.Finish(pool_, &out);
  out.counted = sums.counted();
  const auto operators = sums.Finish(&out.by_bound);
  out_.operators.insert(out_.operators.end(), operators.begin(), operators.end());
  const auto spans = ranks_.Spans(info.id);
  out.overlap.compute_ns = out.time.compute_ns;
  out.overlap.communication_ns = Length(spans);
  out.overlap.exposed_ns = Common(spans, idle.Idle());
  out.overlap.free_ns = out.time.window_ns - out.time.compute_ns - out.overlap.exposed_ns;
  for (const Step& step : BuildSteps(trace.marks(), clock)) {
    if (!step.begin) continue;
    out.steps.push_back({step.index, step.model, *step.begin, step.end, idle.Split(*step.begin, step.end)});
  }
  if (options_.overview) EndOverview(place, trace.pmu_slices(), idle);
  traces_[place].reset();  // one device's tasks in memory at a time
}

void Analysis::BeginOverview(const DeviceInfo& info, const DeviceTrace& trace, const DeviceClock& clock) {
  uint64_t end = 0;
  for (const DeviceTask& task : trace.tasks()) end = std::max(end, task.end);
  const bool any = !trace.tasks().empty();
  overview_.BeginDevice(info.id, any ? clock.Wall(trace.tasks()[0].start) : 0, any ? clock.Wall(end) : 0);
}

void Analysis::EndOverview(size_t place, const Slices& counters, const IdleTime& idle) {
  const DeviceInfo& info = profile_.devices()[place];
  DeviceOverview& out = overview_.device();
  if (out.end_ns > out.begin_ns) {
    const auto border = [&](size_t bin) {
      return out.begin_ns + static_cast<int64_t>(static_cast<__int128>(out.end_ns - out.begin_ns) *
                                                 static_cast<int64_t>(bin) / OverviewBuilder::kBins);
    };
    for (size_t bin = 0; bin < OverviewBuilder::kBins; ++bin)
      out.bins.push_back(idle.Split(border(bin), border(bin + 1)));
  }
  out.cores = ReadCoreLoads(info, counters, profile_, place, out.begin_ns, out.end_ns, &diagnostics_);
  out.bandwidth = ReadBandwidth(index_.Get(info.directory + "/data/hbm.data." + std::to_string(info.id)),
                                profile_, place, &diagnostics_);
  overview_.EndDevice();
}

void Analysis::Missing() {
  const auto say = [&](const char* text) { out_.missing.emplace_back(text); };
  if (!profile_.has_host()) {
    say("the host: names of operators, and whether the host was late");
  } else {
    if (host_.tracks() == 0) say("submissions of tasks: names of operators, and whether the host was late");
    if (!calls_.known()) say("calls of the host (acl-api, runtime-api): whether the host was late or waited");
  }
  if (profile_.devices().empty()) say("devices: everything but calls of the host");
  for (const DeviceInsight& device : out_.devices) {
    if (device.operators > 0 && device.counted == 0) {
      say("counters of operators (metrics, task-based): what bounds them, and the roofline");
      break;
    }
  }
  if (out_.devices.size() > 1 && out_.collectives.empty())
    say("collectives (hccl): communication, and stragglers among the devices");
}

}  // namespace

const char* CauseName(Cause cause) {
  constexpr std::array<const char*, kCauses> kNames = {"host_late",     "synchronising", "collective_wait",
                                                       "communication", "copy",          "unknown"};
  return kNames[static_cast<size_t>(cause)];
}

const char* BoundName(Bound bound) {
  constexpr std::array<const char*, kBounds> kNames = {"cube",   "vector",        "memory", "scalar",
                                                       "launch", "communication", "unknown"};
  return kNames[static_cast<size_t>(bound)];
}

const char* PipeName(Pipe pipe) {
  constexpr std::array<const char*, kPipes> kNames = {"cube", "vector", "scalar", "mte1",
                                                      "mte2", "mte3",   "fixpipe"};
  return kNames[static_cast<size_t>(pipe)];
}

Insight Analyse(const Profile& profile, const InsightOptions& options) {
  return Analysis(profile, options).Run();
}

}  // namespace npuprof::analysis
