// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_prof.h"

#include <fmt/format.h>

#include "api/message.h"
#include "api/numbers.h"
#include "session/config.h"
#include "session/manager.h"

using npuprof::Manager;
using npuprof::Result;
using npuprof::api::AsInt;
using npuprof::api::Guarded;

extern "C" {

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return Guarded([&] { return Manager::Process().Init(profilerResultPath, length); });
}

aclError aclprofFinalize(void) {
  return Guarded([] { return Manager::Process().Finalize(); });
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig) {
  aclprofConfig* config = nullptr;
  Guarded([&] {
    std::string why;
    std::vector<uint32_t> present;
    if (deviceNums) present = Manager::Process().DeviceIds(&why);
    if (deviceIdList && deviceNums && present.empty()) {
      return Result::Fail(
          npuprof::code::kInvalidParam,
          fmt::format("the list of devices has {}, but this process has none: {}", deviceNums, why));
    }
    return npuprof::CreateConfig(deviceIdList, deviceNums, AsInt(aicoreMetrics), aicoreEvents, dataTypeConfig,
                                 present, &config);
  });
  return config;
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return Guarded([&] { return npuprof::DestroyConfig(profilerConfig); });
}

aclError aclprofSetConfig(aclprofConfigType configType, const char* config, size_t configLength) {
  return Guarded([&] { return Manager::Process().SetConfig(AsInt(configType), config, configLength); });
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  return Guarded([&] { return Manager::Process().Start(profilerConfig); });
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  return Guarded([&] { return Manager::Process().Stop(profilerConfig); });
}

}  // extern "C"
