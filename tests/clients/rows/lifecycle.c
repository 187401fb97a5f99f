/* SPDX-License-Identifier: Apache-2.0 */
/* Init, Finalize, configurations, Start and Stop. */
#include <stdio.h>
#include <sys/stat.h>

#include "rows.h"

ROW(init_works, 0) {
  return init();
}
ROW(init_path_null, 100000, EK0006) {
  return aclprofInit(NULL, 4);
}
ROW(init_length_0, 100000) {
  return aclprofInit("/tmp", 0);
}
ROW(init_length_is_not_strlen, 100000) {
  return aclprofInit("/tmp", 3);
}
ROW(init_length_4095, 0) {
  static char path[4096];
  memset(path, 'a', sizeof path - 1);
  return aclprofInit(path, sizeof path - 1);
}
ROW(init_length_4096, 100000) {
  static char path[4097];
  memset(path, 'a', sizeof path - 1);
  return aclprofInit(path, sizeof path - 1);
}
ROW(init_relative_path, 0) {
  return aclprofInit("out", 3);
}
ROW(init_space_and_dots, 0) {
  return aclprofInit("/tmp/../a b", 11);
}
ROW(init_in_dynamic_mode, 200006) {
  setenv("PROFILING_MODE", "dynamic", 1);
  return aclprofInit(NULL, 0);
}
ROW(init_twice, 100002) {
  MUST(init());
  return init();
}
ROW(init_null_comes_before_twice, 100000, EK0006) {
  MUST(init());
  return aclprofInit(NULL, 0);
}
static int64_t init_with(char forbidden) {
  const char path[] = {'/', 't', 'm', 'p', '/', 'a', forbidden, 'b', '\0'};
  return aclprofInit(path, strlen(path));
}
ROW(init_line_feed, 100003) {
  return init_with('\n');
}
ROW(init_form_feed, 100003) {
  return init_with('\f');
}
ROW(init_carriage_return, 100003) {
  return init_with('\r');
}
ROW(init_backspace, 100003) {
  return init_with('\b');
}
ROW(init_tab, 100003) {
  return init_with('\t');
}
ROW(init_vertical_tab, 100003) {
  return init_with('\v');
}
ROW(init_delete, 100003) {
  return init_with('\x7f');
}
ROW(init_quote, 100003) {
  return init_with('"');
}
ROW(init_apostrophe, 100003) {
  return init_with('\'');
}
ROW(init_backslash, 100003) {
  return init_with('\\');
}
ROW(init_percent, 100003) {
  return init_with('%');
}
ROW(init_greater, 100003) {
  return init_with('>');
}
ROW(init_less, 100003) {
  return init_with('<');
}
ROW(init_bar, 100003) {
  return init_with('|');
}
ROW(init_ampersand, 100003) {
  return init_with('&');
}
ROW(init_dollar, 100003) {
  return init_with('$');
}
ROW(init_semicolon, 100003) {
  return init_with(';');
}
ROW(init_backquote, 100003) {
  return init_with('`');
}

ROW(finalize_without_init, 0) {
  return aclprofFinalize();
}
ROW(finalize_after_init, 0) {
  MUST(init());
  return aclprofFinalize();
}
ROW(finalize_while_running, 0) {
  start_marks();
  return aclprofFinalize();
}
ROW(init_after_finalize, 0) {
  MUST(init());
  MUST(aclprofFinalize());
  return init();
}

