/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of items that came out of a subscription's pipe. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "ge/ge_prof.h"
#include "rows.h"

enum { ITEM = 80, ITEMS = 2, BYTES = ITEM * ITEMS };

static aclmdlDataset* dataset(aclmdlDesc* desc, int input) {
  aclmdlDataset* set = aclmdlCreateDataset();
  const size_t count = input ? aclmdlGetNumInputs(desc) : aclmdlGetNumOutputs(desc);
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = input ? aclmdlGetInputSizeByIndex(desc, i) : aclmdlGetOutputSizeByIndex(desc, i);
    void* memory = NULL;
    MUST(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    MUST(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory, bytes)));
  }
  return set;
}

/* The first two of a model that is executed, which ROWS_MODEL has more of. */
static const char* items(void) {
  static char data[BYTES];
  static int ends[2];
  uint32_t model = 0;
  MUST(aclrtSetDevice(0));
  MUST(aclmdlLoadFromFile(ROWS_MODEL, &model));
  aclmdlDesc* desc = aclmdlCreateDesc();
  MUST(aclmdlGetDesc(desc, model));
  MUST(pipe(ends));
  aclprofSubscribeConfig* wish = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
  MUST(wish == NULL);
  MUST(aclprofModelSubscribe(model, wish));
  MUST(aclmdlExecute(model, dataset(desc, 1), dataset(desc, 0)));
  for (size_t had = 0; had < sizeof data;) {
    const ssize_t got = read(ends[0], data + had, sizeof data - had);
    MUST(got <= 0);
    had += (size_t)got;
  }
  return data;
}

ROW(items_count, ITEMS) {
  uint32_t count = 0;
  MUST(aclprofGetOpNum(items(), BYTES, &count));
  return count;
}
ROW(items_of_half_an_item, 100000) {
  uint32_t count;
  return aclprofGetOpNum(items(), BYTES - 1, &count);
}
ROW(items_that_were_changed, 100000) {
  char changed[BYTES];
  uint32_t count;
  memcpy(changed, items(), BYTES);
  changed[BYTES - 1] ^= 1;
  return aclprofGetOpNum(changed, BYTES, &count);
}
ROW(items_name, 0) {
  char name[257];
  return aclprofGetOpName(items(), BYTES, 1, name, sizeof name);
}
ROW(items_name_may_be_read_again, 0) {
  char name[257], again[257];
  const char* data = items();
  MUST(aclprofGetOpName(data, BYTES, 1, name, sizeof name));
  MUST(aclprofGetOpName(data, BYTES, 1, again, sizeof again));
  return strcmp(name, again);
}
ROW(items_name_of_index_2, 100000) {
  char name[257];
  return aclprofGetOpName(items(), BYTES, 2, name, sizeof name);
}
ROW(items_name_without_room, 100000) {
  char name[1];
  return aclprofGetOpName(items(), BYTES, 0, name, sizeof name);
}
ROW(items_name_into_0_bytes, 100000) {
  char name[1];
  return aclprofGetOpName(items(), BYTES, 0, name, 0);
}
ROW(items_name_into_null, 100000, EK0006) {
  return aclprofGetOpName(items(), BYTES, 0, NULL, 257);
}
ROW(items_name_length_of_index_2, 100000) {
  size_t length;
  return aclprofGetOpNameLen(items(), BYTES, 2, &length);
}
ROW(items_type, 0) {
  char type[65];
  return aclprofGetOpType(items(), BYTES, 0, type, sizeof type);
}
ROW(items_type_of_index_2, 100000) {
  char type[65];
  return aclprofGetOpType(items(), BYTES, 2, type, sizeof type);
}
ROW(items_type_without_room, 100000) {
  char type[1];
  return aclprofGetOpType(items(), BYTES, 0, type, sizeof type);
}
ROW(items_type_into_null, 100000, EK0006) {
  return aclprofGetOpType(items(), BYTES, 0, NULL, 65);
}
ROW(items_type_length_of_index_2, 100000) {
  size_t length;
  return aclprofGetOpTypeLen(items(), BYTES, 2, &length);
}
ROW(items_times_are_whole, 1) {
  const char* data = items();
  const uint64_t start = aclprofGetOpStart(data, BYTES, 0), end = aclprofGetOpEnd(data, BYTES, 0),
                 took = aclprofGetOpDuration(data, BYTES, 0);
  return start > 0 && end >= start && took + 1 >= end - start && took <= end - start + 1;
}
ROW(items_start_of_index_2, 0, EK0001) {
  return (int64_t)aclprofGetOpStart(items(), BYTES, 2);
}
ROW(items_end_of_index_2, 0, EK0001) {
  return (int64_t)aclprofGetOpEnd(items(), BYTES, 2);
}
ROW(items_duration_of_index_2, 0, EK0001) {
  return (int64_t)aclprofGetOpDuration(items(), BYTES, 2);
}
ROW(items_model_of_index_2, 100000) {
  return (int64_t)aclprofGetModelId(items(), BYTES, 2);
}
ROW(items_graph_of_index_2, 100000) {
  return (int64_t)aclprofGetGraphId(items(), BYTES, 2);
}
ROW(items_flag_is_that_of_an_operator, 0) {
  return aclprofGetOpFlag(items(), BYTES, 0);
}
ROW(items_flag_of_index_2, 0xFF, EK0001) {
  return aclprofGetOpFlag(items(), BYTES, 2);
}
ROW(items_thread_of_an_operator, 0, EK0001) {
  return NULL_OR_NOT(aclprofGetOpAttriValue(items(), BYTES, 0, ACL_SUBSCRIBE_ATTRI_THREADID));
}
/* Bytes 56 to 71: floating point operations of both kinds of cores, which no published function reads. */
ROW(items_operations_are_not_told, 0) {
  static const char none[16];
  return memcmp(items() + 56, none, sizeof none);
}

