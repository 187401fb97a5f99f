// SPDX-License-Identifier: Apache-2.0
#include "session/option_object.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "metrics/metrics.h"
#include "trace/directory.h"

namespace npuprof {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = 1 << 20;

// A switch that adds data types when it is on.
struct Switch {
  const char* key;
  uint64_t bits;
  bool on;  // if nothing is said
};

// A value that becomes a setting.
struct Setting {
  const char* key;
  int type;
};

constexpr Setting kSettings[] = {
    {"storage_limit", ACL_PROF_STORAGE_LIMIT},
    {"sys_hardware_mem_freq", ACL_PROF_SYS_HARDWARE_MEM_FREQ},
    {"llc_profiling", ACL_PROF_LLC_MODE},
    {"sys_io_sampling_freq", ACL_PROF_SYS_IO_FREQ},
    {"sys_interconnection_freq", ACL_PROF_SYS_INTERCONNECTION_FREQ},
    {"dvpp_freq", ACL_PROF_DVPP_FREQ},
    {"host_sys", ACL_PROF_HOST_SYS},
    {"host_sys_usage", ACL_PROF_HOST_SYS_USAGE},
    {"host_sys_usage_freq", ACL_PROF_HOST_SYS_USAGE_FREQ},
    {"sys_lp_freq", ACL_PROF_LOW_POWER_FREQ},
    {"sys_mem_serviceflow", ACL_PROF_SYS_MEM_SERVICEFLOW},
    {"sys_cpu_freq", ACL_PROF_SYS_CPU_FREQ},
    {"optype", ACL_PROF_OPTYPE},
};

// Reads one object; remembers the first thing that is wrong, and what was looked at.
class Reader {
 public:
  Reader(const Json& object, OptionSource source) : object_(object), source_(source) {}

  bool Has(const char* key) {
    known_.insert(key);
    return object_.contains(key);
  }

  // Numbers are taken as they are written, so that one may stand with or without quotes.
  std::string Text(const char* key, const std::string& otherwise = "") {
    if (!Has(key)) return otherwise;
    const Json& value = object_[key];
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.dump();
    Fail(key, value.dump(), "a text or an integer");
    return otherwise;
  }

  bool On(const char* key, bool otherwise) {
    const std::string text = Text(key, otherwise ? "on" : "off");
    if (text == "on") return true;
    if (text != "off" && !text.empty()) Fail(key, text, "on and off");
    return false;
  }

  uint64_t Choice(const char* key, const std::string& otherwise,
                  const std::vector<std::pair<std::string, uint64_t>>& choices) {
    const std::string text = Text(key, otherwise);
    std::string allowed;
    for (const auto& [name, bits] : choices) {
      if (text == name) return bits;
      allowed += (allowed.empty() ? "" : ", ") + name;
    }
    Fail(key, text, allowed);
    return 0;
  }

  uint64_t Number(const char* key, uint64_t otherwise, uint64_t least, uint64_t most) {
    if (!Has(key)) return otherwise;
    const std::string text = Text(key);
    if (!text.empty() && text.size() < 12 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      const uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
      if (value >= least && value <= most) return value;
    }
    Fail(key, text, fmt::format("integers from {} to {}", least, most));
    return otherwise;
  }

  void Set(const char* key, int type, const std::string& text, Settings* settings) {
    if (const Result result = settings->Set(type, text); !result.ok())
      Fail(fmt::format("{}: {}", Name(key), result.text));
  }

  // Every key must have been asked for by now.
  void RefuseUnknown() {
    for (const auto& [key, value] : object_.items()) {
      if (known_.count(key)) continue;
      std::string allowed;
      for (const std::string& known : known_) allowed += (allowed.empty() ? "" : ", ") + known;
      Fail(fmt::format("{} has the unknown key '{}'; allowed are {}", OptionSourceName(source_), key,
                       allowed));
    }
  }

  void Fail(const char* key, const std::string& text, const std::string& allowed) {
    Fail(fmt::format("{} is '{}'; allowed are {}", Name(key), text, allowed));
  }
  void Fail(std::string text) {
    if (result_.ok()) result_ = Result::Fail(code::kInvalidConfig, std::move(text));
  }
  const Result& result() const { return result_; }

 private:
  std::string Name(const char* key) const { return fmt::format("{} of {}", key, OptionSourceName(source_)); }

