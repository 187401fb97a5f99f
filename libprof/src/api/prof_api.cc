// SPDX-License-Identifier: Apache-2.0
#include "profiling/prof_api.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <string_view>

#include "api/message.h"
#include "host/clock.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "session/manager.h"

using npuprof::Manager;
using npuprof::OptionSource;
using npuprof::RecordRequest;
using npuprof::Result;
using npuprof::api::Answer;
using npuprof::host::Dictionary;
using npuprof::host::QueueSet;
using npuprof::host::RecordClass;

namespace {

constexpr size_t kBatchBytes = 64 * sizeof(MsprofAdditionalInfo);

bool HasMagic(const void* record) {
  uint16_t magic;
  std::memcpy(&magic, record, sizeof(magic));
  return magic == MSPROF_DATA_HEAD_MAGIC_NUM;
}

// Common end of the reporting functions: no text is kept here, a drop is no place to spend time.
int32_t Report(RecordClass record_class, uint32_t flag, const void* record) {
  if (!record || !HasMagic(record)) return MSPROF_ERROR_CONFIG_INVALID;
  return QueueSet::Process().Report(record_class, flag != 0, record) ? MSPROF_ERROR_NONE : MSPROF_ERROR;
}

// Not part of its entry, which would save registers for it before it knows whether anybody collects.
[[gnu::noinline]] int32_t ReportBatch(uint32_t nonPersistentFlag, const void* data, uint32_t length) {
  if (!data || length == 0 || length > kBatchBytes || length % sizeof(MsprofAdditionalInfo) != 0) {
    return MSPROF_ERROR_CONFIG_INVALID;
  }
  const auto* record = static_cast<const MsprofAdditionalInfo*>(data);
  const size_t count = length / sizeof(MsprofAdditionalInfo);
  for (size_t i = 0; i < count; ++i) {
    if (!HasMagic(&record[i])) return MSPROF_ERROR_CONFIG_INVALID;
  }
  int32_t result = MSPROF_ERROR_NONE;
  for (size_t i = 0; i < count; ++i) {
    if (!QueueSet::Process().Report(RecordClass::kAdditional, nonPersistentFlag != 0, &record[i]))
      result = MSPROF_ERROR;
  }
  return result;
}

int32_t AsMsprofCode(int code) {
  if (code == 0) return MSPROF_ERROR_NONE;
  return code == npuprof::code::kInvalidConfig || code == npuprof::code::kInvalidParam ||
                 code == npuprof::code::kModulesUnsupported
             ? MSPROF_ERROR_CONFIG_INVALID
             : MSPROF_ERROR;
}

// Text of a field that need not have an end mark.
template <size_t N>
std::string_view Bounded(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

int32_t Configure(OptionSource source, std::string_view text, const std::string& job) {
  bool off = false;
  const int code =
      npuprof::api::Guarded([&] { return Manager::Process().StartConfigured(source, text, job, &off); });
  return off ? MSPROF_ERROR_ACL_JSON_OFF : AsMsprofCode(code);
}

Result SetStorageLimit(uint32_t megabytes, RecordRequest* request) {
  if (megabytes == 0) return Result::Ok();
  return request->settings.Set(ACL_PROF_STORAGE_LIMIT, fmt::format("{}MB", megabytes));
}

// The text of a sample.json and a path, of a program with devices or without.
int32_t StartByText(const MsprofCommandHandleParams& params, bool devices) {
  return AsMsprofCode(npuprof::api::Guarded([&] {
    std::optional<RecordRequest> request;
    if (Result result = npuprof::ReadOptions(OptionSource::kSampleConfig, Bounded(params.profData), &request);
        !result.ok())
      return result;
    if (!devices) {
      request->all_devices = false;
      request->wanted.devices.clear();
    }
    if (Result result = SetStorageLimit(params.storageLimit, &*request); !result.ok()) return result;
    if (const auto path = Bounded(params.path); !path.empty()) request->output = path;
    return Manager::Process().StartComponentSession(std::move(*request), std::nullopt, "MsprofInit");
  }));
}

Result FromComponent(const MsprofConfig& config, RecordRequest* request) {
  if (const std::string_view sample = Bounded(config.sampleConfig); !sample.empty()) {
    std::optional<RecordRequest> read;
    if (Result result = npuprof::ReadOptions(OptionSource::kSampleConfig, sample, &read); !result.ok())
      return result;
    *request = std::move(*read);
  } else {
    request->output = npuprof::DefaultOutput();
  }
  if (config.devNums > std::size(config.devIdList)) {
    return Result::Fail(npuprof::code::kInvalidParam,
                        fmt::format("{} devices are listed; at most {} are possible", config.devNums,
                                    std::size(config.devIdList)));
  }
  request->all_devices = false;
  request->wanted.devices.clear();
  for (uint32_t i = 0; i < config.devNums; ++i) {
    if (config.devIdList[i] == npuprof::kHostDevice) continue;
    if (config.devIdList[i] >= npuprof::kMaxDevices)
      return Result::Fail(npuprof::code::kInvalidParam,
                          fmt::format("device {} is listed; allowed are 0 to 63", config.devIdList[i]));
    request->wanted.devices.push_back(config.devIdList[i]);
  }
  request->wanted.data_types = npuprof::CompleteDataTypes(config.profSwitch);
  if (Result result = npuprof::CheckDataTypes(request->wanted.data_types); !result.ok()) return result;
  request->wanted.metrics = static_cast<int>(config.metrics);
  if (Result result = SetStorageLimit(config.storageLimit, request); !result.ok()) return result;
  if (const std::string_view path = Bounded(config.dumpPath); !path.empty()) request->output = path;
  return Result::Ok();
}

}  // namespace

extern "C" {

int32_t MsprofReportApi(uint32_t nonPersistentFlag, const struct MsprofApi* api) {
  if (!QueueSet::Collecting()) return MSPROF_ERROR_NONE;
  return Report(RecordClass::kApiEvent, nonPersistentFlag, api);
}

int32_t MsprofReportEvent(uint32_t nonPersistentFlag, const struct MsprofEvent* event) {
  if (!QueueSet::Collecting()) return MSPROF_ERROR_NONE;
  return Report(RecordClass::kApiEvent, nonPersistentFlag, event);
}

int32_t MsprofReportCompactInfo(uint32_t nonPersistentFlag, const void* data, uint32_t length) {
  if (!QueueSet::Collecting()) return MSPROF_ERROR_NONE;
  if (length != sizeof(MsprofCompactInfo)) return MSPROF_ERROR_CONFIG_INVALID;
  return Report(RecordClass::kCompact, nonPersistentFlag, data);
}

int32_t MsprofReportAdditionalInfo(uint32_t nonPersistentFlag, const void* data, uint32_t length) {
  if (!QueueSet::Collecting()) return MSPROF_ERROR_NONE;
  if (length != sizeof(MsprofAdditionalInfo)) return MSPROF_ERROR_CONFIG_INVALID;
  return Report(RecordClass::kAdditional, nonPersistentFlag, data);
}

int32_t MsprofReportBatchAdditionalInfo(uint32_t nonPersistentFlag, const void* data, uint32_t length) {
  return QueueSet::Collecting() ? ReportBatch(nonPersistentFlag, data, length) : MSPROF_ERROR_NONE;
}

size_t MsprofGetBatchReportMaxSize(uint32_t) {
  return kBatchBytes;
}

uint64_t MsprofSysCycleTime(void) {
  return npuprof::host::Cycles();
}

int32_t MsprofRegTypeInfo(uint16_t level, uint32_t typeId, const char* typeName) {
  constexpr size_t kMostBytes = 255;
  if (!typeName || !*typeName || strnlen(typeName, kMostBytes + 1) > kMostBytes ||
      std::strpbrk(typeName, "\r\n")) {
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "the name of a record type is NULL, empty, longer than 255 bytes or has a line break");
  }
  try {
    Dictionary::Process().Name(level, typeId, typeName);
    return MSPROF_ERROR_NONE;
  } catch (...) {
    return Answer(MSPROF_ERROR_MEM_NOT_ENOUGH, "there is no memory for the name of a record type");
  }
}

int32_t MsprofRegDataFormat(uint16_t, uint32_t, const char* dataFormat) {
  return dataFormat ? MSPROF_ERROR_NONE : MSPROF_ERROR_CONFIG_INVALID;
}

uint64_t MsprofGetHashId(const char* hashInfo, size_t length) {
  if (!hashInfo || length == 0) return 0;
  try {
    return Dictionary::Process().Id({hashInfo, length});
  } catch (...) {
    return 0;
  }
}

uint64_t MsprofStr2Id(const char* hashInfo, size_t length) {
  const uint64_t id = MsprofGetHashId(hashInfo, length);
  return id ? id : UINT64_MAX;
}

const char* MsprofId2Str(uint64_t hashId) {
  return Dictionary::Process().Find(hashId);
}

int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle) {
  if (!handle) return Answer(MSPROF_ERROR_CONFIG_INVALID, "the callback to register is NULL", "EK0006");
  const npuprof::NoCancel here;
  try {
    return Manager::Process().RegisterComponent(moduleId, handle);
  } catch (...) {
    return Answer(MSPROF_ERROR_MEM_NOT_ENOUGH, "there is no memory for a callback");
  }
}

