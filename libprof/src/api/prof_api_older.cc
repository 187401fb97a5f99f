// SPDX-License-Identifier: Apache-2.0
// Functions for components that newer ones took the place of, and such that the publication names without saying more than
// their arguments.
#include <fmt/format.h>

#include <cstring>

#include "api/message.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "profiling/prof_api.h"
#include "session/log.h"
#include "session/manager.h"
#include "session/mark_record.h"
#include "session/unkept.h"

using npuprof::Manager;
using npuprof::Result;
using npuprof::api::Answer;
using npuprof::host::QueueSet;

extern "C" {

int32_t MsprofSetConfig(uint32_t, const char*, size_t) {
  return MSPROF_ERROR_NONE;
}

int32_t MsprofRegisterProfileCallback(int32_t callbackType, void* callback, uint32_t length) {
  constexpr int32_t kSwitches = 0, kLastType = 16;
  if (callbackType < 0 || callbackType > kLastType || !callback || length != sizeof(void*)) {
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "a callback of a collector has a type from 0 to 16, is not NULL and as long as a pointer");
  }
  const npuprof::NoCancel here;
  try {
    if (callbackType == kSwitches) {
      return Manager::Process().RegisterComponent(npuprof::Components::kNoModule,
                                                  reinterpret_cast<ProfCommandHandle>(callback));
    }
    npuprof::LogError(fmt::format(
        "MsprofRegisterProfileCallback: callbacks of type {} are never called; those of type 0 are",
        callbackType));
    return MSPROF_ERROR_NONE;
  } catch (...) {
    return Answer(MSPROF_ERROR_MEM_NOT_ENOUGH, "there is no memory for a callback");
  }
}

int32_t MsprofReportData(uint32_t moduleId, uint32_t type, void* data, uint32_t len) {
  if (type == MSPROF_REPORTER_REPORT && !QueueSet::Collecting()) return MSPROF_ERROR_NONE;
  const auto invalid = [](const char* sentence) { return Answer(MSPROF_ERROR_CONFIG_INVALID, sentence); };
  switch (type) {
    case MSPROF_REPORTER_REPORT:
      npuprof::unkept::Add(moduleId);
      return MSPROF_ERROR;
    case MSPROF_REPORTER_INIT:
    case MSPROF_REPORTER_UNINIT:
      return MSPROF_ERROR_NONE;
    case MSPROF_REPORTER_DATA_MAX_LEN: {
      if (!data || len != sizeof(uint32_t))
        return invalid("the room for the longest report is NULL or not that of a uint32_t");
      const auto most = static_cast<uint32_t>(MsprofGetBatchReportMaxSize(0));
      std::memcpy(data, &most, sizeof(most));
      return MSPROF_ERROR_NONE;
    }
    case MSPROF_REPORTER_HASH: {
      if (!data || len != sizeof(MsprofHashData))
        return invalid("the text to number is NULL or has not the size of MsprofHashData");
      auto* hash = static_cast<MsprofHashData*>(data);
      hash->hashId = MsprofGetHashId(reinterpret_cast<const char*>(hash->data), hash->dataLen);
      return hash->hashId != 0 ? MSPROF_ERROR_NONE : invalid("the text to number is NULL or empty");
    }
    default:
      return invalid("MsprofReportData was called with a type that does not exist; allowed are 0 to 4");
  }
}

bool MsprofCheckOpSwitch(uint32_t, const char* op, uint32_t len) {
  return op && len > 0 && QueueSet::Collecting();
}

int32_t profSetStepInfo(uint64_t indexId, uint16_t tagId, void* stream) {
  if (!QueueSet::Collecting()) return MSPROF_ERROR_NONE;
  return npuprof::api::Guarded([=] { return npuprof::marks::MarkDevice(indexId, tagId, stream); }) == 0
             ? MSPROF_ERROR_NONE
             : MSPROF_ERROR;
}

int32_t profSetProfCommand(void* command, uint32_t len) {
  if (!command || len == 0) return Answer(MSPROF_ERROR_CONFIG_INVALID, "the command is NULL or empty");
  npuprof::LogError("profSetProfCommand does nothing: components are told what to do by the profiler alone");
  return MSPROF_ERROR_NONE;
}

}  // extern "C"
