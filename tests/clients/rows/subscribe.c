/* SPDX-License-Identifier: Apache-2.0 */
/* Subscriptions and what is read from their pipes. */
#include <unistd.h>

#include "ge/ge_prof.h"
#include "profiling/prof_api.h"
#include "rows.h"

static int g_pipe[2];

/* Model 7 is on device 0, as its manager would tell. */
static uint32_t loaded(void) {
  MUST(aclrtSetDevice(0));
  MUST(MsprofSetDeviceIdByGeModelIdx(7, 0));
  return 7;
}
static aclprofSubscribeConfig* wish(int8_t times, int metrics) {
  must(pipe(g_pipe), "pipe");
  aclprofSubscribeConfig* made =
      aclprofCreateSubscribeConfig(times, (aclprofAicoreMetrics)metrics, &g_pipe[1]);
  must(made == NULL, "aclprofCreateSubscribeConfig");
  return made;
}
static int64_t subscribe(int8_t times, int metrics) {
  return aclprofModelSubscribe(loaded(), wish(times, metrics));
}
ROW(subscribe_config_works, 1) {
  int fd = 1;
  return NULL_OR_NOT(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &fd));
}
ROW(subscribe_config_fd_null, 0, EK0006) {
  return NULL_OR_NOT(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, NULL));
}
ROW(subscribe_config_switch_2, 0, EK0001) {
  int fd = 1;
  return NULL_OR_NOT(aclprofCreateSubscribeConfig(2, ACL_AICORE_NONE, &fd));
}
ROW(subscribe_config_destroy_null, 100000, EK0006) {
  return aclprofDestroySubscribeConfig(NULL);
}
ROW(subscribe_config_destroy_twice, 100000) {
  aclprofSubscribeConfig* one = wish(1, ACL_AICORE_NONE);
  MUST(aclprofDestroySubscribeConfig(one));
  return aclprofDestroySubscribeConfig(one);
}
ROW(subscribe_works, 0) {
  return subscribe(1, ACL_AICORE_NONE);
}
ROW(subscribe_with_counters, 0) {
  return subscribe(1, ACL_AICORE_PIPE_UTILIZATION);
}
ROW(subscribe_unknown_model, 100011) {
  return aclprofModelSubscribe(8, wish(1, ACL_AICORE_NONE));
}
ROW(subscribe_unknown_model_comes_before_null, 100011) {
  return aclprofModelSubscribe(8, NULL);
}
ROW(subscribe_config_null, 100000, EK0006) {
  return aclprofModelSubscribe(loaded(), NULL);
}
ROW(subscribe_for_nothing, 100000) {
  return subscribe(0, ACL_AICORE_NONE);
}
ROW(subscribe_unknown_metrics, 100000) {
  return subscribe(1, 77);
}
ROW(subscribe_after_init, 148047) {
  MUST(init());
  return subscribe(1, ACL_AICORE_NONE);
}
ROW(subscribe_twice, 148046) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofModelSubscribe(7, wish(1, ACL_AICORE_NONE));
}
ROW(subscribe_another_model_alike, 0) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  MUST(MsprofSetDeviceIdByGeModelIdx(8, 0));
  return aclprofModelSubscribe(8, wish(1, ACL_AICORE_NONE));
}
ROW(subscribe_another_model_otherwise, 100010) {
  MUST(subscribe(1, ACL_AICORE_PIPE_UTILIZATION));
  MUST(MsprofSetDeviceIdByGeModelIdx(8, 0));
  return aclprofModelSubscribe(8, wish(0, ACL_AICORE_PIPE_UTILIZATION));
}
ROW(subscribe_may_be_tried_again, 0) {
  must(subscribe(1, 77) != 100000, "an unknown group");
  npuprofTakeError();
  return aclprofModelSubscribe(7, wish(1, ACL_AICORE_NONE));
}
ROW(unsubscribe_unknown_model, 100011) {
  return aclprofModelUnSubscribe(8);
}
ROW(unsubscribe_not_subscribed, 100011) {
  return aclprofModelUnSubscribe(loaded());
}
ROW(unsubscribe_works, 0) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofModelUnSubscribe(7);
}
ROW(unsubscribe_closes_the_pipe, -1) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  MUST(aclprofModelUnSubscribe(7));
  return g_pipe[1];
}
ROW(unsubscribe_after_unload, 0) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  MUST(MsprofUnsetDeviceIdByGeModelIdx(7, 0));
  return aclprofModelUnSubscribe(7);
}
ROW(unsubscribe_after_unload_twice, 100011) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  MUST(MsprofUnsetDeviceIdByGeModelIdx(7, 0));
  MUST(aclprofModelUnSubscribe(7));
  return aclprofModelUnSubscribe(7);
}
ROW(init_after_unload_and_unsubscribe, 0) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  MUST(MsprofUnsetDeviceIdByGeModelIdx(7, 0));
  MUST(aclprofModelUnSubscribe(7));
  return init();
}
ROW(subscribe_config_destroyed, 100000) {
  aclprofSubscribeConfig* one = wish(1, ACL_AICORE_NONE);
  MUST(aclprofDestroySubscribeConfig(one));
  return aclprofModelSubscribe(loaded(), one);
}
ROW(subscribe_config_that_is_none, 100000) {
  char nothing[32] = {0};
  return aclprofModelSubscribe(loaded(), (const aclprofSubscribeConfig*)nothing);
}
ROW(subscribe_config_destroy_of_one_that_is_none, 100000) {
  char nothing[32] = {0};
  return aclprofDestroySubscribeConfig((const aclprofSubscribeConfig*)nothing);
}
ROW(subscribe_config_may_go_during_the_subscription, 0) {
  aclprofSubscribeConfig* one = wish(1, ACL_AICORE_NONE);
  MUST(aclprofModelSubscribe(loaded(), one));
  MUST(aclprofDestroySubscribeConfig(one));
  return aclprofModelUnSubscribe(7);
}
ROW(graph_subscribe_config_destroyed, 100000) {
  aclprofSubscribeConfig* one = wish(1, ACL_AICORE_NONE);
  MUST(aclprofDestroySubscribeConfig(one));
  return aclgrphProfGraphSubscribe(loaded(), one);
}
ROW(unsubscribe_after_init, 148047) {
  MUST(init());
  return aclprofModelUnSubscribe(loaded());
}
ROW(subscribed_init, 148047) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return init();
}
ROW(subscribed_start, 148047) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(subscribed_warmup, 148047) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(subscribed_stop, 148047) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofStop(NULL);
}
ROW(subscribed_finalize, 148047) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofFinalize();
}
ROW(subscribed_set, 0) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  return aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, "15", 2);
}
ROW(init_after_the_last_unsubscribe, 0) {
  MUST(subscribe(1, ACL_AICORE_NONE));
  MUST(aclprofModelUnSubscribe(7));
  return init();
}
ROW(subscribe_refused_by_every_device, 500005) {
  return subscribe(1, ACL_AICORE_NONE); /* with NPUSIM_FAULT=refuse_start, see CMakeLists.txt */
}
ROW(graph_subscribe_unknown, 100011) {
  return aclgrphProfGraphSubscribe(8, wish(1, ACL_AICORE_NONE));
}
ROW(graph_subscribe_works, 0) {
  return aclgrphProfGraphSubscribe(loaded(), wish(1, ACL_AICORE_NONE));
}
ROW(graph_unsubscribe_works, 0) {
  MUST(aclgrphProfGraphSubscribe(loaded(), wish(1, ACL_AICORE_NONE)));
  return aclgrphProfGraphUnSubscribe(7);
}
ROW(command_subscribe, 100042) {
  return subscribe(1, ACL_AICORE_NONE);
}
ROW(command_unsubscribe, 100042) {
  return aclprofModelUnSubscribe(loaded());
}

