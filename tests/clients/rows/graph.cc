// SPDX-License-Identifier: Apache-2.0
// The twins of GE.
#include "ge/ge_prof.h"

extern "C" {
#include "rows.h"
}

namespace {
ge::aclgrphProfConfig* Made() {
  uint32_t device = 0;
  return ge::aclgrphProfCreateConfig(&device, 1, ge::kAicorePipeUtilization, nullptr, ACL_PROF_TASK_TIME);
}
ge::Status Init() {
  return ge::aclgrphProfInit(scratch(), static_cast<uint32_t>(strlen(scratch())));
}
}  // namespace

ROW(graph_init, 0) {
  return Init();
}
ROW(graph_init_null, 100000, EK0006) {
  return ge::aclgrphProfInit(nullptr, 4);
}
ROW(graph_init_in_dynamic_mode, 200006) {
  setenv("PROFILING_MODE", "dynamic", 1);
  return Init();
}
ROW(graph_init_with_delay_or_duration, 200006) {
  setenv("PROFILING_MODE", "delay_or_duration", 1);
  return Init();
}
ROW(graph_init_after_init, 100002) {
  MUST(init());
  return Init();
}
ROW(graph_config_null_list, 0, EK0006) {
  return NULL_OR_NOT(ge::aclgrphProfCreateConfig(nullptr, 1, ge::kAicorePipeUtilization, nullptr, 2));
}
ROW(graph_destroy_null, 100000, EK0006) {
  return ge::aclgrphProfDestroyConfig(nullptr);
}
ROW(graph_start_null, 100000, EK0006) {
  return ge::aclgrphProfStart(nullptr);
}
ROW(graph_stop_null, 100000, EK0006) {
  return ge::aclgrphProfStop(nullptr);
}
ROW(graph_whole_cycle, 0) {
  MUST(Init());
  ge::aclgrphProfConfig* one = Made();
  MUST(ge::aclgrphProfStart(one));
  MUST(ge::aclgrphProfStop(one));
  MUST(ge::aclgrphProfDestroyConfig(one));
  return ge::aclgrphProfFinalize();
}
ROW(graph_finalize_without_init, 0) {
  return ge::aclgrphProfFinalize();
}
ROW(graph_start_destroyed_configuration, 100000) {
  MUST(Init());
  ge::aclgrphProfConfig* one = Made();
  MUST(ge::aclgrphProfDestroyConfig(one));
  return ge::aclgrphProfStart(one);
}
ROW(graph_stop_destroyed_configuration, 100000) {
  MUST(Init());
  ge::aclgrphProfConfig* one = Made();
  MUST(ge::aclgrphProfStart(one));
  MUST(ge::aclgrphProfDestroyConfig(one));
  return ge::aclgrphProfStop(one);
}
ROW(graph_destroy_twice, 100000) {
  ge::aclgrphProfConfig* one = Made();
  MUST(ge::aclgrphProfDestroyConfig(one));
  return ge::aclgrphProfDestroyConfig(one);
}
ROW(graph_stop_with_other_types, 100010) {
  uint32_t device = 0;
  MUST(Init());
  MUST(ge::aclgrphProfStart(Made()));
  return ge::aclgrphProfStop(
      ge::aclgrphProfCreateConfig(&device, 1, ge::kAicorePipeUtilization, nullptr, ACL_PROF_ACL_API));
}
