// SPDX-License-Identifier: Apache-2.0
#include "ge/ge_prof.h"

#include <cstdlib>
#include <cstring>

#include "api/message.h"

namespace {
aclprofConfig* Twin(ge::aclgrphProfConfig* config) {
  return reinterpret_cast<aclprofConfig*>(config);
}
ge::Status AsStatus(aclError code) {
  return static_cast<ge::Status>(code);
}
}  // namespace

extern "C" {

aclError aclgrphProfGraphSubscribe(uint32_t graphId, const aclprofSubscribeConfig* profSubscribeConfig) {
  return aclprofModelSubscribe(graphId, profSubscribeConfig);
}

aclError aclgrphProfGraphUnSubscribe(uint32_t graphId) {
  return aclprofModelUnSubscribe(graphId);
}

size_t aclprofGetGraphId(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return aclprofGetModelId(opInfo, opInfoLen, index);
}

}  // extern "C"

namespace ge {

Status aclgrphProfInit(const char* profiler_path, uint32_t length) {
  const char* mode = std::getenv("PROFILING_MODE");
  if (mode && std::strcmp(mode, "delay_or_duration") == 0) {
    return AsStatus(npuprof::api::Answer(npuprof::Result::Fail(
        npuprof::code::kFeatureUnsupported,
        "aclgrphProfInit with PROFILING_MODE=delay_or_duration; unset it to use the interface")));
  }
  return AsStatus(aclprofInit(profiler_path, length));
}

Status aclgrphProfFinalize() {
  return AsStatus(aclprofFinalize());
}

aclgrphProfConfig* aclgrphProfCreateConfig(uint32_t* deviceid_list, uint32_t device_nums,
                                           ProfilingAicoreMetrics aicore_metrics,
                                           ProfAicoreEvents* aicore_events, uint64_t data_type_config) {
  return reinterpret_cast<aclgrphProfConfig*>(
      aclprofCreateConfig(deviceid_list, device_nums, static_cast<aclprofAicoreMetrics>(aicore_metrics),
                          reinterpret_cast<const aclprofAicoreEvents*>(aicore_events), data_type_config));
}

Status aclgrphProfDestroyConfig(aclgrphProfConfig* profiler_config) {
  return AsStatus(aclprofDestroyConfig(Twin(profiler_config)));
}

// Without a configuration graphs have no default.
Status aclgrphProfStart(aclgrphProfConfig* profiler_config) {
  if (!profiler_config)
    return AsStatus(npuprof::api::Answer(npuprof::Result::Null("the configuration to start with")));
  return AsStatus(aclprofStart(Twin(profiler_config)));
}

Status aclgrphProfStop(aclgrphProfConfig* profiler_config) {
  if (!profiler_config)
    return AsStatus(npuprof::api::Answer(npuprof::Result::Null("the configuration to stop")));
  return AsStatus(aclprofStop(Twin(profiler_config)));
}

}  // namespace ge