int32_t MsprofNotifySetDevice(uint32_t, uint32_t deviceId, bool isOpen) {
  if (deviceId >= npuprof::kMaxDevices) {
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "a device id above 63 was told to the profiler; allowed are 0 to 63");
  }
  return AsMsprofCode(
      npuprof::api::Guarded([&] { return Manager::Process().DeviceChanged(deviceId, isOpen); }));
}

int32_t MsprofSetDeviceIdByGeModelIdx(uint32_t geModelIdx, uint32_t deviceId) {
  if (deviceId >= npuprof::kMaxDevices) {
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "a model was told to be on a device above 63; allowed are 0 to 63");
  }
  try {
    Manager::Process().ModelLoaded(geModelIdx, deviceId);
    return MSPROF_ERROR_NONE;
  } catch (...) {
    return Answer(MSPROF_ERROR_MEM_NOT_ENOUGH, "there is no memory to remember a model");
  }
}

int32_t MsprofUnsetDeviceIdByGeModelIdx(uint32_t geModelIdx, uint32_t deviceId) {
  if (deviceId >= npuprof::kMaxDevices) {
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "a model was told to be on a device above 63; allowed are 0 to 63");
  }
  Manager::Process().ModelUnloaded(geModelIdx, deviceId);
  return MSPROF_ERROR_NONE;
}