  const Json& object_;
  OptionSource source_;
  std::set<std::string> known_;
  Result result_ = Result::Ok();
};

void ReadGroup(Reader& reader, const char* key, RecordRequest* request) {
  request->wanted.metrics = ACL_AICORE_PIPE_UTILIZATION;
  const std::string name = reader.Text(key);
  if (name.empty()) return;
  if (const MetricGroup* group = A2().Find(std::string_view(name))) {
    request->wanted.metrics = group->id;
    return;
  }
  std::string names;
  for (const MetricGroup& known : A2().groups) names += (names.empty() ? "" : ", ") + known.name;
  reader.Fail(key, name, names);
}

uint64_t TaskTime(Reader& reader, const char* key) {
  return reader.Choice(key, "on",
                       {{"on", ACL_PROF_TASK_TIME},
                        {"off", 0},
                        {"l0", ACL_PROF_TASK_TIME_L0},
                        {"l1", ACL_PROF_TASK_TIME},
                        {"l2", ACL_PROF_TASK_TIME_L2},
                        {"l3", ACL_PROF_TASK_TIME_L3}});
}

void ReadKeys(Reader& reader, OptionSource source, RecordRequest* request) {
  const bool acl = source == OptionSource::kAclJson;
  const Switch switches[] = {
      {"runtime_api", ACL_PROF_RUNTIME_API, acl},
      {"aicpu", ACL_PROF_AICPU, false},
      {"l2", ACL_PROF_L2CACHE, false},
      {"hccl", ACL_PROF_HCCL_TRACE, false},
      {"msproftx", ACL_PROF_MSPROFTX, false},
      {"task_memory", ACL_PROF_TASK_MEMORY, false},
  };
  uint64_t& types = request->wanted.data_types;
  types = ACL_PROF_AICORE_METRICS;  // always on here
  if (acl && reader.On("ascendcl", true)) types |= ACL_PROF_ACL_API;
  types |= TaskTime(reader, "task_time");
  types |= reader.Choice(
      "ge_api", "off",
      {{"off", 0}, {"l0", ACL_PROF_GE_API_L0}, {"l1", ACL_PROF_GE_API_L1 | ACL_PROF_GE_API_L0}});
  for (const Switch& one : switches) {
    if (reader.On(one.key, one.on)) types |= one.bits;
  }
  ReadGroup(reader, "aic_metrics", request);
  for (const char* key : {"task_tsfw", "instr_profiling"}) {
    if (reader.On(key, false))
      request->notes.push_back(fmt::format("{} of {} is not collected", key, OptionSourceName(source)));
  }
  reader.Number("instr_profiling_freq", 1000, 300, 30000);
  for (const Setting& one : kSettings) {
    if (reader.Has(one.key)) reader.Set(one.key, one.type, reader.Text(one.key), &request->settings);
  }
  request->output = reader.Text("output");
  if (source == OptionSource::kGeOptions) {
    if (reader.On("training_trace", false)) types |= ACL_PROF_TRAINING_TRACE;
    if (reader.On("task_trace", false)) types |= ACL_PROF_TASK_TIME;
    for (const char* key : {"fp_point", "bp_point", "task_block"})
      reader.Text(key);  // of the graph engine alone
    if (request->output.empty() && !std::getenv("ASCEND_WORK_PATH"))
      reader.Fail("output", "", "a directory, unless ASCEND_WORK_PATH is set");
  }
  reader.RefuseUnknown();
}

// One sampling interval of sample.json as the frequency of a setting.
void ReadInterval(Reader& reader, const char* key, uint64_t otherwise, uint64_t per_second, int type,
                  Settings* settings) {
  const uint64_t interval = reader.Number(key, otherwise, 1, per_second);
  reader.Set(key, type, fmt::format("{}", std::max<uint64_t>(1, per_second / interval)), settings);
}

void ReadDevices(Reader& reader, RecordRequest* request) {
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

void ReadSample(Reader& reader, RecordRequest* request) {
  const Switch switches[] = {
      {"acl", ACL_PROF_ACL_API, false},
      {"runtimeApi", ACL_PROF_RUNTIME_API, false},
      {"aicpuTrace", ACL_PROF_AICPU, false},
      {"hcclTrace", ACL_PROF_HCCL_TRACE, false},
      {"msproftx", ACL_PROF_MSPROFTX, false},
      {"ai_core_profiling", ACL_PROF_AICORE_METRICS, false},
      {"aiv_profiling", ACL_PROF_AICORE_METRICS, false},
      {"l2CacheTaskProfiling", ACL_PROF_L2CACHE, false},
      {"taskMemory", ACL_PROF_TASK_MEMORY, false},
  };
  uint64_t& types = request->wanted.data_types;
  if (reader.On("taskTime", true)) {
    types |= reader.Choice("prof_level", "l1",
                           {{"", ACL_PROF_TASK_TIME},
                            {"l0", ACL_PROF_TASK_TIME_L0},
                            {"level0", ACL_PROF_TASK_TIME_L0},
                            {"l1", ACL_PROF_TASK_TIME},
                            {"level1", ACL_PROF_TASK_TIME},
                            {"l2", ACL_PROF_TASK_TIME_L2},
                            {"level2", ACL_PROF_TASK_TIME_L2},
                            {"l3", ACL_PROF_TASK_TIME_L3},
                            {"level3", ACL_PROF_TASK_TIME_L3}});
  }
  types |= reader.Choice(
      "geApi", "off",
      {{"", 0}, {"off", 0}, {"l0", ACL_PROF_GE_API_L0}, {"l1", ACL_PROF_GE_API_L1 | ACL_PROF_GE_API_L0}});
  for (const Switch& one : switches) {
    if (reader.On(one.key, one.on)) types |= one.bits;
  }
  if (types & ACL_PROF_AICORE_METRICS) ReadGroup(reader, "ai_core_metrics", request);
  request->mstx_include = reader.Text("mstxDomainInclude");
  request->mstx_exclude = reader.Text("mstxDomainExclude");
  Settings& settings = request->settings;
  const std::string limit = reader.Text("storageLimit");
  if (!limit.empty()) reader.Set("storageLimit", ACL_PROF_STORAGE_LIMIT, limit, &settings);
  const std::string llc = reader.Text("llc_profiling");
  if (!llc.empty() || !reader.Text("hbm_profiling_events").empty() ||
      !reader.Text("ddr_profiling_events").empty()) {
    ReadInterval(reader, "hardware_mem_sampling_interval", 20'000, 1'000'000, ACL_PROF_SYS_HARDWARE_MEM_FREQ,
                 &settings);
    if (!llc.empty()) reader.Set("llc_profiling", ACL_PROF_LLC_MODE, llc, &settings);
  }
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
    if (reader.On(one.key, false))
      ReadInterval(reader, one.interval, one.otherwise, 1000, one.type, &settings);
  }
  for (const auto& [key, type] :
       {std::pair{"host_sys", ACL_PROF_HOST_SYS}, {"host_sys_usage", ACL_PROF_HOST_SYS_USAGE}}) {
    const std::string list = reader.Text(key);
    if (!list.empty()) reader.Set(key, type, list, &settings);
  }
  ReadDevices(reader, request);
  request->output = reader.Text("result_dir");
}

}  // namespace

