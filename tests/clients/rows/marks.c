/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, stamps, ranges with tensors. */
#include <stdbool.h>

#include "mstx/ms_tools_ext.h"
#include "profiling/prof_api.h"
#include "rows.h"

static aclrtStream g_stream;

static aclrtStream stream(void) {
  if (g_stream == NULL) {
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&g_stream));
  }
  return g_stream;
}

static int64_t step(aclprofStepInfo* one, int tag, aclrtStream on) {
  return aclprofGetStepTimestamp(one, (aclprofStepTag)tag, on);
}
ROW(step_is_made_without_init, 1) {
  return NULL_OR_NOT(aclprofCreateStepInfo());
}
ROW(step_number_is_at_offset_8, 2) {
  aclprofCreateStepInfo();
  uint64_t number;
  memcpy(&number, (const char*)aclprofCreateStepInfo() + 8, sizeof number);
  return (int64_t)number;
}
ROW(step_null, 100000, EK0006) {
  return step(NULL, ACL_STEP_START, NULL);
}
ROW(step_start, 0) {
  return step(aclprofCreateStepInfo(), ACL_STEP_START, stream());
}
ROW(step_end_without_start, 0) {
  return step(aclprofCreateStepInfo(), ACL_STEP_END, stream());
}
ROW(step_start_twice, 100000) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, ACL_STEP_START, stream()));
  return step(one, ACL_STEP_START, stream());
}
ROW(step_end_twice, 100000) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, ACL_STEP_END, stream()));
  return step(one, ACL_STEP_END, stream());
}
ROW(step_start_of_one_that_was_written_over, 100000) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  memset(one, 0x82, 2);
  return step(one, ACL_STEP_START, stream());
}
ROW(step_tags_of_the_device, 0) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, 60000, stream()));
  return step(one, 60001, stream());
}
ROW(step_60000_twice, 0) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, 60000, stream()));
  return step(one, 60000, stream());
}
ROW(step_start_then_60000, 0) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, ACL_STEP_START, stream()));
  return step(one, 60000, stream());
}
ROW(step_60000_then_start, 0) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, 60000, stream()));
  return step(one, ACL_STEP_START, stream());
}
ROW(step_60001_then_end, 100000) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  MUST(step(one, 60001, stream()));
  return step(one, ACL_STEP_END, stream());
}
ROW(step_tag_of_17_bits, 100000) {
  return step(aclprofCreateStepInfo(), 65536, stream());
}
ROW(step_any_other_tag, 0) {
  return step(aclprofCreateStepInfo(), 7, stream());
}
ROW(step_stream_that_is_none, 500002) {
  int nothing = 0;
  MUST(aclrtSetDevice(0));
  return step(aclprofCreateStepInfo(), ACL_STEP_START, &nothing);
}
ROW(step_may_be_tried_again, 0) {
  int nothing = 0;
  aclprofStepInfo* one = aclprofCreateStepInfo();
  aclrtStream good = stream();
  must(step(one, ACL_STEP_START, &nothing) != 500002, "a stream that is none");
  npuprofTakeError();
  return step(one, ACL_STEP_START, good);
}
ROW(step_destroyed, 100000) {
  aclprofStepInfo* one = aclprofCreateStepInfo();
  aclprofDestroyStepInfo(one);
  return step(one, ACL_STEP_START, stream());
}

