// SPDX-License-Identifier: Apache-2.0
#include "api/message.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "npuprof/npuprof.h"
#include "session/log.h"
#include "session/manager.h"

namespace npuprof::api {
namespace {
// A plain array: it needs no destructor when a thread ends, and no memory when there is none.
thread_local char t_message[1024];
thread_local const char* t_family = nullptr;  // of an error that nobody took yet
thread_local char t_error[sizeof(t_message) + 16];
}  // namespace

int Answer(int code, const char* sentence, const char* family) noexcept {
  if (code == 0) return 0;
  t_family = family;
  std::strncpy(t_message, sentence, sizeof(t_message) - 1);
  LogError(t_message);
  return code;
}

int Answer(const Result& result) noexcept {
  return Answer(result.code, result.text.c_str(), FamilyOf(result));
}

}  // namespace npuprof::api

extern "C" const char* npuprofLastMessage(void) {
  return npuprof::api::t_message;
}

extern "C" const char* npuprofTakeError(void) {
  using namespace npuprof::api;
  if (!t_family) return nullptr;
  std::snprintf(t_error, sizeof(t_error), "%s: %s", t_family, t_message);
  t_family = nullptr;
  return t_error;
}

extern "C" int npuprofGetStatus(npuprofStatus* status) {
  return npuprof::api::Guarded([&]() -> npuprof::Result {
    using npuprof::Result;
    if (!status) return Result::Null("the status");
    if (status->size < sizeof(*status))
      return Result::Fail(npuprof::code::kInvalidParam,
                          "the status has a size of " + std::to_string(status->size) +
                              " bytes; this version has " + std::to_string(sizeof(*status)));
    npuprof::Manager::Facts found;
    if (Result result = npuprof::Manager::Process().CollectFacts(&found); !result.ok()) return result;
    npuprofStatus told{};
    told.size = sizeof(told);
    told.mode = static_cast<int32_t>(found.mode);
    told.running = found.running;
    told.beginNs = found.begin_ns;
    told.dataTypes = found.data_types;
    told.deviceCount = static_cast<uint32_t>(std::min(found.devices.size(), std::size(told.devices)));
    std::copy_n(found.devices.begin(), told.deviceCount, told.devices);
    std::strncpy(told.directory, found.directory.c_str(), sizeof(told.directory) - 1);
    *status = told;
    return Result::Ok();
  });
}

static_assert(static_cast<int>(npuprof::Manager::Mode::kOff) == NPUPROF_MODE_OFF);
static_assert(static_cast<int>(npuprof::Manager::Mode::kApi) == NPUPROF_MODE_API);
static_assert(static_cast<int>(npuprof::Manager::Mode::kCommand) == NPUPROF_MODE_COMMAND);
static_assert(static_cast<int>(npuprof::Manager::Mode::kSubscribe) == NPUPROF_MODE_SUBSCRIBE);