const char* OptionSourceName(OptionSource source) {
  switch (source) {
    case OptionSource::kAclJson:
      return "acl.json";
    case OptionSource::kGeOptions:
      return "the options of GE";
    case OptionSource::kSampleConfig:
      return "PROFILER_SAMPLECONFIG";
  }
  return "";
}

std::string DefaultOutput() {
  const char* work = std::getenv("ASCEND_WORK_PATH");
  if (work && *work) return std::string(work) + "/profiling_data";
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program));
  if (size <= 0) return ".";
  const std::string path(program, static_cast<size_t>(size));
  return path.substr(0, std::max<size_t>(path.rfind('/'), 1));
}

Result ReadOptions(OptionSource source, std::string_view text, std::optional<RecordRequest>* out) {
  out->reset();
  const char* name = OptionSourceName(source);
  if (text.size() > kMostBytes) {
    return Result::Fail(code::kInvalidConfig, fmt::format("{} has {} bytes; at most {} are possible", name,
                                                          text.size(), kMostBytes));
  }
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return Result::Fail(code::kInvalidConfig, fmt::format("the text of {} is no JSON object", name));
  if (source == OptionSource::kAclJson && json.contains("profiler")) {
    Json inner = json["profiler"];
    json = std::move(inner);
    if (!json.is_object())
      return Result::Fail(code::kInvalidConfig, fmt::format("profiler of {} is no JSON object", name));
  }
  RecordRequest request;
  Reader reader(json, source);
  if (source == OptionSource::kAclJson && reader.Text("switch") != "on") return Result::Ok();
  if (source == OptionSource::kSampleConfig) {
    ReadSample(reader, &request);
  } else {
    ReadKeys(reader, source, &request);
  }
  if (!reader.result().ok()) return reader.result();
  if (request.output.empty()) request.output = DefaultOutput();
  if (const Status status = trace::CheckOutputPath(request.output); !status.ok())
    return Result::Fail(code::kInvalidConfig, fmt::format("{}: {}", name, status.text));
  request.wanted.data_types = CompleteDataTypes(request.wanted.data_types);
  if (Result result = CheckDataTypes(request.wanted.data_types); !result.ok()) return result;
  *out = std::move(request);
  return Result::Ok();
}

}  // namespace npuprof
