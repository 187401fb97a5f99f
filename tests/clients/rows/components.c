/* SPDX-License-Identifier: Apache-2.0 */
/* The side of components: MsprofInit and its kin, sessions of components, callbacks, devices, and the forms of reporting. */
#include <limits.h>
#include <stdio.h>

#include "profiling/prof_api.h"
#include "rows.h"

#define INVALID MSPROF_ERROR_CONFIG_INVALID

/* JSON with the place where sessions go; the second may be "". */
static const char* json(const char* before, const char* behind) {
  static char text[512];
  snprintf(text, sizeof text, "{%s\"output\":\"%s\"%s}", before, scratch(), behind);
  return text;
}
static int32_t init_json(const char* text) {
  return MsprofInit(MSPROF_CTRL_INIT_ACL_JSON, (void*)(uintptr_t)text, (uint32_t)strlen(text));
}
static int32_t init_ge(const char* text) {
  static struct MsprofGeOptions options;
  snprintf(options.options, sizeof options.options, "%s", text);
  return MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, &options, sizeof options);
}
static int32_t init_sample(uint32_t type, const char* text) {
  static struct MsprofCommandHandleParams params;
  snprintf(params.path, sizeof params.path, "%s", scratch());
  snprintf(params.profData, sizeof params.profData, "%s", text);
  return MsprofInit(type, &params, sizeof params);
}

ROW(component_init_environment, 0) {
  return MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, NULL, 0);
}
ROW(component_init_dynamic, 0) {
  return MsprofInit(MSPROF_CTRL_INIT_DYNA, NULL, 0);
}
ROW(component_init_unknown_type, INVALID, EK0001) {
  return MsprofInit(7, NULL, 0);
}
ROW(component_init_finalize, 0) {
  MUST(init_json(json("\"switch\":\"on\",", "")));
  return MsprofInit(MSPROF_CTRL_FINALIZE, NULL, 0);
}
ROW(component_json_on, 0) {
  return init_json(json("\"switch\":\"on\",", ""));
}
ROW(component_json_of_the_whole_file, 0) {
  char text[600];
  snprintf(text, sizeof text, "{\"profiler\":%s}", json("\"switch\":\"on\",", ""));
  return init_json(text);
}
ROW(component_json_off, MSPROF_ERROR_ACL_JSON_OFF) {
  return init_json(json("\"switch\":\"off\",", ""));
}
ROW(component_json_without_a_switch, MSPROF_ERROR_ACL_JSON_OFF) {
  return init_json(json("", ""));
}
ROW(component_json_of_another_switch, MSPROF_ERROR_ACL_JSON_OFF) {
  return init_json(json("\"switch\":\"maybe\",", ""));
}
ROW(component_json_null, INVALID, EK0001) {
  return MsprofInit(MSPROF_CTRL_INIT_ACL_JSON, NULL, 5);
}
ROW(component_json_that_is_none, INVALID, EK0003) {
  return init_json("{\"switch\":");
}
ROW(component_json_unknown_key, INVALID, EK0003) {
  return init_json(json("\"switch\":\"on\",", ",\"no_such_key\":1"));
}
ROW(component_json_value_that_is_not_allowed, INVALID, EK0003) {
  return init_json(json("\"switch\":\"on\",", ",\"host_sys\":\"gpu\""));
}
ROW(component_json_while_the_program_profiles, MSPROF_ERROR, EK0007) {
  MUST(init());
  return init_json(json("\"switch\":\"on\",", ""));
}
ROW(component_json_where_nothing_can_be_made, MSPROF_ERROR, EK0001) {
  return init_json("{\"switch\":\"on\",\"output\":\"/proc/nowhere\"}");
}
ROW(component_ge_options, 0) {
  return init_ge(json("", ""));
}
ROW(component_ge_options_null, INVALID, EK0001) {
  return MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, NULL, sizeof(struct MsprofGeOptions));
}
ROW(component_ge_options_of_a_wrong_size, INVALID, EK0001) {
  static struct MsprofGeOptions options;
  return MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, &options, sizeof options - 1);
}
ROW(component_ge_options_unknown_key, INVALID, EK0003) {
  return init_ge(json("", ",\"no_such_key\":1"));
}
ROW(component_ge_options_while_the_program_profiles, MSPROF_ERROR, EK0007) {
  MUST(init());
  return init_ge(json("", ""));
}
ROW(component_host_alone, 0) {
  return init_sample(MSPROF_CTRL_INIT_PURE_CPU, "{\"msproftx\":\"on\"}");
}
ROW(component_host_alone_null, INVALID, EK0001) {
  return MsprofInit(MSPROF_CTRL_INIT_PURE_CPU, NULL, 0);
}
ROW(component_host_alone_that_is_no_json, INVALID, EK0003) {
  return init_sample(MSPROF_CTRL_INIT_PURE_CPU, "msproftx");
}
ROW(component_helper, 0) {
  return init_sample(MSPROF_CTRL_INIT_HELPER, "{\"msproftx\":\"on\"}");
}
ROW(component_helper_null, INVALID, EK0001) {
  return MsprofInit(MSPROF_CTRL_INIT_HELPER, NULL, 0);
}
ROW(component_ai_cpu_starts_nothing, 0) {
  return MsprofInit(MSPROF_CTRL_INIT_AICPU, NULL, 0);
}
ROW(component_finalize, 0) {
  return MsprofFinalize();
}
ROW(component_finalize_twice, 0) {
  MUST(MsprofFinalize());
  return MsprofFinalize();
}
ROW(command_component_init, 0) {
  return MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, NULL, 0);
}

