// SPDX-License-Identifier: Apache-2.0
// The object of sample.json's switches, as PROFILER_SAMPLECONFIG and components of a runtime hand it over. It is the full set
// of a collector that has more than there is here: what asks for something that is not collected is told, with its value.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "metrics/metrics.h"
#include "session/option_reader.h"

namespace npuprof {
namespace {

constexpr uint64_t kMostSeconds = 4294967295;

// Keys of one kind of core.
struct CoreKeys {
  const char *mode, *metrics, *events, *interval;
};
constexpr CoreKeys kCube{"ai_core_profiling_mode", "ai_core_metrics", "ai_core_profiling_events",
                         "aicore_sampling_interval"};
constexpr CoreKeys kVector{"aiv_profiling_mode", "aiv_metrics", "aiv_profiling_events",
                           "aiv_sampling_interval"};

// What one kind of core is to count.
struct Cores {
  uint32_t interval_ms = 0;  // 0: by task
  int metrics = ACL_AICORE_NONE;
  std::vector<uint16_t> events;
  bool operator==(const Cores&) const = default;
};

void Note(OptionReader& reader, RecordRequest* request, const char* key, std::string_view why) {
  request->notes.push_back(fmt::format("{} is '{}': {}", reader.Name(key), reader.Text(key), why));
}

// Switches that are on, and texts and numbers that are there.
bool SaysSomething(const std::string& value) {
  constexpr std::string_view kNothing[] = {"", "off", "0", "-1", "false", "null", "[]", "{}"};
  return std::find(std::begin(kNothing), std::end(kNothing), value) == std::end(kNothing);
}

Cores ReadCores(OptionReader& reader, const CoreKeys& keys, RecordRequest* request) {
  Cores cores;
  reader.Choice(keys.mode, "task-based", {{"", 0}, {"task-based", 0}, {"sample-based", 1}});
  if (reader.Text(keys.mode) == "sample-based")
    cores.interval_ms = static_cast<uint32_t>(reader.Number(keys.interval, 10, 10, 1000));
  reader.Has(keys.interval);
  const std::string list = reader.Text(keys.events);
  RecordRequest read;
  if (reader.Text(keys.metrics).empty() && !list.empty()) {
    try {
      cores.events = *CustomEvents(A2(), "Custom:" + list);
    } catch (const std::runtime_error& e) {
      reader.Fail(fmt::format("{}: {}", reader.Name(keys.events), e.what()));
    }
    return cores;
  }
  ReadGroup(reader, keys.metrics, &read);
  cores.metrics = read.wanted.metrics;
  cores.events = read.wanted.events;
  if (list.empty() || !reader.result().ok()) return cores;
  // The collector writes the list beside the name; another one would not be what is counted.
  const auto events = SplitEvents(list);
  const MetricGroup* group = cores.events.empty() ? A2().Find(cores.metrics) : nullptr;
  const bool same =
      group ? events == group->cube.events || events == group->vector.events : events == cores.events;
  if (!same)
    Note(reader, request, keys.events,
         fmt::format("not these are counted, but those of {}", reader.Name(keys.metrics)));
  return cores;
}

void ReadCounters(OptionReader& reader, RecordRequest* request) {
  const bool cube = reader.On("ai_core_profiling", false), vector = reader.On("aiv_profiling", false);
  for (const CoreKeys& keys : {kCube, kVector}) {
    for (const char* key : {keys.mode, keys.metrics, keys.events, keys.interval}) reader.Has(key);
  }
  if (!cube && !vector) return;
  request->wanted.data_types |= ACL_PROF_AICORE_METRICS;
  const Cores cores = ReadCores(reader, cube ? kCube : kVector, request);
  request->wanted.metrics = cores.metrics;
  request->wanted.events = cores.events;
  request->wanted.core_interval_ms = cores.interval_ms;
  if (!cube || !vector || !reader.result().ok() || ReadCores(reader, kVector, request) == cores) return;
  for (const char* key : {kVector.mode, kVector.metrics, kVector.events, kVector.interval}) {
    if (SaysSomething(reader.Text(key)))
      Note(reader, request, key, "all cores count what the keys of ai_core say");
  }
}

// One sampling interval as the frequency of a setting.
void ReadInterval(OptionReader& reader, const char* key, uint64_t otherwise, uint64_t per_second, int type,
                  Settings* settings) {
  const uint64_t interval = reader.Number(key, otherwise, 1, per_second);
  reader.Set(key, type, fmt::format("{}", std::max<uint64_t>(1, per_second / interval)), settings);
}

void ReadDevices(OptionReader& reader, RecordRequest* request) {
  const std::string list = reader.Text("devices", "all");
  if (list.empty() || list == "all" || list == "64") return;
  request->all_devices = false;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    begin = end + 1;
    const bool number = !item.empty() && item.size() <= 2 &&
                        std::all_of(item.begin(), item.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto id = static_cast<uint32_t>(number ? std::atoi(item.c_str()) : -1);
    if (id == kHostDevice) continue;
    if (id >= kMaxDevices) return reader.Fail("devices", list, "all, and a comma list of ids from 0 to 63");
    request->wanted.devices.push_back(id);
  }
}

void ReadHost(OptionReader& reader, Settings* settings) {
  for (const auto& [key, type] :
       {std::pair{"host_sys", ACL_PROF_HOST_SYS}, {"host_sys_usage", ACL_PROF_HOST_SYS_USAGE}}) {
    const std::string list = reader.Text(key);
    if (!list.empty()) reader.Set(key, type, list, settings);
  }
}

void ReadMemory(OptionReader& reader, Settings* settings) {
  const std::string llc = reader.Text("llc_profiling"), flows = reader.Text("qosEvents");
  const bool hbm = !reader.Text("hbm_profiling_events").empty(),
             ddr = !reader.Text("ddr_profiling_events").empty();
  if (!flows.empty()) reader.Set("qosEvents", ACL_PROF_SYS_MEM_SERVICEFLOW, flows, settings);
  reader.Has("hardware_mem_sampling_interval");
  if (llc.empty() && !hbm && !ddr) return;
  ReadInterval(reader, "hardware_mem_sampling_interval", 20'000, 1'000'000, ACL_PROF_SYS_HARDWARE_MEM_FREQ,
               settings);
  if (!llc.empty()) reader.Set("llc_profiling", ACL_PROF_LLC_MODE, llc, settings);
}

void ReadUnits(OptionReader& reader, Settings* settings) {
  const struct {
    const char *key, *interval;
    uint64_t otherwise;
    int type;
  } sampled[] = {
      {"io_profiling", "io_sampling_interval", 10, ACL_PROF_SYS_IO_FREQ},
      {"interconnection_profiling", "interconnection_sampling_interval", 20,
       ACL_PROF_SYS_INTERCONNECTION_FREQ},
      {"dvpp_profiling", "dvpp_sampling_interval", 20, ACL_PROF_DVPP_FREQ},
  };
  for (const auto& one : sampled) {
    reader.Has(one.interval);
    if (reader.On(one.key, false))
      ReadInterval(reader, one.interval, one.otherwise, 1000, one.type, settings);
  }
}

std::chrono::seconds ReadSeconds(OptionReader& reader, const char* key) {
  const std::string text = reader.Text(key);
  if (text.empty() || text == "0") return std::chrono::seconds(0);
  return std::chrono::seconds(reader.Number(key, 0, 1, kMostSeconds));
}

void ReadTypes(OptionReader& reader, uint64_t* types) {
  constexpr std::pair<const char*, uint64_t> kSwitches[] = {
      {"acl", ACL_PROF_ACL_API},           {"runtimeApi", ACL_PROF_RUNTIME_API},
      {"aicpuTrace", ACL_PROF_AICPU},      {"hcclTrace", ACL_PROF_HCCL_TRACE},
      {"msproftx", ACL_PROF_MSPROFTX},     {"l2CacheTaskProfiling", ACL_PROF_L2CACHE},
      {"taskMemory", ACL_PROF_TASK_MEMORY}};
  const std::vector<std::pair<std::string, uint64_t>> levels = {
      {"", ACL_PROF_TASK_TIME},          {"l0", ACL_PROF_TASK_TIME_L0},  {"level0", ACL_PROF_TASK_TIME_L0},
      {"l1", ACL_PROF_TASK_TIME},        {"level1", ACL_PROF_TASK_TIME}, {"l2", ACL_PROF_TASK_TIME_L2},
      {"level2", ACL_PROF_TASK_TIME_L2}, {"l3", ACL_PROF_TASK_TIME_L3},  {"level3", ACL_PROF_TASK_TIME_L3}};
  // Releases spell the key differently; of both the one with a value counts.
  const char* level =
      reader.Text("prof_level").empty() && reader.Has("profLevel") ? "profLevel" : "prof_level";
  const uint64_t bits = reader.Choice(level, "l1", levels);
  if (reader.On("taskTime", true)) *types |= bits;
  *types |= reader.Choice(
      "geApi", "off",
      {{"", 0}, {"off", 0}, {"l0", ACL_PROF_GE_API_L0}, {"l1", ACL_PROF_GE_API_L1 | ACL_PROF_GE_API_L0}});
  for (const auto& [key, type] : kSwitches) {
    if (reader.On(key, false)) *types |= type;
  }
}

// Of the chip's caches there is one list.
void NoteCacheEvents(OptionReader& reader, RecordRequest* request) {
  const std::string ours = JoinEvents(A2().l2_cache_task_events);
  for (const auto& [key, known] :
       {std::pair{"l2CacheTaskProfilingEvents", ours}, {"npuEvents", "HA:" + ours}}) {
    const std::string events = reader.Text(key);
    if (!events.empty() && events != known)
      Note(reader, request, key,
           fmt::format("with l2CacheTaskProfiling {} are counted, and no others", known));
  }
}

void NoteTheRest(OptionReader& reader, RecordRequest* request) {
  constexpr const char* kNotCollected[] = {
      "opType",          "cpu_profiling", "sys_profiling", "pid_profiling", "instrProfiling",
      "instr_profiling", "taskTsfw",      "low_power",     "sys_lp",        "taskBlock"};
  for (const char* key : kNotCollected) {
    if (SaysSomething(reader.Text(key))) Note(reader, request, key, "not collected");
  }
  // Of switches above, what the other side tells of itself, and what comes with task times.
  for (const char* key : {"cpu_sampling_interval", "sys_sampling_interval", "pid_sampling_interval",
                          "instrProfilingFreq", "instr_profiling_freq", "app", "app_dir", "app_parameters",
                          "app_env", "job_id", "host_sys_pid", "msprofBinPid", "profMode", "dynamic",
                          "taskTrace", "stars_acsq_task", "llc_profiling_events", "host_disk_freq"})
    reader.Has(key);
  std::string foreign;
  for (const auto& [key, value] : reader.Unknown()) {
    constexpr size_t kMost = 64;
    if (SaysSomething(value))
      foreign += fmt::format("{}{}='{}'", foreign.empty() ? "" : ", ", key,
                             value.size() > kMost ? value.substr(0, kMost) + "..." : value);
  }
  if (!foreign.empty())
    request->notes.push_back(fmt::format("{} has keys that mean nothing here: {}",
                                         OptionSourceName(OptionSource::kSampleConfig), foreign));
}

}  // namespace

void ReadSampleConfig(OptionReader& reader, RecordRequest* request) {
  ReadTypes(reader, &request->wanted.data_types);
  ReadCounters(reader, request);
  request->mstx_include = reader.Text("mstxDomainInclude");
  request->mstx_exclude = reader.Text("mstxDomainExclude");
  request->job = reader.Text("jobInfo");
  const std::string limit = reader.Text("storageLimit");
  if (!limit.empty()) reader.Set("storageLimit", ACL_PROF_STORAGE_LIMIT, limit, &request->settings);
  ReadMemory(reader, &request->settings);
  ReadUnits(reader, &request->settings);
  ReadHost(reader, &request->settings);
  ReadDevices(reader, request);
  request->delay = ReadSeconds(reader, "delayTime");
  request->duration = ReadSeconds(reader, "durationTime");
  request->output = reader.Text("result_dir");
  NoteCacheEvents(reader, request);
  NoteTheRest(reader, request);
}

}  // namespace npuprof
