// SPDX-License-Identifier: Apache-2.0
#include "device/visible.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>

namespace npuprof::device {
namespace {

using Translate = int (*)(int32_t logic, int32_t* visible);
constexpr uint32_t kMostDevices = 64;

// Looked for until it is found: the runtime may be loaded after us, and out of the default scope.
Translate Find() {
  constexpr const char* kName = "rtGetVisibleDeviceIdByLogicDeviceId";
  static std::atomic<Translate> known{nullptr};
  if (const Translate found = known.load(std::memory_order_acquire)) return found;
  void* function = dlsym(RTLD_DEFAULT, kName);
  if (!function) {
    void* runtime = dlopen("libruntime.so", RTLD_LAZY | RTLD_NOLOAD);
    if (!runtime) return nullptr;
    function = dlsym(runtime, kName);
    if (!function) dlclose(runtime);  // else it stays: its function is in use from now on
  }
  const auto found = reinterpret_cast<Translate>(function);
  if (found) known.store(found, std::memory_order_release);
  return found;
}

}  // namespace

std::optional<uint32_t> DriverId(uint32_t id) {
  const Translate translate = Find();
  if (!translate) return id;
  int32_t visible = -1;
  if (id >= kMostDevices || translate(static_cast<int32_t>(id), &visible) != 0 || visible < 0)
    return std::nullopt;
  return static_cast<uint32_t>(visible);
}

std::vector<uint32_t> ProgramIds(const std::vector<uint32_t>& driver_ids) {
  if (!Find()) return driver_ids;
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < kMostDevices && ids.size() < driver_ids.size(); ++id) {
    const auto driver = DriverId(id);
    if (!driver) break;
    if (std::find(driver_ids.begin(), driver_ids.end(), *driver) != driver_ids.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace npuprof::device