/* A session of a component, with marks alone. */
static struct MsprofConfig g_wish = {.profSwitch = PROF_MSPROFTX};
static int32_t start(uint32_t type) {
  if (*g_wish.dumpPath == '\0') strcpy(g_wish.dumpPath, scratch());
  return MsprofStart(type, &g_wish, sizeof g_wish);
}
ROW(component_start_works, 0) {
  return start(0);
}
ROW(component_start_null, INVALID, EK0001) {
  return MsprofStart(0, NULL, sizeof g_wish);
}
ROW(component_start_of_a_wrong_size, INVALID, EK0001) {
  return MsprofStart(0, &g_wish, 8);
}
ROW(component_start_of_a_subscription, INVALID, EK0001) {
  return start(MSPROF_MODE_SUBSCRIBE);
}
ROW(component_start_of_66_devices, INVALID, EK0001) {
  g_wish.devNums = 66;
  return start(0);
}
ROW(component_start_of_device_65, INVALID, EK0001) {
  g_wish.devNums = 1;
  g_wish.devIdList[0] = 65;
  return start(0);
}
ROW(component_start_of_an_unknown_bit, INVALID, EK0005) {
  g_wish.profSwitch |= 0x400;
  return start(0);
}
ROW(component_start_with_199_megabytes, INVALID, EK0003) {
  g_wish.storageLimit = 199;
  return start(0);
}
ROW(component_start_with_text_that_is_no_json, INVALID, EK0003) {
  strcpy(g_wish.sampleConfig, "{");
  return start(0);
}
ROW(component_start_where_nothing_can_be_made, MSPROF_ERROR, EK0001) {
  strcpy(g_wish.dumpPath, "/proc/nowhere");
  return start(0);
}
ROW(component_start_twice, MSPROF_ERROR, EK0007) {
  MUST(start(0));
  return start(0);
}
ROW(component_start_while_the_program_profiles, MSPROF_ERROR, EK0007) {
  MUST(init());
  return start(0);
}
ROW(command_component_start, MSPROF_ERROR, EK0007) {
  return start(0);
}
ROW(component_stop_works, 0) {
  MUST(start(2));
  return MsprofStop(2, &g_wish, sizeof g_wish);
}
ROW(component_stop_what_does_not_run, 0) {
  return MsprofStop(0, &g_wish, sizeof g_wish);
}
ROW(component_stop_of_another_type, MSPROF_ERROR, EK0007) {
  MUST(start(3));
  return MsprofStop(0, &g_wish, sizeof g_wish);
}
ROW(component_stop_while_the_program_profiles, MSPROF_ERROR, EK0007) {
  start_marks();
  return MsprofStop(0, &g_wish, sizeof g_wish);
}
ROW(component_set_config_is_obsolete, 0) {
  return MsprofSetConfig(1, "x", 1);
}

static int32_t callback(uint32_t type, void* data, uint32_t length) {
  (void)type, (void)data, (void)length;
  return 0;
}
ROW(component_callback, 0) {
  return MsprofRegisterCallback(7, callback);
}
ROW(component_callback_twice, 0) {
  MUST(MsprofRegisterCallback(7, callback));
  return MsprofRegisterCallback(7, callback);
}
ROW(component_callback_null, INVALID, EK0006) {
  return MsprofRegisterCallback(7, NULL);
}
/* Pointers to functions are none to data in C; the interface has them all the same. */
static void* callback_as_data(void) {
  union {
    ProfCommandHandle function;
    void* data;
  } pointer = {callback};
  return pointer.data;
}
static int32_t old_callback(int32_t type, uint32_t length) {
  return MsprofRegisterProfileCallback(type, callback_as_data(), length);
}
ROW(component_old_callback, 0) {
  return old_callback(0, sizeof(void*));
}
ROW(component_old_callback_of_type_16, 0) {
  return old_callback(16, sizeof(void*));
}
ROW(component_old_callback_of_type_17, INVALID, EK0001) {
  return old_callback(17, sizeof(void*));
}
ROW(component_old_callback_of_type_minus_1, INVALID, EK0001) {
  return old_callback(-1, sizeof(void*));
}
ROW(component_old_callback_of_4_bytes, INVALID, EK0001) {
  return old_callback(0, 4);
}
ROW(component_old_callback_null, INVALID, EK0001) {
  return MsprofRegisterProfileCallback(0, NULL, sizeof(void*));
}