const char* MsprofGetPath(void) {
  return Manager::Process().LastPath();
}

int32_t MsprofInit(uint32_t dataType, void* data, uint32_t dataLen) {
  switch (dataType) {
    case MSPROF_CTRL_INIT_ACL_ENV:
    case MSPROF_CTRL_INIT_DYNA:
      return AsMsprofCode(npuprof::api::Guarded([] { return Manager::Process().StartRecording(); }));
    case MSPROF_CTRL_INIT_ACL_JSON:
      if (!data || dataLen == 0)
        return Answer(MSPROF_ERROR_CONFIG_INVALID, "the text of acl.json is NULL or empty");
      return Configure(OptionSource::kAclJson, {static_cast<const char*>(data), dataLen}, "");
    case MSPROF_CTRL_INIT_GE_OPTIONS: {
      if (!data || dataLen != sizeof(MsprofGeOptions))
        return Answer(MSPROF_ERROR_CONFIG_INVALID,
                      "the options of GE are NULL or have not the size of MsprofGeOptions");
      const auto* options = static_cast<const MsprofGeOptions*>(data);
      return Configure(OptionSource::kGeOptions, Bounded(options->options),
                       std::string(Bounded(options->jobId)));
    }
    case MSPROF_CTRL_INIT_HELPER:
    case MSPROF_CTRL_INIT_PURE_CPU: {
      if (!data || dataLen != sizeof(MsprofCommandHandleParams))
        return Answer(
            MSPROF_ERROR_CONFIG_INVALID,
            "the parameters of MsprofInit are NULL or have not the size of MsprofCommandHandleParams");
      return StartByText(*static_cast<const MsprofCommandHandleParams*>(data),
                         dataType == MSPROF_CTRL_INIT_HELPER);
    }
    case MSPROF_CTRL_INIT_AICPU:
      return MSPROF_ERROR_NONE;  // it is told by its callback when there is something to do
    case MSPROF_CTRL_FINALIZE:
      return MsprofFinalize();
    default:
      return Answer(
          MSPROF_ERROR_CONFIG_INVALID,
          "MsprofInit was called with a type that is not served; allowed are 0 (environment), 1 (acl.json), "
          "2 (options of GE), 3 (end), 4 (text of a sample.json), 5 (the same, host alone), 6 (AI CPU) and "
          "255");
  }
}

int32_t MsprofStart(uint32_t dataType, const struct MsprofConfig* config, uint32_t length) {
  if (dataType == MSPROF_MODE_SUBSCRIBE)
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "models are subscribed through aclprofModelSubscribe, not MsprofStart");
  if (!config || length != sizeof(MsprofConfig))
    return Answer(MSPROF_ERROR_CONFIG_INVALID,
                  "the configuration of MsprofStart is NULL or has not the size of MsprofConfig");
  return AsMsprofCode(npuprof::api::Guarded([&] {
    RecordRequest request;
    if (Result result = FromComponent(*config, &request); !result.ok()) return result;
    return Manager::Process().StartComponentSession(std::move(request), dataType, "MsprofStart");
  }));
}

int32_t MsprofStop(uint32_t dataType, const struct MsprofConfig*, uint32_t) {
  return AsMsprofCode(
      npuprof::api::Guarded([&] { return Manager::Process().StopComponentSession(dataType); }));
}

int32_t MsprofFinalize(void) {
  return AsMsprofCode(npuprof::api::Guarded([] { return Manager::Process().StopRecording(); }));
}

}  // extern "C"