static void* stamp(void) {
  void* one = aclprofCreateStamp();
  must(one == NULL, "aclprofCreateStamp");
  return one;
}
static int64_t message(void* one, const char* text, uint32_t length) {
  return aclprofSetStampTraceMessage(one, text, length);
}
ROW(stamp_before_a_session, 0, EK0002) {
  return NULL_OR_NOT(aclprofCreateStamp());
}
ROW(stamp_in_a_session_without_marks, 0, EK0002) {
  MUST(init());
  MUST(aclprofStart(config(1, ACL_PROF_ACL_API)));
  return NULL_OR_NOT(aclprofCreateStamp());
}
ROW(stamp_in_a_session, 1) {
  start_marks();
  return NULL_OR_NOT(aclprofCreateStamp());
}
ROW(stamp_after_stop, 1) {
  start_marks();
  MUST(aclprofStop(NULL));
  return NULL_OR_NOT(aclprofCreateStamp());
}
ROW(stamp_after_finalize, 0, EK0002) {
  start_marks();
  MUST(aclprofFinalize());
  return NULL_OR_NOT(aclprofCreateStamp());
}
ROW(stamp_101, 1) {
  start_marks();
  for (int i = 0; i < 100; ++i) stamp();
  return NULL_OR_NOT(aclprofCreateStamp());
}
ROW(message_stamp_null, -1, EK0006) {
  return message(NULL, "x", 1);
}
ROW(message_null, -1, EK0006) {
  start_marks();
  return message(stamp(), NULL, 1);
}
ROW(message_works, 0) {
  start_marks();
  return message(stamp(), "x", 1);
}
static const char g_long[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
    "0123456789012345678901234567890123456789012345678901234567";
ROW(message_126, 0) {
  start_marks();
  return message(stamp(), g_long, 126);
}
ROW(message_127, 0) {
  start_marks();
  return message(stamp(), g_long, 127);
}
ROW(message_128, -1, EK0001) {
  start_marks();
  return message(stamp(), g_long, 128);
}
ROW(mark_null, -1, EK0006) {
  return aclprofMark(NULL);
}
ROW(mark_works, 0) {
  start_marks();
  return aclprofMark(stamp());
}
ROW(mark_destroyed, -1, EK0001) {
  start_marks();
  void* one = stamp();
  aclprofDestroyStamp(one);
  return aclprofMark(one);
}
static int64_t mark_ex(const char* text, size_t length) {
  aclrtStream on = stream();
  start_marks();
  return aclprofMarkEx(text, length, on);
}
ROW(mark_ex_works, 0) {
  return mark_ex("x", 1);
}
ROW(mark_ex_message_null, -1, EK0006) {
  return mark_ex(NULL, 1);
}
ROW(mark_ex_stream_null, -1, EK0006) {
  start_marks();
  return aclprofMarkEx("x", 1, NULL);
}
ROW(mark_ex_empty, -1, EK0001) {
  return mark_ex("", 0);
}
ROW(mark_ex_length_is_not_strlen, -1, EK0001) {
  return mark_ex("xy", 1);
}
ROW(mark_ex_155, 0) {
  return mark_ex(g_long + 3, 155);
}
ROW(mark_ex_156, -1, EK0001) {
  return mark_ex(g_long + 2, 156);
}
ROW(mark_ex_without_a_session, -1, EK0002) {
  return aclprofMarkEx("x", 1, stream());
}
ROW(push_null, 100000, EK0006) {
  return aclprofPush(NULL);
}
ROW(push_works, 0) {
  start_marks();
  return aclprofPush(stamp());
}
ROW(pop_empty, -1, EK0002) {
  return aclprofPop();
}
ROW(pop_works, 0) {
  start_marks();
  MUST(aclprofPush(stamp()));
  return aclprofPop();
}
ROW(range_start_stamp_null, 100000, EK0006) {
  uint32_t id;
  return aclprofRangeStart(NULL, &id);
}
ROW(range_start_id_null, 100000, EK0006) {
  start_marks();
  return aclprofRangeStart(stamp(), NULL);
}
ROW(range_stop_unknown, -1, EK0001) {
  start_marks();
  return aclprofRangeStop(100);
}
ROW(range_stop_works, 0) {
  uint32_t id = 0;
  start_marks();
  MUST(aclprofRangeStart(stamp(), &id));
  return aclprofRangeStop(id);
}
ROW(range_stop_twice, -1, EK0001) {
  uint32_t id = 0;
  start_marks();
  MUST(aclprofRangeStart(stamp(), &id));
  MUST(aclprofRangeStop(id));
  return aclprofRangeStop(id);
}
ROW(category_name_without_a_session, -1, EK0002) {
  return aclprofSetCategoryName(1, "io");
}
ROW(category_name_works, 0) {
  start_marks();
  return aclprofSetCategoryName(1, "io");
}
ROW(category_stamp_null, -1, EK0006) {
  return aclprofSetStampCategory(NULL, 1);
}
ROW(category_works, 0) {
  start_marks();
  return aclprofSetStampCategory(stamp(), 1);
}
ROW(payload_stamp_null, -1, EK0006) {
  int value = 1;
  return aclprofSetStampPayload(NULL, 0, &value);
}
ROW(payload_value_null, -1, EK0006) {
  start_marks();
  return aclprofSetStampPayload(stamp(), 0, NULL);
}
ROW(payload_works, 0) {
  int value = 1;
  start_marks();
  return aclprofSetStampPayload(stamp(), 0, &value);
}
ROW(tag_name_works, 0) {
  start_marks();
  return aclprofSetStampTagName(stamp(), "tag", 3);
}
ROW(tag_name_null, -1, EK0006) {
  start_marks();
  return aclprofSetStampTagName(stamp(), NULL, 3);
}
ROW(call_stack_works, 0) {
  start_marks();
  return aclprofSetStampCallStack(stamp(), "f;g", 3);
}
ROW(call_stack_stamp_null, -1, EK0006) {
  return aclprofSetStampCallStack(NULL, "f;g", 3);
}
ROW(report_stamp_is_not_taken, 200006) {
  unsigned char data[4] = {0};
  return aclprofReportStamp("tag", 3, data, sizeof data);
}
ROW(switch_off_keeps_stamps, 0) {
  start_marks();
  aclprofMsproftxSwitch(false);
  return aclprofMark(stamp());
}

ROW(str2id_empty, -1, EK0001) {
  return (int64_t)aclprofStr2Id("");
}
ROW(str2id_null, -1, EK0006) {
  return (int64_t)aclprofStr2Id(NULL);
}
ROW(str2id_a, ((int64_t)97 << 32) | 97) {
  return (int64_t)aclprofStr2Id("a");
}

static int64_t push_ex(uint32_t type, uint32_t count, uint32_t dimensions) {
  aclprofTensor tensor = {0, 2, 1, dimensions, {1, 2, 3, 4, 5, 6, 7, 8}};
  aclprofTensorInfo info = {aclprofStr2Id("name"), aclprofStr2Id("Type"), 0, count, 0, 1, NULL, &tensor};
  aclprofEventAttributes attributes = {ACL_PROF_EVENT_ATTR_VERSION, sizeof attributes, type, {&info}};
  return aclprofRangePushEx(&attributes);
}
ROW(push_ex_null, 100000, EK0006) {
  return aclprofRangePushEx(NULL);
}
ROW(push_ex_works, 0) {
  return push_ex(ACL_PROF_MESSAGE_TENSOR_INFO, 1, 8);
}
ROW(push_ex_other_message, -1, EK0001) {
  return push_ex(1, 1, 1);
}
ROW(push_ex_nine_dimensions, 100000) {
  start_marks();
  return push_ex(ACL_PROF_MESSAGE_TENSOR_INFO, 1, 9);
}
ROW(push_ex_too_many_tensors, 100000) {
  start_marks();
  return push_ex(ACL_PROF_MESSAGE_TENSOR_INFO, 4097, 1);
}
ROW(pop_ex_without_push, 100000) {
  return aclprofRangePop();
}
ROW(pop_ex_works, 0) {
  MUST(push_ex(ACL_PROF_MESSAGE_TENSOR_INFO, 1, 2));
  return aclprofRangePop();
}
ROW(pop_ex_twice, 100000) {
  MUST(push_ex(ACL_PROF_MESSAGE_TENSOR_INFO, 1, 2));
  MUST(aclprofRangePop());
  return aclprofRangePop();
}

ROW(mstx_range_without_a_session, 0) {
  return (int64_t)mstxRangeStartA("x", NULL);
}
ROW(mstx_range_in_a_session, 1) {
  start_marks();
  return mstxRangeStartA("x", NULL) != MSTX_INVALID_RANGE_ID;
}
static int64_t refused_message(const char* text) {
  start_marks();
  return (int64_t)mstxRangeStartA(text, NULL);
}
ROW(mstx_message_null, 0) {
  return refused_message(NULL);
}
ROW(mstx_message_empty, 0) {
  return refused_message("");
}
ROW(mstx_message_equals, 0) {
  return refused_message("=1");
}
ROW(mstx_message_plus, 0) {
  return refused_message("+1");
}
ROW(mstx_message_minus, 0) {
  return refused_message("-1");
}
ROW(mstx_message_at, 0) {
  return refused_message("@a");
}
ROW(mstx_range_after_stop, 0) {
  start_marks();
  MUST(aclprofStop(NULL));
  return (int64_t)mstxRangeStartA("x", NULL);
}
ROW(mstx_domain_null, 0) {
  return NULL_OR_NOT(mstxDomainCreateA(NULL));
}
ROW(mstx_domain_default, 0) {
  return NULL_OR_NOT(mstxDomainCreateA("default"));
}
ROW(mstx_domain_formula, 0) {
  return NULL_OR_NOT(mstxDomainCreateA("=x"));
}
static int64_t domain_of(size_t length) {
  char name[1025];
  memset(name, 'a', length);
  name[length] = '\0';
  return NULL_OR_NOT(mstxDomainCreateA(name));
}
ROW(mstx_domain_1023, 1) {
  return domain_of(1023);
}
ROW(mstx_domain_1024, 0) {
  return domain_of(1024);
}
ROW(mstx_domain_before_a_session, 1) {
  return NULL_OR_NOT(mstxDomainCreateA("mine"));
}
ROW(mstx_domain_twice_is_the_same, 1) {
  return mstxDomainCreateA("mine") == mstxDomainCreateA("mine");
}
ROW(mstx_range_in_a_destroyed_domain, 0) {
  mstxDomainHandle_t mine = mstxDomainCreateA("mine");
  start_marks();
  mstxDomainDestroy(mine);
  return (int64_t)mstxDomainRangeStartA(mine, "x", NULL);
}
ROW(mstx_tool_id, 0x1000) {
  uint64_t id = 0;
  mstxGetToolId(&id);
  return (int64_t)id;
}
ROW(mstx_heap, 0) {
  mstxMemHeapDesc_t desc = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, NULL};
  return NULL_OR_NOT(mstxMemHeapRegister(NULL, &desc));
}
ROW(mstx_injection_null, 1) {
  return InitInjectionMstx(NULL);
}
static int no_tables(MstxFuncModule module, MstxFuncTable* table, unsigned int* size) {
  (void)module, (void)table, (void)size;
  return 1;
}
ROW(mstx_injection_without_tables, 1) {
  return InitInjectionMstx(no_tables);
}
static MstxFuncPointer g_functions[4];
static int core_table(MstxFuncModule module, MstxFuncTable* table, unsigned int* size) {
  static MstxFuncPointer* entries[] = {NULL, &g_functions[0], &g_functions[1], &g_functions[2],
                                       &g_functions[3]};
  if (module != MSTX_API_MODULE_CORE) return 1;
  *table = entries;
  *size = 5;
  return 0;
}
ROW(mstx_injection_fills_the_table, 4) {
  must(InitInjectionMstx(core_table), "InitInjectionMstx");
  int64_t filled = 0;
  for (int i = 0; i < 4; ++i) filled += g_functions[i] != NULL;
  return filled;
}

