// SPDX-License-Identifier: Apache-2.0
// What entries cost while nobody profiles, turn by turn with an exported function that does nothing. Prints the name and the
// time of the fastest batch of each. off_cost_test.py runs it.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "acl/acl_prof.h"
#include "mstx/ms_tools_ext.h"
#include "npuprof/acl_prof_loaded.h"
#include "profiling/aprof_pub.h"
#include "profiling/prof_api.h"

int32_t EmptyEntry(uint32_t flag, const void* data, uint32_t length);

enum { BATCH = 2000, ROUNDS = 3000 };

static struct MsprofApi api;
static struct MsprofCompactInfo compact;
static struct MsprofAdditionalInfo additional;
static aclprofTensor tensor = {0, 2, 1, 2, {1, 2}};
static aclprofTensorInfo tensors = {1, 2, 0, 1, 0, 1, NULL, &tensor};
static aclprofEventAttributes attributes = {
    ACL_PROF_EVENT_ATTR_VERSION, sizeof attributes, ACL_PROF_MESSAGE_TENSOR_INFO, {&tensors}};
// A program holds what aclprofCreateStamp() gave, or what it gave in a session that ended.
static int old_stamp;
static uint32_t range;
static uint64_t tool;
static mstxMemHeapDesc_t heap;
static mstxMemRegionsRegisterBatch_t regions;
static mstxMemRegionsUnregisterBatch_t gone;

// The void ones as if they returned something.
#define DONE(call) ((call), 0)

// Each in a function of its own, so that their loops are alike.
#define LOOP(name, call)                                               \
  __attribute__((noinline, aligned(64))) static int name(long count) { \
    int refused = 0;                                                   \
    for (long i = 0; i < count; i++) refused += (call) != 0;           \
    return refused;                                                    \
  }
LOOP(Empty, EmptyEntry(1, &api, sizeof api))
LOOP(Api, MsprofReportApi(1, &api))
LOOP(Event, MsprofReportEvent(1, (const struct MsprofEvent*)&api))
LOOP(Compact, MsprofReportCompactInfo(1, &compact, sizeof compact))
LOOP(Additional, MsprofReportAdditionalInfo(1, &additional, sizeof additional))
LOOP(Batch, MsprofReportBatchAdditionalInfo(1, &additional, sizeof additional))
LOOP(Data, MsprofReportData(1, MSPROF_REPORTER_REPORT, &additional, sizeof additional))
LOOP(OpSwitch, MsprofCheckOpSwitch(0, "operator", 8))
LOOP(CreateStamp, aclprofCreateStamp() != NULL)
LOOP(DestroyStamp, DONE(aclprofDestroyStamp(NULL)))
LOOP(Message, aclprofSetStampTraceMessage(&old_stamp, "text", 4) != -1)
LOOP(Category, aclprofSetStampCategory(&old_stamp, 1) != -1)
LOOP(Payload, aclprofSetStampPayload(&old_stamp, 0, &old_stamp) != -1)
LOOP(Mark, aclprofMark(&old_stamp) != -1)
LOOP(MarkEx, aclprofMarkEx("text", 4, &old_stamp) != -1)
LOOP(Push, aclprofPush(&old_stamp) != -1)
LOOP(Pop, aclprofPop() != -1)
LOOP(RangeStart, aclprofRangeStart(&old_stamp, &range) != -1)
LOOP(RangeStop, aclprofRangeStop(1) != -1)
LOOP(PushEx, aclprofRangePushEx(&attributes))
LOOP(PopEx, aclprofRangePop())
LOOP(MstxMark, DONE(mstxMarkA("text", NULL)))
LOOP(MstxStart, mstxRangeStartA("text", NULL) != 0)
LOOP(MstxEnd, DONE(mstxRangeEnd(1)))
LOOP(MstxDomainMark, DONE(mstxDomainMarkA(NULL, "text", NULL)))
LOOP(MstxDomainStart, mstxDomainRangeStartA(NULL, "text", NULL) != 0)
LOOP(MstxDomainEnd, DONE(mstxDomainRangeEnd(NULL, 1)))
LOOP(ToolId, DONE(mstxGetToolId(&tool)))
LOOP(HeapRegister, mstxMemHeapRegister(NULL, &heap) != NULL)
LOOP(HeapUnregister, DONE(mstxMemHeapUnregister(NULL, NULL)))
LOOP(RegionsRegister, DONE(mstxMemRegionsRegister(NULL, &regions)))
LOOP(RegionsUnregister, DONE(mstxMemRegionsUnregister(NULL, &gone)))
LOOP(StepInfo, profSetStepInfo(1, 60000, NULL))
LOOP(BatchSize, MsprofGetBatchReportMaxSize(0) == 0)

static const struct {
  const char* name;
  int (*loop)(long count);
} entries[] = {{"empty", Empty},
               {"MsprofReportApi", Api},
               {"MsprofReportEvent", Event},
               {"MsprofReportCompactInfo", Compact},
               {"MsprofReportAdditionalInfo", Additional},
               {"MsprofReportBatchAdditionalInfo", Batch},
               {"MsprofReportData", Data},
               {"MsprofCheckOpSwitch", OpSwitch},
               {"MsprofGetBatchReportMaxSize", BatchSize},
               {"aclprofCreateStamp", CreateStamp},
               {"aclprofDestroyStamp", DestroyStamp},
               {"aclprofSetStampTraceMessage", Message},
               {"aclprofSetStampCategory", Category},
               {"aclprofSetStampPayload", Payload},
               {"aclprofMark", Mark},
               {"aclprofMarkEx", MarkEx},
               {"aclprofPush", Push},
               {"aclprofPop", Pop},
               {"aclprofRangeStart", RangeStart},
               {"aclprofRangeStop", RangeStop},
               {"aclprofRangePushEx", PushEx},
               {"aclprofRangePop", PopEx},
               {"mstxMarkA", MstxMark},
               {"mstxRangeStartA", MstxStart},
               {"mstxRangeEnd", MstxEnd},
               {"mstxDomainMarkA", MstxDomainMark},
               {"mstxDomainRangeStartA", MstxDomainStart},
               {"mstxDomainRangeEnd", MstxDomainEnd},
               {"mstxGetToolId", ToolId},
               {"mstxMemHeapRegister", HeapRegister},
               {"mstxMemHeapUnregister", HeapUnregister},
               {"mstxMemRegionsRegister", RegionsRegister},
               {"mstxMemRegionsUnregister", RegionsUnregister},
               {"profSetStepInfo", StepInfo}};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int main(void) {
  int64_t best[ENTRIES];
  memset(best, 0x7f, sizeof best);
  // The first refusal has a sentence, and the first mark looks who listens.
  int refused = aclprofMark(&old_stamp) != -1;
  mstxMarkA("text", NULL);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < ENTRIES; i++) {
      const int64_t begin = now();
      refused += entries[i].loop(BATCH);
      const int64_t took = now() - begin;
      if (took < best[i]) best[i] = took;
    }
  }
  for (int i = 0; i < ENTRIES; i++) printf("%s %lld\n", entries[i].name, (long long)best[i]);
  return refused != 0;
}