ROW(component_device_63, 0) {
  return MsprofNotifySetDevice(0, 63, false);
}
ROW(component_device_64, INVALID, EK0001) {
  return MsprofNotifySetDevice(0, 64, true);
}
ROW(component_model_of_device_63, 0) {
  return MsprofSetDeviceIdByGeModelIdx(1, 63);
}
ROW(component_model_of_device_64, INVALID, EK0001) {
  return MsprofSetDeviceIdByGeModelIdx(1, 64);
}
ROW(component_model_unset_of_device_64, INVALID, EK0001) {
  return MsprofUnsetDeviceIdByGeModelIdx(1, 64);
}

/* One record of each form, right but for what a row changes. */
static struct MsprofApi g_api = {.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM,
                                 .level = MSPROF_REPORT_ACL_LEVEL,
                                 .type = MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE,
                                 .beginTime = 1,
                                 .endTime = 2};
static struct MsprofCompactInfo g_compact = {.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM,
                                             .level = MSPROF_REPORT_NODE_LEVEL,
                                             .type = MSPROF_REPORT_NODE_BASIC_INFO_TYPE};
static struct MsprofAdditionalInfo g_more[2] = {{.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM,
                                                 .level = MSPROF_REPORT_NODE_LEVEL,
                                                 .type = MSPROF_REPORT_NODE_TENSOR_INFO_TYPE},
                                                {.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM,
                                                 .level = MSPROF_REPORT_NODE_LEVEL,
                                                 .type = MSPROF_REPORT_NODE_TENSOR_INFO_TYPE}};
ROW(report_api_works, 0) {
  start_marks();
  return MsprofReportApi(1, &g_api);
}
ROW(report_api_while_nobody_collects, 0) {
  return MsprofReportApi(1, NULL);
}
ROW(report_api_null, INVALID) {
  start_marks();
  return MsprofReportApi(1, NULL);
}
ROW(report_api_of_another_magic, INVALID) {
  start_marks();
  g_api.magicNumber = 1;
  return MsprofReportApi(1, &g_api);
}
ROW(report_compact_works, 0) {
  start_marks();
  return MsprofReportCompactInfo(1, &g_compact, sizeof g_compact);
}
ROW(report_compact_null, INVALID) {
  start_marks();
  return MsprofReportCompactInfo(1, NULL, sizeof g_compact);
}
ROW(report_compact_of_a_wrong_length, INVALID) {
  start_marks();
  return MsprofReportCompactInfo(1, &g_compact, sizeof g_compact - 1);
}
ROW(report_additional_works, 0) {
  start_marks();
  return MsprofReportAdditionalInfo(1, g_more, sizeof *g_more);
}
ROW(report_additional_null, INVALID) {
  start_marks();
  return MsprofReportAdditionalInfo(1, NULL, sizeof *g_more);
}
ROW(report_additional_of_a_wrong_length, INVALID) {
  start_marks();
  return MsprofReportAdditionalInfo(1, g_more, sizeof g_more);
}
ROW(report_batch_works, 0) {
  start_marks();
  return MsprofReportBatchAdditionalInfo(1, g_more, sizeof g_more);
}
ROW(report_batch_null, INVALID) {
  start_marks();
  return MsprofReportBatchAdditionalInfo(1, NULL, sizeof g_more);
}
ROW(report_batch_of_half_a_record, INVALID) {
  start_marks();
  return MsprofReportBatchAdditionalInfo(1, g_more, sizeof g_more - 1);
}
ROW(report_batch_of_more_than_one_may_have, INVALID) {
  start_marks();
  const size_t size = MsprofGetBatchReportMaxSize(0) + sizeof *g_more;
  return MsprofReportBatchAdditionalInfo(1, calloc(size, 1), (uint32_t)size);
}
ROW(report_batch_of_another_magic, INVALID) {
  start_marks();
  g_more[1].magicNumber = 1;
  return MsprofReportBatchAdditionalInfo(1, g_more, sizeof g_more);
}

