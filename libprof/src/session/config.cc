// SPDX-License-Identifier: Apache-2.0
#include "session/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/device_file.h"
#include "device/visible.h"

namespace npuprof {
namespace {

static_assert(offsetof(aclprofConfig, metrics) == 264);
static_assert(offsetof(aclprofConfig, data_types) == 272);
static_assert(sizeof(aclprofConfig) == 280);

struct Registry {
  OwnedMutex mutex;
  std::unordered_map<const aclprofConfig*, std::unique_ptr<aclprofConfig>> living;
};

Registry& Living() {
  static Registry& registry = *new Registry;
  return registry;
}

Result NotLiving(const void* config) {
  return Result::Fail(
      code::kInvalidParam,
      fmt::format("configuration {} is not one made by aclprofCreateConfig, or was destroyed already",
                  config));
}

}  // namespace

OwnedMutex& ConfigLock() {
  return Living().mutex;
}

std::string Hex(uint64_t value) {
  return fmt::format("{:#x}", value);
}

Wanted ToWanted(const aclprofConfig& config) {
  Wanted wanted;
  wanted.metrics = config.metrics;
  wanted.data_types = config.data_types;
  for (uint32_t i = 0; i < config.dev_nums && i < std::size(config.dev_ids); ++i) {
    if (config.dev_ids[i] != kHostDevice) wanted.devices.push_back(config.dev_ids[i]);
  }
  return wanted;
}

uint64_t CompleteDataTypes(uint64_t data_types) {
  if (data_types & ACL_PROF_API_STATS) return ACL_PROF_API_STATS | ACL_PROF_ACL_API;
  uint64_t bits = data_types | kAicpuModel;
  if (data_types & ACL_PROF_TASK_TIME) bits |= ACL_PROF_TASK_TIME_L0;
  if (data_types & (ACL_PROF_TASK_TIME_L2 | ACL_PROF_OP_ATTR))
    bits |= ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME;
  if (data_types & ACL_PROF_TASK_TIME_L3) {
    bits |= ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L2;
  }
  if (bits & ACL_PROF_TASK_TIME_L0) bits |= ACL_PROF_TRAINING_TRACE;
  return bits;
}

Result CheckDataTypes(uint64_t data_types) {
  if (data_types == 0) {
    return Result::Fail(code::kInvalidParam, "data types 0 ask for nothing; give at least one ACL_PROF_ bit");
  }
  if (const uint64_t unknown = data_types & ~kKnownDataTypes) {
    return Result::Fail(
        code::kModulesUnsupported,
        fmt::format("data types {:#x} contain the unknown bits {:#x}; allowed are those of {:#x}", data_types,
                    unknown, kKnownDataTypes & ~kAicpuModel));
  }
  return Result::Ok();
}

Result CreateConfig(const uint32_t* devices, uint32_t count, int metrics, const void* events,
                    uint64_t data_types, const std::vector<uint32_t>& devices_present,
                    aclprofConfig** config) {
  auto refuse = [](std::string text) { return Result::Fail(code::kInvalidParam, std::move(text)); };
  *config = nullptr;
  if (count > 0 && !devices) return Result::Null(fmt::format("the list of {} devices", count));
  if (events) return refuse("aicoreEvents is not NULL; events cannot be chosen one by one");
  if (count > kMaxDevices)
    return refuse(fmt::format("{} devices are listed; at most {} are possible", count, kMaxDevices));
  if (count == 0 && !(data_types & ACL_PROF_MSPROFTX)) {
    return refuse(fmt::format("data types {:#x} without a device; only ACL_PROF_MSPROFTX is possible then",
                              data_types));
  }
  if (count > 0 && devices_present.empty()) {
    return refuse(
        fmt::format("the list of devices has {}, but this process has none; see NPUPROF_DEVICE", count));
  }
  if (count > devices_present.size()) {
    return refuse(fmt::format("{} devices are listed; there are {}", count, devices_present.size()));
  }
  auto made = std::make_unique<aclprofConfig>();
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t id = devices[i];
    if (id >= kMaxDevices || std::ranges::find(devices_present, id) == devices_present.end()) {
      return refuse(
          fmt::format("device {} does not exist; there are {}", id, device::DeviceIdText(devices_present)));
    }
    if (seen >> id & 1) return refuse(fmt::format("device {} is listed twice", id));
    seen |= uint64_t{1} << id;
    const auto driver = device::DriverId(id);
    if (!driver) return refuse(fmt::format("device {} does not exist for the runtime of this process", id));
    made->dev_ids[i] = *driver;
  }
  made->dev_ids[count] = kHostDevice;
  made->dev_nums = count + 1;
  made->metrics = metrics;
  made->data_types = CompleteDataTypes(data_types);
  aclprofConfig* const fresh = made.get();
  auto& registry = Living();
  {
    std::lock_guard<OwnedMutex> lock(registry.mutex);
    registry.living.emplace(fresh, std::move(made));
  }
  *config = fresh;
  return Result::Ok();
}

Result DestroyConfig(const aclprofConfig* config) {
  if (!config) return Result::Null("the configuration to destroy");
  auto& registry = Living();
  std::lock_guard<OwnedMutex> lock(registry.mutex);
  return registry.living.erase(config) ? Result::Ok() : NotLiving(config);
}

Result CopyConfig(const aclprofConfig* config, aclprofConfig* copy) {
  auto& registry = Living();
  std::lock_guard<OwnedMutex> lock(registry.mutex);
  auto known = registry.living.find(config);
  if (known == registry.living.end()) return NotLiving(config);
  *copy = *known->second;
  return Result::Ok();
}

}  // namespace npuprof