static int64_t report_event(uint16_t magic) {
  struct MsprofEvent event = {
      magic, MSPROF_REPORT_ACL_LEVEL, MSPROF_REPORT_ACL_OTHERS_BASE_TYPE, 1, 1, 1, MSPROF_EVENT_FLAG, 1};
  return MsprofReportEvent(1, &event);
}
ROW(report_event_while_nobody_collects, 0) {
  return MsprofReportEvent(1, NULL);
}
ROW(report_event_works, 0) {
  start_marks();
  return report_event(MSPROF_DATA_HEAD_MAGIC_NUM);
}
ROW(report_event_null, MSPROF_ERROR_CONFIG_INVALID) {
  start_marks();
  return MsprofReportEvent(1, NULL);
}
ROW(report_event_of_another_magic, MSPROF_ERROR_CONFIG_INVALID) {
  start_marks();
  return report_event(1);
}

/* Outside of a session, with handles that are not NULL. */
static int g_handle;
ROW(message_without_a_session, -1, EK0002) {
  return message(&g_handle, "x", 1);
}
ROW(mark_without_a_session, -1, EK0002) {
  return aclprofMark(&g_handle);
}
ROW(push_without_a_session, -1, EK0002) {
  return aclprofPush(&g_handle);
}
ROW(pop_without_a_session, -1, EK0002) {
  return aclprofPop();
}
ROW(range_start_without_a_session, -1, EK0002) {
  uint32_t id;
  return aclprofRangeStart(&g_handle, &id);
}
ROW(range_stop_without_a_session, -1, EK0002) {
  return aclprofRangeStop(1);
}
ROW(category_without_a_session, -1, EK0002) {
  return aclprofSetStampCategory(&g_handle, 1);
}
ROW(payload_without_a_session, -1, EK0002) {
  return aclprofSetStampPayload(&g_handle, 0, &g_handle);
}
ROW(push_of_what_is_no_stamp, -1, EK0001) {
  start_marks();
  return aclprofPush(&g_handle);
}
ROW(range_start_of_what_is_no_stamp, -1, EK0001) {
  uint32_t id;
  start_marks();
  return aclprofRangeStart(&g_handle, &id);
}
