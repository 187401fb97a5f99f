/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins of the aclprof functions for programs that run graphs. They share everything with those: one profiling state per
 * process, the same codes, the same rules.
 */
#ifndef GE_PROF_H
#define GE_PROF_H

#include "acl/acl_prof.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As aclprofModelSubscribe() and aclprofModelUnSubscribe(); a graph has the number of the model that it was loaded as. */
ACL_FUNC_VISIBILITY aclError aclgrphProfGraphSubscribe(uint32_t graphId,
                                                       const aclprofSubscribeConfig *profSubscribeConfig);
ACL_FUNC_VISIBILITY aclError aclgrphProfGraphUnSubscribe(uint32_t graphId);
/** As aclprofGetModelId(). */
ACL_FUNC_VISIBILITY size_t aclprofGetGraphId(const void *opInfo, size_t opInfoLen, uint32_t index);

#ifdef __cplusplus
}

namespace ge {

using Status = uint32_t;
/** Values of aclprofAicoreMetrics. */
enum ProfilingAicoreMetrics : int {
  kAicoreArithmeticUtilization = 0,
  kAicorePipeUtilization = 1,
  kAicoreMemory = 2,
  kAicoreMemoryL0 = 3,
  kAicoreResourceConflictRatio = 4,
  kAicoreMemoryUB = 5,
  kAicoreL2Cache = 6
};
struct ProfAicoreEvents;   // never defined: always pass nullptr
struct aclgrphProfConfig;  // opaque

/** As aclprofInit(), and 200006 for PROFILING_MODE=delay_or_duration too. */
ACL_FUNC_VISIBILITY Status aclgrphProfInit(const char *profiler_path, uint32_t length);
/** As aclprofFinalize(), aclprofCreateConfig(), aclprofDestroyConfig(), aclprofStart(), aclprofStop(). */
ACL_FUNC_VISIBILITY Status aclgrphProfFinalize();
ACL_FUNC_VISIBILITY aclgrphProfConfig *aclgrphProfCreateConfig(uint32_t *deviceid_list, uint32_t device_nums,
                                                               ProfilingAicoreMetrics aicore_metrics,
                                                               ProfAicoreEvents *aicore_events,
                                                               uint64_t data_type_config);
ACL_FUNC_VISIBILITY Status aclgrphProfDestroyConfig(aclgrphProfConfig *profiler_config);
ACL_FUNC_VISIBILITY Status aclgrphProfStart(aclgrphProfConfig *profiler_config);
ACL_FUNC_VISIBILITY Status aclgrphProfStop(aclgrphProfConfig *profiler_config);

}  // namespace ge
#endif
#endif /* GE_PROF_H */
