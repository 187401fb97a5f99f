// SPDX-License-Identifier: Apache-2.0
#include "session/option_object.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "metrics/metrics.h"
#include "session/option_reader.h"
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

uint64_t TaskTime(OptionReader& reader, const char* key) {
  return reader.Choice(key, "on",
                       {{"on", ACL_PROF_TASK_TIME},
                        {"off", 0},
                        {"l0", ACL_PROF_TASK_TIME_L0},
                        {"l1", ACL_PROF_TASK_TIME},
                        {"l2", ACL_PROF_TASK_TIME_L2},
                        {"l3", ACL_PROF_TASK_TIME_L3}});
}

void ReadKeys(OptionReader& reader, OptionSource source, RecordRequest* request) {
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

}  // namespace

void ReadGroup(OptionReader& reader, const char* key, RecordRequest* request) {
  request->wanted.metrics = ACL_AICORE_PIPE_UTILIZATION;
  const std::string name = reader.Text(key);
  if (name.empty()) return;
  try {
    if (auto events = CustomEvents(A2(), name)) {
      request->wanted.events = std::move(*events);
      return;
    }
  } catch (const std::runtime_error& e) {
    return reader.Fail(fmt::format("{}: {}", reader.Name(key), e.what()));
  }
  if (const MetricGroup* group = A2().Find(std::string_view(name))) {
    request->wanted.metrics = group->id;
    return;
  }
  std::string names;
  for (const MetricGroup& known : A2().groups) names += known.name + ", ";
  reader.Fail(key, name, names + "and Custom: with a list of events");
}

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
  OptionReader reader(json, source);
  if (source == OptionSource::kAclJson && reader.Text("switch") != "on") return Result::Ok();
  if (source == OptionSource::kSampleConfig) {
    ReadSampleConfig(reader, &request);
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