/*
 * One by hand, as the layout is published: signature, model, flag, thread (32 bits each); number, duration, start, end,
 * execution, operations twice (64); device, nothing (32). The signatures (CRC-32C of what follows) come from elsewhere.
 */
static const char* by_hand(uint32_t flag) {
  static const uint32_t signatures[] = {0x57393e3du, 0x6eea8cabu, 0x249e5b11u};
  static char data[ITEM];
  const uint32_t head[] = {signatures[flag], 7, flag, 4711}, device = 3;
  const uint64_t times[] = {30, 100, 130};
  memcpy(data, head, sizeof head);
  memcpy(data + 24, times, sizeof times);
  data[48] = 30;
  memcpy(data + 72, &device, sizeof device);
  return data;
}
ROW(item_by_hand_is_one, 1) {
  uint32_t count = 0;
  MUST(aclprofGetOpNum(by_hand(0), ITEM, &count));
  return count;
}
ROW(item_by_hand_model, 7) {
  return (int64_t)aclprofGetModelId(by_hand(0), ITEM, 0);
}
ROW(item_by_hand_start, 100) {
  return (int64_t)aclprofGetOpStart(by_hand(0), ITEM, 0);
}
ROW(item_by_hand_end, 130) {
  return (int64_t)aclprofGetOpEnd(by_hand(0), ITEM, 0);
}
ROW(item_by_hand_duration, 30) {
  return (int64_t)aclprofGetOpDuration(by_hand(0), ITEM, 0);
}
ROW(item_by_hand_of_an_operator, 0) {
  return aclprofGetOpFlag(by_hand(0), ITEM, 0);
}
ROW(item_by_hand_of_flag_1, 1) {
  return aclprofGetOpFlag(by_hand(1), ITEM, 0);
}
ROW(item_by_hand_of_a_thread, 2) {
  return aclprofGetOpFlag(by_hand(2), ITEM, 0);
}
ROW(item_by_hand_thread, 4711) {
  const char* thread = aclprofGetOpAttriValue(by_hand(2), ITEM, 0, ACL_SUBSCRIBE_ATTRI_THREADID);
  return thread == NULL ? -1 : strtoll(thread, NULL, 10);
}
ROW(item_by_hand_without_a_thread, 0, EK0001) {
  return NULL_OR_NOT(aclprofGetOpAttriValue(by_hand(1), ITEM, 0, ACL_SUBSCRIBE_ATTRI_THREADID));
}
