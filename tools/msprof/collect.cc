// SPDX-License-Identifier: Apache-2.0
// Which of npuprof's options say what the published ones ask for.
#include <algorithm>
#include <string>

#include "msprof/modes.h"

namespace msprof {
namespace {

std::string DataTypes(const Request& request) {
  std::string types;
  const auto add = [&](const char* type) { types += std::string(types.empty() ? "" : ",") + type; };
  const auto on = [&](const char* name, bool otherwise) {
    return request.Has(name) ? request.On(name) : otherwise;
  };
  if (on("ascendcl", true)) add("acl-api");
  const std::string given = request.Has("task-time") ? request.Text("task-time") : request.Text("task-trace");
  const std::string level = given.empty() || given == "on" ? "l1" : given;
  if (level == "l0") {
    add("task-time-l0");
  } else if (level != "off") {
    add(level == "l2" ? "task-time-l2" : level == "l3" ? "task-time-l3" : "task-time");
    add("hccl");  // published as a part of it
  }
  if (on("ai-core", true)) add("metrics");
  if (on("aicpu", false)) add("aicpu");
  if (on("l2", false)) add("l2cache");
  if (on("msproftx", false)) add("msproftx");
  if (on("runtime-api", false)) add("runtime-api");
  if (on("task-memory", false)) add("task-memory");
  if (on("aicore-shape", false)) add("aicore-shape");
  const std::string scheduling = request.Text("ge-api");
  if (scheduling == "l0") add("ge-api-l0");
  if (scheduling == "l1") add("ge-api-l1");
  return types;
}

}  // namespace

std::vector<std::string> RecordOptions(const Request& request) {
  const std::string types = DataTypes(request);
  if (types.empty())
    throw Misuse("nothing is left to collect; switch at least one of --ascendcl, --task-time, --ai-core on");
  std::vector<std::string> words = {"--data-types", types};
  const auto pass = [&](const char* theirs, const char* ours) {
    if (request.Has(theirs)) words.insert(words.end(), {ours, request.Text(theirs)});
  };
  pass("aic-metrics", "--metrics");
  pass("storage-limit", "--storage-limit");
  pass("delay", "--delay");
  pass("duration", "--duration");
  pass("host-sys", "--host");
  pass("host-sys-usage", "--system");
  pass("host-sys-usage-freq", "--host-freq");
  pass("sys-mem-serviceflow", "--service-flow");
  struct Group {
    const char *group, *rate, *otherwise, *ours;
  };
  for (const Group& each :
       {Group{"sys-hardware-mem", "sys-hardware-mem-freq", "50", "--memory-freq"},
        {"sys-io-profiling", "sys-io-sampling-freq", "100", "--network-freq"},
        {"sys-interconnection-profiling", "sys-interconnection-freq", "50", "--link-freq"},
        {"dvpp-profiling", "dvpp-freq", "50", "--dvpp-freq"}}) {
    if (!request.On(each.group)) continue;
    words.insert(words.end(), {each.ours, request.Has(each.rate) ? request.Text(each.rate) : each.otherwise});
  }
  if (request.On("sys-hardware-mem")) pass("llc-profiling", "--llc-mode");
  return words;
}

}  // namespace msprof