ROW(type_name_works, 0) {
  return MsprofRegTypeInfo(MSPROF_REPORT_NODE_LEVEL, 4000, "a_type");
}
ROW(type_name_null, INVALID, EK0001) {
  return MsprofRegTypeInfo(MSPROF_REPORT_NODE_LEVEL, 4000, NULL);
}
ROW(type_name_empty, INVALID, EK0001) {
  return MsprofRegTypeInfo(MSPROF_REPORT_NODE_LEVEL, 4000, "");
}
ROW(type_name_of_two_lines, INVALID, EK0001) {
  return MsprofRegTypeInfo(MSPROF_REPORT_NODE_LEVEL, 4000, "a\nb");
}
static int32_t long_name(size_t length) {
  char text[300];
  memset(text, 'a', length);
  text[length] = '\0';
  return MsprofRegTypeInfo(MSPROF_REPORT_NODE_LEVEL, 4000, text);
}
ROW(type_name_of_255_bytes, 0) {
  return long_name(255);
}
ROW(type_name_of_256_bytes, INVALID, EK0001) {
  return long_name(256);
}
ROW(data_format_is_accepted, 0) {
  return MsprofRegDataFormat(MSPROF_REPORT_NODE_LEVEL, 4000, "u32:1");
}
ROW(data_format_null, INVALID) {
  return MsprofRegDataFormat(MSPROF_REPORT_NODE_LEVEL, 4000, NULL);
}
ROW(hash_of_the_same_text, 1) {
  return MsprofGetHashId("text", 4) == MsprofStr2Id("text", 4) && MsprofGetHashId("text", 4) != 0;
}
ROW(hash_null, 0) {
  return (int64_t)MsprofGetHashId(NULL, 4);
}
ROW(hash_of_no_bytes, 0) {
  return (int64_t)MsprofGetHashId("text", 0);
}
ROW(id_of_no_bytes, -1, NONE) {
  return (int64_t)MsprofStr2Id("text", 0);
}
ROW(id_null, -1, NONE) {
  return (int64_t)MsprofStr2Id(NULL, 4);
}
ROW(text_of_an_unknown_id, 0) {
  return NULL_OR_NOT(MsprofId2Str(12345));
}

ROW(old_report_begins, 0) {
  return MsprofReportData(1, MSPROF_REPORTER_INIT, NULL, 0);
}
ROW(old_report_ends, 0) {
  return MsprofReportData(1, MSPROF_REPORTER_UNINIT, NULL, 0);
}
ROW(old_report_of_an_unknown_type, INVALID, EK0001) {
  return MsprofReportData(1, 5, NULL, 0);
}
ROW(old_report_size, 1) {
  uint32_t size = 0;
  MUST(MsprofReportData(1, MSPROF_REPORTER_DATA_MAX_LEN, &size, sizeof size));
  return size == MsprofGetBatchReportMaxSize(0);
}
ROW(old_report_size_null, INVALID, EK0001) {
  return MsprofReportData(1, MSPROF_REPORTER_DATA_MAX_LEN, NULL, 4);
}
ROW(old_report_size_into_2_bytes, INVALID, EK0001) {
  uint32_t size = 0;
  return MsprofReportData(1, MSPROF_REPORTER_DATA_MAX_LEN, &size, 2);
}
ROW(old_report_hash, 1) {
  unsigned char text[] = "text";
  struct MsprofHashData hash = {0, 4, text, 0};
  MUST(MsprofReportData(1, MSPROF_REPORTER_HASH, &hash, sizeof hash));
  return hash.hashId == MsprofGetHashId("text", 4);
}
ROW(old_report_hash_null, INVALID, EK0001) {
  return MsprofReportData(1, MSPROF_REPORTER_HASH, NULL, sizeof(struct MsprofHashData));
}
ROW(old_report_while_nobody_collects, 0) {
  char data[64] = {0};
  return MsprofReportData(1, MSPROF_REPORTER_REPORT, data, sizeof data);
}
ROW(old_report_is_not_kept, MSPROF_ERROR) {
  char data[64] = {0};
  start_marks();
  return MsprofReportData(1, MSPROF_REPORTER_REPORT, data, sizeof data);
}

ROW(operator_while_nobody_collects, 0) {
  return MsprofCheckOpSwitch(0, "Add", 3);
}
ROW(operator_while_somebody_collects, 1) {
  start_marks();
  return MsprofCheckOpSwitch(0, "Add", 3);
}
ROW(operator_null, 0) {
  start_marks();
  return MsprofCheckOpSwitch(0, NULL, 3);
}
ROW(step_by_number_while_nobody_collects, 0) {
  return profSetStepInfo(1, 60000, NULL);
}
ROW(step_by_number_on_a_stream_that_is_none, MSPROF_ERROR, EK9999) {
  start_marks();
  return profSetStepInfo(1, 60000, &g_api);
}
ROW(command_to_components_does_nothing, 0) {
  char command[8] = {0};
  return profSetProfCommand(command, sizeof command);
}
ROW(command_to_components_null, INVALID, EK0001) {
  return profSetProfCommand(NULL, 8);
}
ROW(command_to_components_of_no_bytes, INVALID, EK0001) {
  char command[8] = {0};
  return profSetProfCommand(command, 0);
}