ROW(unset_of_another_device_keeps_the_model, 0) {
  MUST(MsprofSetDeviceIdByGeModelIdx(7, 0));
  MUST(MsprofUnsetDeviceIdByGeModelIdx(7, 1));
  MUST(aclrtSetDevice(0));
  return aclprofModelSubscribe(7, wish(1, ACL_AICORE_NONE));
}
ROW(unset_forgets_the_model, 100011) {
  MUST(MsprofUnsetDeviceIdByGeModelIdx(loaded(), 0));
  return aclprofModelSubscribe(7, wish(1, ACL_AICORE_NONE));
}
ROW(dynamic_subscribe, 100042) {
  MUST(MsprofSetDeviceIdByGeModelIdx(7, 0));
  return aclprofModelSubscribe(7, wish(1, ACL_AICORE_NONE));
}

static const char g_foreign[160] = {1};
ROW(op_size, 80) {
  size_t size = 0;
  MUST(aclprofGetOpDescSize(&size));
  return (int64_t)size;
}
ROW(op_size_null, 100000, EK0006) {
  return aclprofGetOpDescSize(NULL);
}
static int64_t number(const void* data, size_t bytes) {
  uint32_t found;
  return aclprofGetOpNum(data, bytes, &found);
}
ROW(op_number_data_null, 100000, EK0006) {
  return number(NULL, 80);
}
ROW(op_number_null, 100000, EK0006) {
  return aclprofGetOpNum(g_foreign, 80, NULL);
}
ROW(op_number_of_half_an_item, 100000) {
  return number(g_foreign, 81);
}
ROW(op_number_of_nothing, 100000) {
  return number(g_foreign, 0);
}
ROW(op_number_of_a_wrong_signature, 100000) {
  return number(g_foreign, 80);
}
ROW(op_name_of_a_wrong_signature, 100000) {
  char name[64];
  return aclprofGetOpName(g_foreign, 80, 0, name, sizeof name);
}
ROW(op_name_length_null, 100000, EK0006) {
  return aclprofGetOpNameLen(g_foreign, 80, 0, NULL);
}
ROW(op_name_room_null, 100000, EK0006) {
  return aclprofGetOpName(g_foreign, 80, 0, NULL, 64);
}
ROW(op_type_of_a_wrong_signature, 100000) {
  char type[64];
  return aclprofGetOpType(g_foreign, 80, 0, type, sizeof type);
}
ROW(op_type_length_null, 100000, EK0006) {
  return aclprofGetOpTypeLen(g_foreign, 80, 0, NULL);
}
ROW(op_start_of_a_wrong_signature, 0, EK0001) {
  return (int64_t)aclprofGetOpStart(g_foreign, 80, 0);
}
ROW(op_end_of_a_wrong_signature, 0, EK0001) {
  return (int64_t)aclprofGetOpEnd(g_foreign, 80, 0);
}
ROW(op_duration_of_a_wrong_signature, 0, EK0001) {
  return (int64_t)aclprofGetOpDuration(g_foreign, 80, 0);
}
ROW(op_model_of_a_wrong_signature, 100000) {
  return (int64_t)aclprofGetModelId(g_foreign, 80, 0);
}
ROW(op_graph_of_a_wrong_signature, 100000) {
  return (int64_t)aclprofGetGraphId(g_foreign, 80, 0);
}
ROW(op_flag_null, 0xFF, EK0006) {
  return aclprofGetOpFlag(NULL, 80, 0);
}
ROW(op_flag_of_an_index_there_is_not, 0xFF, EK0001) {
  return aclprofGetOpFlag(g_foreign, 80, 1);
}
ROW(op_attribute_null, 0, EK0006) {
  return NULL_OR_NOT(aclprofGetOpAttriValue(NULL, 80, 0, ACL_SUBSCRIBE_ATTRI_THREADID));
}
