// SPDX-License-Identifier: Apache-2.0
#include "session/record_request.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "metrics/metrics.h"

namespace npuprof {
namespace {

constexpr uint64_t kMostMilliseconds = 4294967295000;  // as the published tool has it, in seconds

/// Reads variables into a request; the first that is not understood ends it.
class Reader {
 public:
  Reader(const Variables& variables, RecordRequest* request) : variables_(variables), request_(*request) {}

  Result Read() {
    for (const auto part :
         {&Reader::Types, &Reader::Metrics, &Reader::Devices, &Reader::SettingsOfTheRun, &Reader::Times}) {
      if (Result result = (this->*part)(); !result.ok()) return result;
    }
    request_.notes_file = Variable("NPUPROF_RECORD_NOTES").value_or("");
    request_.mstx_include = Variable("NPUPROF_RECORD_MSTX_INCLUDE").value_or("");
    request_.mstx_exclude = Variable("NPUPROF_RECORD_MSTX_EXCLUDE").value_or("");
    return Result::Ok();
  }

  std::optional<std::string> Variable(const char* name) const {
    const char* text = variables_(name);
    if (!text || !*text) return std::nullopt;
    return text;
  }

 private:
  static std::optional<uint64_t> Number(const std::string& text, int base = 0) {
    if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
    char* end = nullptr;
    errno = 0;
    const uint64_t value = std::strtoull(text.c_str(), &end, base);
    if (errno || *end) return std::nullopt;
    return value;
  }
  static Result Refuse(const char* name, const std::string& text, std::string_view allowed) {
    return Result::Fail(code::kInvalidConfig, fmt::format("{} is '{}'; allowed is {}", name, text, allowed));
  }

  Result Types() {
    uint64_t types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS;
    if (const auto text = Variable("NPUPROF_RECORD_TYPES")) {
      const auto bits = Number(*text);
      if (!bits) return Refuse("NPUPROF_RECORD_TYPES", *text, "a number such as 0x7");
      types = *bits;
    }
    request_.wanted.data_types = CompleteDataTypes(types);
    return CheckDataTypes(request_.wanted.data_types);
  }

  Result Metrics() {
    request_.wanted.metrics = ACL_AICORE_PIPE_UTILIZATION;
    const auto text = Variable("NPUPROF_RECORD_METRICS");
    if (!text) return Result::Ok();
    try {
      if (auto events = CustomEvents(A2(), *text)) {
        request_.wanted.events = std::move(*events);
        return Result::Ok();
      }
    } catch (const std::runtime_error& e) {
      return Result::Fail(code::kInvalidConfig, std::string("NPUPROF_RECORD_METRICS: ") + e.what());
    }
    if (const auto id = Number(*text)) {
      request_.wanted.metrics = static_cast<int>(*id);
    } else if (const MetricGroup* group = A2().Find(std::string_view(*text))) {
      request_.wanted.metrics = group->id;
    } else {
      std::string names;
      for (const MetricGroup& known : A2().groups) names += (names.empty() ? "" : ", ") + known.name;
      return Refuse("NPUPROF_RECORD_METRICS", *text,
                    "a number of aclprofAicoreMetrics, Custom: and a list of events, or one of " + names);
    }
    return Result::Ok();
  }

  Result Devices() {
    const auto list = Variable("NPUPROF_RECORD_DEVICES");
    if (!list || *list == "all") return Result::Ok();
    request_.all_devices = false;
    for (size_t begin = 0; begin <= list->size();) {
      const size_t end = std::min(list->find(',', begin), list->size());
      const auto id = Number(list->substr(begin, end - begin));
      if (!id || *id >= kMaxDevices) {
        return Refuse("NPUPROF_RECORD_DEVICES", *list, "all, or a comma list of ids from 0 to 63");
      }
      request_.wanted.devices.push_back(static_cast<uint32_t>(*id));
      begin = end + 1;
    }
    return Result::Ok();
  }

  Result SettingsOfTheRun() {
    if (const auto text = Variable("NPUPROF_RECORD_HOST")) {
      if (Result result = request_.settings.Set(ACL_PROF_HOST_SYS, *text); !result.ok()) return result;
    }
    const auto list = Variable("NPUPROF_RECORD_SETTINGS");
    for (size_t begin = 0; list && begin < list->size();) {
      const size_t end = std::min(list->find(';', begin), list->size());
      const std::string item = list->substr(begin, end - begin);
      begin = end + 1;
      const size_t equals = item.find('=');
      int type = ACL_PROF_ARGS_MAX - 1;
      while (type > ACL_PROF_ARGS_MIN && item.substr(0, equals) != Settings::Name(type)) --type;
      // Where the directory goes is said elsewhere.
      if (equals == std::string::npos || type == ACL_PROF_ARGS_MIN || type == ACL_PROF_PATH) {
        return Refuse("NPUPROF_RECORD_SETTINGS", item, "ACL_PROF_...=text with a name of aclprofConfigType");
      }
      if (Result result = request_.settings.Set(type, item.substr(equals + 1)); !result.ok()) return result;
    }
    return Result::Ok();
  }

  Result Times() {
    for (const auto& [name, out] : {std::pair{"NPUPROF_RECORD_DELAY_MS", &request_.delay},
                                    std::pair{"NPUPROF_RECORD_DURATION_MS", &request_.duration}}) {
      const auto text = Variable(name);
      if (!text) continue;
      const auto number = Number(*text, 10);
      if (!number || *number < 1 || *number > kMostMilliseconds)
        return Refuse(name, *text, fmt::format("1 to {}", kMostMilliseconds));
      *out = std::chrono::milliseconds(*number);
    }
    return Result::Ok();
  }

  const Variables& variables_;
  RecordRequest& request_;
};

}  // namespace

Result ReadRecordRequest(const Variables& variables, std::optional<RecordRequest>* out) {
  out->reset();
  RecordRequest request;
  Reader reader(variables, &request);
  const auto directory = reader.Variable("NPUPROF_RECORD_DIR");
  if (!directory) return Result::Ok();
  request.output = *directory;
  if (Result result = reader.Read(); !result.ok()) return result;
  *out = std::move(request);
  return Result::Ok();
}

Result ReadRecordRequest(std::optional<RecordRequest>* out) {
  return ReadRecordRequest([](const char* name) { return std::getenv(name); }, out);
}

void TellRecorder(const RecordRequest& request, const std::string& line) {
  if (request.notes_file.empty()) return;
  // The command made it. Where it is gone nobody wants to know any more.
  const int fd = open(request.notes_file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  const std::string text = line + "\n";
  const ssize_t ignored = write(fd, text.data(), text.size());
  static_cast<void>(ignored);
  close(fd);
}

}  // namespace npuprof