static int64_t create(const uint32_t* ids, uint32_t count, uint64_t types) {
  return NULL_OR_NOT(
      aclprofCreateConfig((uint32_t*)(uintptr_t)ids, count, ACL_AICORE_PIPE_UTILIZATION, NULL, types));
}
static const uint32_t g_ids[65] = {0, 1, 0, 5};
ROW(config_before_init, 1) {
  return create(g_ids, 1, ACL_PROF_ACL_API);
}
ROW(config_list_null, 0, EK0006) {
  return create(NULL, 1, ACL_PROF_ACL_API);
}
ROW(config_events, 0, EK0001) {
  return NULL_OR_NOT(aclprofCreateConfig((uint32_t*)(uintptr_t)g_ids, 1, ACL_AICORE_NONE,
                                         (const aclprofAicoreEvents*)(const void*)g_ids, ACL_PROF_ACL_API));
}
ROW(config_65_devices, 0, EK0001) {
  return create(g_ids, 65, ACL_PROF_ACL_API);
}
ROW(config_more_devices_than_there_are, 0, EK0001) {
  return create(g_ids, 3, ACL_PROF_ACL_API);
}
ROW(config_device_5_of_2, 0, EK0001) {
  return create(g_ids + 3, 1, ACL_PROF_ACL_API);
}
ROW(config_device_twice, 0, EK0001) {
  return create((const uint32_t[]){0, 0}, 2, ACL_PROF_ACL_API);
}
ROW(config_no_device, 0, EK0001) {
  return create(NULL, 0, ACL_PROF_ACL_API);
}
ROW(config_no_device_but_marks, 1) {
  return create(NULL, 0, ACL_PROF_MSPROFTX);
}
ROW(config_types_0_are_taken, 1) {
  return create(g_ids, 1, 0);
}
ROW(config_unknown_types_are_taken, 1) {
  return create(g_ids, 1, 0x10000);
}
ROW(config_unknown_metrics_are_taken, 1) {
  return NULL_OR_NOT(aclprofCreateConfig((uint32_t*)(uintptr_t)g_ids, 1, (aclprofAicoreMetrics)77, NULL, 1));
}
ROW(destroy_null, 100000, EK0006) {
  return aclprofDestroyConfig(NULL);
}
ROW(destroy_works, 0) {
  return aclprofDestroyConfig(config(1, 1));
}
ROW(destroy_twice, 100000) {
  aclprofConfig* one = config(1, 1);
  MUST(aclprofDestroyConfig(one));
  return aclprofDestroyConfig(one);
}
ROW(destroy_foreign, 100000) {
  return aclprofDestroyConfig((const aclprofConfig*)(const void*)g_ids);
}
ROW(destroy_while_running, 0) {
  aclprofConfig* one = config(0, ACL_PROF_MSPROFTX);
  MUST(init());
  MUST(aclprofStart(one));
  return aclprofDestroyConfig(one);
}

