// SPDX-License-Identifier: Apache-2.0
#include "session/record_request.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "metrics/metrics.h"

namespace npuprof {
namespace {

std::optional<std::string> Variable(const char* name) {
  const char* text = std::getenv(name);
  if (!text || !*text) return std::nullopt;
  return text;
}

std::optional<uint64_t> Number(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (errno || *end) return std::nullopt;
  return value;
}

Result Refuse(const char* name, const std::string& text, std::string_view allowed) {
  return Result::Fail(code::kInvalidConfig, fmt::format("{} is '{}'; allowed is {}", name, text, allowed));
}

Result ReadDevices(const std::string& list, RecordRequest* request) {
  if (list == "all") return Result::Ok();
  request->all_devices = false;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const auto id = Number(list.substr(begin, end - begin));
    if (!id || *id >= kMaxDevices) {
      return Refuse("NPUPROF_RECORD_DEVICES", list, "all, or a comma list of ids from 0 to 63");
    }
    request->wanted.devices.push_back(static_cast<uint32_t>(*id));
    begin = end + 1;
  }
  return Result::Ok();
}

}  // namespace

Result ReadRecordRequest(std::optional<RecordRequest>* out) {
  out->reset();
  const auto directory = Variable("NPUPROF_RECORD_DIR");
  if (!directory) return Result::Ok();
  RecordRequest request;
  request.output = *directory;
  request.wanted.metrics = ACL_AICORE_PIPE_UTILIZATION;
  uint64_t types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS;
  if (const auto text = Variable("NPUPROF_RECORD_TYPES")) {
    const auto bits = Number(*text);
    if (!bits) return Refuse("NPUPROF_RECORD_TYPES", *text, "a number such as 0x7");
    types = *bits;
  }
  request.wanted.data_types = CompleteDataTypes(types);
  if (Result result = CheckDataTypes(request.wanted.data_types); !result.ok()) return result;
  if (const auto text = Variable("NPUPROF_RECORD_METRICS")) {
    if (const auto id = Number(*text)) {
      request.wanted.metrics = static_cast<int>(*id);
    } else if (const MetricGroup* group = A2().Find(std::string_view(*text))) {
      request.wanted.metrics = group->id;
    } else {
      std::string names;
      for (const MetricGroup& known : A2().groups) names += (names.empty() ? "" : ", ") + known.name;
      return Refuse("NPUPROF_RECORD_METRICS", *text, "a number of aclprofAicoreMetrics or one of " + names);
    }
  }
  if (const auto text = Variable("NPUPROF_RECORD_DEVICES")) {
    if (Result result = ReadDevices(*text, &request); !result.ok()) return result;
  }
  if (const auto text = Variable("NPUPROF_RECORD_HOST")) {
    if (Result result = request.settings.Set(ACL_PROF_HOST_SYS, *text); !result.ok()) return result;
  }
  *out = std::move(request);
  return Result::Ok();
}

}  // namespace npuprof
