// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <time.h>

#include <cstdlib>
#include <cstring>

namespace {
// Before the first device is opened.
[[maybe_unused]] const int g_devices = setenv("NPUSIM_DEVICES", "8", 0);

void SendCommand(uint32_t type, uint64_t bits) {
  static MsprofCommandHandle command;
  command = {};
  command.profSwitch = bits;
  command.type = type;
  command.devNums = 1;
  for (const auto& [module, callback] : Recorder::Get().callbacks)
    callback(PROF_CTRL_SWITCH, &command, sizeof command);
}
}  // namespace

Recorder& Recorder::Get() {
  static auto* recorder = new Recorder;  // libraries register before main and may report after it
  return *recorder;
}

void Recorder::Start(uint64_t bits) {
  SendCommand(PROF_COMMANDHANDLE_TYPE_INIT, bits);
  SendCommand(PROF_COMMANDHANDLE_TYPE_START, bits);
}

void Recorder::Stop() {
  SendCommand(PROF_COMMANDHANDLE_TYPE_STOP, 0);
}

void Recorder::Clear() {
  std::lock_guard lock(mutex);
  apis.clear();
  compacts.clear();
  additionals.clear();
  devices.clear();
}

std::string Recorder::NameOf(uint16_t level, uint32_t type) const {
  auto it = types.find({level, type});
  return it == types.end() ? "" : it->second;
}

std::string Recorder::Text(uint64_t hash) const {
  auto it = texts.find(hash);
  return it == texts.end() ? "" : it->second;
}

std::vector<MsprofApi> Recorder::Apis(uint16_t level, const std::string& name) const {
  std::lock_guard lock(mutex);
  std::vector<MsprofApi> out;
  for (const auto& a : apis)
    if (a.level == level && (name.empty() || NameOf(level, a.type) == name)) out.push_back(a);
  return out;
}

std::vector<MsprofCompactInfo> Recorder::Compacts(const std::string& name) const {
  std::lock_guard lock(mutex);
  std::vector<MsprofCompactInfo> out;
  for (const auto& [flag, c] : compacts)
    if (NameOf(c.level, c.type) == name) out.push_back(c);
  return out;
}

std::vector<MsprofAdditionalInfo> Recorder::Additionals(const std::string& name) const {
  std::lock_guard lock(mutex);
  std::vector<MsprofAdditionalInfo> out;
  for (const auto& a : additionals)
    if (NameOf(a.level, a.type) == name) out.push_back(a);
  return out;
}

int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle) {
  Recorder::Get().callbacks.emplace_back(moduleId, handle);
  return 0;
}

int32_t MsprofNotifySetDevice(uint32_t, uint32_t deviceId, bool isOpen) {
  std::lock_guard lock(Recorder::Get().mutex);
  Recorder::Get().devices.emplace_back(deviceId, isOpen);
  return 0;
}

int32_t MsprofReportApi(uint32_t, const MsprofApi* api) {
  std::lock_guard lock(Recorder::Get().mutex);
  Recorder::Get().apis.push_back(*api);
  return 0;
}

int32_t MsprofReportCompactInfo(uint32_t flag, const void* data, uint32_t length) {
  MsprofCompactInfo record;
  if (length != sizeof record) return MSPROF_ERROR_CONFIG_INVALID;
  std::memcpy(&record, data, length);
  std::lock_guard lock(Recorder::Get().mutex);
  Recorder::Get().compacts.emplace_back(flag, record);
  return 0;
}

int32_t MsprofReportAdditionalInfo(uint32_t, const void* data, uint32_t length) {
  MsprofAdditionalInfo record;
  if (length != sizeof record) return MSPROF_ERROR_CONFIG_INVALID;
  std::memcpy(&record, data, length);
  std::lock_guard lock(Recorder::Get().mutex);
  Recorder::Get().additionals.push_back(record);
  return 0;
}

int32_t MsprofRegTypeInfo(uint16_t level, uint32_t typeId, const char* typeName) {
  std::lock_guard lock(Recorder::Get().mutex);
  Recorder::Get().types[{level, typeId}] = typeName;
  return 0;
}

uint64_t MsprofGetHashId(const char* hashInfo, size_t length) {
  const std::string text(hashInfo, length);
  const uint64_t hash = std::hash<std::string>{}(text);
  std::lock_guard lock(Recorder::Get().mutex);
  Recorder::Get().texts[hash] = text;
  return hash;
}

uint64_t MsprofSysCycleTime(void) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

int32_t MsprofInit(uint32_t, void*, uint32_t) {
  return 0;
}
int32_t MsprofFinalize(void) {
  return 0;
}
int32_t MsprofSetDeviceIdByGeModelIdx(uint32_t, uint32_t) {
  return 0;
}
int32_t MsprofUnsetDeviceIdByGeModelIdx(uint32_t, uint32_t) {
  return 0;
}