static int64_t start(uint64_t types, int metrics) {
  uint32_t device = 0;
  MUST(init());
  return aclprofStart(aclprofCreateConfig(&device, 1, (aclprofAicoreMetrics)metrics, NULL, types));
}
ROW(start_without_configuration_and_device, 100000) {
  MUST(init());
  return aclprofStart(NULL);
}
ROW(start_without_configuration, 0) {
  MUST(aclrtSetDevice(0));
  MUST(init());
  return aclprofStart(NULL);
}
ROW(start_unknown_bit, 200007) {
  return start(0x10000 | ACL_PROF_ACL_API, ACL_AICORE_NONE);
}
ROW(start_unknown_metrics, 100000) {
  return start(ACL_PROF_AICORE_METRICS, 77);
}
ROW(start_metrics_not_on_this_chip, 100000) {
  return start(ACL_PROF_AICORE_METRICS, ACL_AICORE_PIPE_EXECUTE_UTILIZATION);
}
ROW(start_metrics_none, 0) {
  return start(ACL_PROF_AICORE_METRICS, ACL_AICORE_NONE);
}
ROW(start_unknown_metrics_without_their_bit, 0) {
  return start(ACL_PROF_ACL_API, 77);
}
ROW(start_works, 0) {
  return start(ACL_PROF_ACL_API | ACL_PROF_TASK_TIME, ACL_AICORE_NONE);
}
ROW(start_before_the_device_opens, 0) {
  return start(ACL_PROF_TASK_TIME, ACL_AICORE_NONE);
}
ROW(start_initialises, 0) {
  MUST(set_config(ACL_PROF_PATH, scratch()));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(start_destroyed_configuration, 100000) {
  aclprofConfig* one = config(0, ACL_PROF_MSPROFTX);
  MUST(aclprofDestroyConfig(one));
  return aclprofStart(one);
}
ROW(start_twice_the_same, 0) {
  start_marks();
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(start_twice_with_other_types, 100010) {
  start_marks();
  return aclprofStart(config(1, ACL_PROF_ACL_API));
}
ROW(start_where_a_file_is, 100003) {
  char path[128];
  snprintf(path, sizeof path, "%s/file", scratch());
  FILE* file = fopen(path, "w");
  must(file == NULL || fclose(file) != 0, "a file");
  MUST(aclprofInit(path, strlen(path)));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(start_where_nothing_can_be_made, 100003) {
  MUST(aclprofInit("/proc/nothing", 13));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(start_refused_by_every_device, 500005) {
  MUST(aclrtSetDevice(0)); /* with NPUSIM_FAULT=refuse_start, see CMakeLists.txt */
  return start(ACL_PROF_TASK_TIME, ACL_AICORE_NONE);
}

ROW(stop_without_init, 0) {
  return aclprofStop(NULL);
}
ROW(stop_what_does_not_run, 0) {
  MUST(init());
  return aclprofStop(config(0, ACL_PROF_MSPROFTX));
}
ROW(stop_works, 0) {
  start_marks();
  return aclprofStop(config(0, ACL_PROF_MSPROFTX));
}
ROW(stop_null, 0) {
  start_marks();
  return aclprofStop(NULL);
}
ROW(stop_unknown_bit, 200007) {
  start_marks();
  return aclprofStop(config(0, ACL_PROF_MSPROFTX | 0x10000));
}
ROW(stop_other_types, 100010) {
  start_marks();
  return aclprofStop(config(1, ACL_PROF_ACL_API));
}
ROW(stop_other_object_with_the_same_bits, 0) {
  aclprofConfig* one = config(0, ACL_PROF_MSPROFTX);
  MUST(init());
  MUST(aclprofStart(one));
  MUST(aclprofDestroyConfig(one));
  return aclprofStop(config(0, ACL_PROF_MSPROFTX));
}

/* A configuration owns profiling: with PROFILER_SAMPLECONFIG, see CMakeLists.txt. */
ROW(command_init, 100042) {
  return init();
}
ROW(command_start, 100042) {
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(command_stop, 100042) {
  return aclprofStop(NULL);
}
ROW(command_finalize, 100042) {
  return aclprofFinalize();
}
ROW(command_set, 0) {
  return set_config(ACL_PROF_SYS_IO_FREQ, "15");
}

static int64_t features(int (*get)(size_t*, void**), size_t* size, void** data) {
  return get(size, data);
}
ROW(features_size_null, 100000, EK0006) {
  void* data = NULL;
  return features(aclprofGetSupportedFeatures, NULL, &data);
}
ROW(features_data_null, 100000, EK0006) {
  size_t size = 0;
  return features(aclprofGetSupportedFeatures, &size, NULL);
}
ROW(features_data_not_empty, 100000) {
  size_t size = 0;
  void* data = &size;
  return features(aclprofGetSupportedFeaturesV2, &size, &data);
}
/* Name, version and compatibility as programs read them; 1 if all are as published. */
static int64_t has(int (*get)(size_t*, void**), const char* name, const char* version) {
  size_t size = 0;
  void* data = NULL;
  MUST(get(&size, &data));
  for (size_t i = 0; i < size; ++i) {
    const struct aclprofFeature* one = (const struct aclprofFeature*)data + i;
    if (strcmp(one->featureName, name) == 0)
      return strcmp(one->featureVersion, version) == 0 && strcmp(one->compatibility, "1") == 0 &&
             strcmp(one->affectedComponent, "all") == 0 &&
             strcmp(one->affectedComponentVersion, "all") == 0 &&
             strlen(one->infoLog) < sizeof one->infoLog && one->table != NULL && one->infoTable != NULL;
  }
  return 0;
}
ROW(features_attr, 1) {
  return has(aclprofGetSupportedFeatures, "ATTR", "2");
}
ROW(features_shape, 1) {
  return has(aclprofGetSupportedFeatures, "AICORE_SHAPE", "1");
}
ROW(features_no_memory_access_in_the_first, 0) {
  return has(aclprofGetSupportedFeatures, "MemoryAccess", "1");
}
ROW(features_memory_access_in_the_second, 1) {
  return has(aclprofGetSupportedFeaturesV2, "MemoryAccess", "1");
}
ROW(device_callback, 0) {
  return aclprofRegisterDeviceCallback();
}

static int64_t status(size_t size) {
  npuprofStatus told;
  told.size = size;
  return npuprofGetStatus(&told);
}
ROW(status_null, 100000, EK0006) {
  return npuprofGetStatus(NULL);
}
ROW(status_of_an_unknown_size, 100000) {
  return status(8);
}
ROW(status_works, 0) {
  return status(sizeof(npuprofStatus));
}

ROW(warmup_null, 100000, EK0006) {
  MUST(init());
  return aclprofWarmup(NULL);
}
ROW(warmup_without_init, 100043) {
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(warmup_unknown_bit, 200007) {
  MUST(init());
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX | 0x10000));
}
ROW(warmup_works, 0) {
  MUST(init());
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(warmup_twice, 148047) {
  MUST(init());
  MUST(aclprofWarmup(config(0, ACL_PROF_MSPROFTX)));
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(warmup_while_running, 148047) {
  start_marks();
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(warmup_then_start, 0) {
  MUST(init());
  MUST(aclprofWarmup(config(0, ACL_PROF_MSPROFTX)));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(warmup_then_stop_then_start, 0) {
  MUST(init());
  MUST(aclprofWarmup(config(0, ACL_PROF_MSPROFTX)));
  MUST(aclprofStop(NULL));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(command_warmup, 100042) {
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}

/* The process waits for whoever attaches. */
ROW(dynamic_init, 200006) {
  return init();
}
ROW(dynamic_start, 200006) {
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(dynamic_start_after_acl_init, 100042) {
  MUST(aclInit(NULL));
  return aclprofStart(config(0, ACL_PROF_MSPROFTX));
}
ROW(dynamic_warmup, 100043) {
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(dynamic_warmup_after_acl_init, 100042) {
  MUST(aclInit(NULL));
  return aclprofWarmup(config(0, ACL_PROF_MSPROFTX));
}
ROW(dynamic_finalize, 0) {
  return aclprofFinalize();
}
ROW(dynamic_finalize_after_acl_init, 100042) {
  MUST(aclInit(NULL));
  return aclprofFinalize();
}
ROW(dynamic_set, 0) {
  return aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, "15", 2);
}
ROW(dynamic_stop, 0) {
  return aclprofStop(NULL);
}

/* Windows of disjoint devices. */
static aclprofConfig* of_device(uint32_t device) {
  aclprofConfig* made =
      aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME | ACL_PROF_MSPROFTX);
  must(made == NULL, "aclprofCreateConfig");
  return made;
}
static void start_two(void) {
  MUST(init());
  MUST(aclprofStart(of_device(0)));
  MUST(aclprofStart(of_device(1)));
}
ROW(windows_start_of_another_device, 0) {
  MUST(init());
  MUST(aclprofStart(of_device(0)));
  return aclprofStart(of_device(1));
}
ROW(windows_start_of_a_device_more_than_two_have, 100042) {
  static const uint32_t all[] = {0, 1, 2};
  start_two();
  return aclprofStart(aclprofCreateConfig((uint32_t*)(uintptr_t)all, 3, ACL_AICORE_NONE, NULL,
                                          ACL_PROF_TASK_TIME | ACL_PROF_MSPROFTX));
}
ROW(windows_start_with_other_types, 100010) {
  start_two();
  return aclprofStart(config(2, ACL_PROF_ACL_API));
}
ROW(windows_stop_of_one, 0) {
  start_two();
  return aclprofStop(of_device(1));
}
ROW(windows_stop_of_a_device_of_none, 100010) {
  start_two();
  return aclprofStop(of_device(2));
}
ROW(windows_warmup_of_another_device, 148047) {
  MUST(init());
  MUST(aclprofStart(of_device(0)));
  return aclprofWarmup(of_device(1));
}
