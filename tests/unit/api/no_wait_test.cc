// SPDX-License-Identifier: Apache-2.0
// Which exported functions wait for whoever begins or ends a window, and which never do: those that a program or a component
// of its runtime calls while it works.
#include <atomic>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "fixture.h"
#include "ge/ge_prof.h"
#include "mstx/ms_tools_ext.h"
#include "npuprof/acl_prof_loaded.h"
#include "profiling/aprof_pub.h"

namespace npuprof {
namespace {

/// They begin, end, set or ask for what another thread may be changing: one at a time. Where that one waits for them they are
/// refused after some seconds, or leave it to him what they tell (MsprofNotifySetDevice).
const std::set<std::string> kOneAtATime = {"aclprofInit",
                                           "aclprofFinalize",
                                           "aclprofSetConfig",
                                           "aclprofStart",
                                           "aclprofStop",
                                           "aclprofWarmup",
                                           "aclprofModelSubscribe",
                                           "aclprofModelUnSubscribe",
                                           "aclgrphProfGraphSubscribe",
                                           "aclgrphProfGraphUnSubscribe",
                                           "aclprofRegisterDeviceCallback",
                                           "MsprofNotifySetDevice",
                                           "MsprofInit",
                                           "MsprofFinalize",
                                           "MsprofStart",
                                           "MsprofStop",
                                           "npuprofGetStatus"};

struct Entry {
  const char* name;
  std::function<void()> call;
};

int NoTables(MstxFuncModule, MstxFuncTable*, unsigned int*) {
  return 1;
}
int32_t Deaf(uint32_t, void*, uint32_t) {
  return 0;
}

/// Every other function, each as a program calls it that does nothing wrong, where that is possible.
std::vector<Entry> Entries() {
  static int stream, item[20];
  static void* stamp = nullptr;
  static uint32_t range = 0, number = 0, device = 0;
  static uint64_t tool = 0;
  static size_t size = 0;
  static char text[64];
  static int pipe_end = -1;
  static mstxDomainHandle_t domain = nullptr;
  static mstxRangeId mstx_range = 0;
  static mstxMemHeapDesc_t heap{};
  static mstxMemRegionsRegisterBatch_t regions{};
  static mstxMemRegionsUnregisterBatch_t gone{};
  static aclprofTensorInfo tensors{};
  static aclprofEventAttributes attributes{};
  attributes.version = ACL_PROF_EVENT_ATTR_VERSION;
  attributes.size = sizeof attributes;
  attributes.message.tensorInfo = &tensors;
  const auto api = [] {
    MsprofApi call{};
    call.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
    call.level = MSPROF_REPORT_ACL_LEVEL;
    call.type = MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE;
    call.beginTime = MsprofSysCycleTime();
    call.endTime = call.beginTime + 1;
    return call;
  };
  static MsprofCompactInfo compact{};
  static MsprofAdditionalInfo additional{};
  compact.magicNumber = additional.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  return {
      {"MsprofReportApi",
       [api] {
         const MsprofApi call = api();
         MsprofReportApi(1, &call);
       }},
      {"MsprofReportEvent",
       [api] {
         const MsprofApi call = api();
         MsprofReportEvent(1, reinterpret_cast<const MsprofEvent*>(&call));
       }},
      {"MsprofReportCompactInfo", [] { MsprofReportCompactInfo(1, &compact, sizeof compact); }},
      {"MsprofReportAdditionalInfo", [] { MsprofReportAdditionalInfo(1, &additional, sizeof additional); }},
      {"MsprofReportBatchAdditionalInfo",
       [] { MsprofReportBatchAdditionalInfo(1, &additional, sizeof additional); }},
      {"MsprofGetBatchReportMaxSize", [] { MsprofGetBatchReportMaxSize(0); }},
      {"MsprofReportData",
       [] { MsprofReportData(1, MSPROF_REPORTER_REPORT, &additional, sizeof additional); }},
      {"MsprofCheckOpSwitch", [] { MsprofCheckOpSwitch(0, "operator", 8); }},
      {"MsprofRegTypeInfo", [] { MsprofRegTypeInfo(MSPROF_REPORT_ACL_LEVEL, 77, "seventy-seven"); }},
      {"MsprofRegDataFormat", [] { MsprofRegDataFormat(MSPROF_REPORT_ACL_LEVEL, 77, "a:4"); }},
      {"MsprofGetHashId", [] { MsprofGetHashId("new here", 8); }},
      {"MsprofStr2Id", [] { MsprofStr2Id("new as well", 11); }},
      {"MsprofId2Str", [] { MsprofId2Str(MsprofStr2Id("new as well", 11)); }},
      {"aclprofStr2Id", [] { aclprofStr2Id("another"); }},
      {"MsprofSysCycleTime", [] { MsprofSysCycleTime(); }},
      {"MsprofGetPath", [] { MsprofGetPath(); }},
      {"MsprofRegisterCallback", [] { MsprofRegisterCallback(MSPROF_MODULE_AICPU, Deaf); }},
      {"MsprofRegisterProfileCallback",
       [] {
         void* deaf = reinterpret_cast<void*>(&Deaf);
         MsprofRegisterProfileCallback(1, deaf, sizeof deaf);
       }},
      {"MsprofSetDeviceIdByGeModelIdx", [] { MsprofSetDeviceIdByGeModelIdx(77, 0); }},
      {"MsprofUnsetDeviceIdByGeModelIdx", [] { MsprofUnsetDeviceIdByGeModelIdx(77, 0); }},
      {"MsprofSetConfig", [] { MsprofSetConfig(0, "x", 1); }},
      {"profSetStepInfo", [] { profSetStepInfo(1, 60000, &stream); }},
      {"profSetProfCommand", [] { profSetProfCommand(item, sizeof item); }},
      {"aclprofCreateConfig",
       [] {
         aclprofDestroyConfig(aclprofCreateConfig(&device, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX));
       }},
      {"aclprofDestroyConfig",
       [] {
         aclprofDestroyConfig(aclprofCreateConfig(&device, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX));
       }},
      {"aclprofCreateStamp", [] { stamp = aclprofCreateStamp(); }},
      {"aclprofSetStampTraceMessage", [] { aclprofSetStampTraceMessage(stamp, "text", 4); }},
      {"aclprofSetCategoryName", [] { aclprofSetCategoryName(1, "one"); }},
      {"aclprofSetStampCategory", [] { aclprofSetStampCategory(stamp, 1); }},
      {"aclprofSetStampPayload", [] { aclprofSetStampPayload(stamp, 0, item); }},
      {"aclprofSetStampTagName", [] { aclprofSetStampTagName(stamp, "tag", 3); }},
      {"aclprofSetStampCallStack", [] { aclprofSetStampCallStack(stamp, "stack", 5); }},
      {"aclprofMark", [] { aclprofMark(stamp); }},
      {"aclprofMarkEx", [] { aclprofMarkEx("text", 4, &stream); }},
      {"aclprofPush", [] { aclprofPush(stamp); }},
      {"aclprofPop", [] { aclprofPop(); }},
      {"aclprofRangeStart", [] { aclprofRangeStart(stamp, &range); }},
      {"aclprofRangeStop", [] { aclprofRangeStop(range); }},
      {"aclprofDestroyStamp", [] { aclprofDestroyStamp(stamp); }},
      {"aclprofReportStamp",
       [] { aclprofReportStamp("tag", 3, reinterpret_cast<unsigned char*>(item), sizeof item); }},
      {"aclprofMsproftxSwitch", [] { aclprofMsproftxSwitch(true); }},
      {"aclprofRangePushEx", [] { aclprofRangePushEx(&attributes); }},
      {"aclprofRangePop", [] { aclprofRangePop(); }},
      {"aclprofCreateStepInfo", [] { aclprofDestroyStepInfo(aclprofCreateStepInfo()); }},
      {"aclprofGetStepTimestamp",
       [] {
         aclprofStepInfo* step = aclprofCreateStepInfo();
         aclprofGetStepTimestamp(step, ACL_STEP_START, &stream);
         aclprofDestroyStepInfo(step);
       }},
      {"aclprofDestroyStepInfo", [] { aclprofDestroyStepInfo(aclprofCreateStepInfo()); }},
      {"aclprofCreateSubscribeConfig",
       [] { aclprofDestroySubscribeConfig(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &pipe_end)); }},
      {"aclprofDestroySubscribeConfig",
       [] { aclprofDestroySubscribeConfig(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &pipe_end)); }},
      {"aclprofGetOpDescSize", [] { aclprofGetOpDescSize(&size); }},
      {"aclprofGetOpNum", [] { aclprofGetOpNum(item, sizeof item, &number); }},
      {"aclprofGetOpTypeLen", [] { aclprofGetOpTypeLen(item, sizeof item, 0, &size); }},
      {"aclprofGetOpType", [] { aclprofGetOpType(item, sizeof item, 0, text, sizeof text); }},
      {"aclprofGetOpNameLen", [] { aclprofGetOpNameLen(item, sizeof item, 0, &size); }},
      {"aclprofGetOpName", [] { aclprofGetOpName(item, sizeof item, 0, text, sizeof text); }},
      {"aclprofGetOpStart", [] { aclprofGetOpStart(item, sizeof item, 0); }},
      {"aclprofGetOpEnd", [] { aclprofGetOpEnd(item, sizeof item, 0); }},
      {"aclprofGetOpDuration", [] { aclprofGetOpDuration(item, sizeof item, 0); }},
      {"aclprofGetModelId", [] { aclprofGetModelId(item, sizeof item, 0); }},
      {"aclprofGetOpFlag", [] { aclprofGetOpFlag(item, sizeof item, 0); }},
      {"aclprofGetOpAttriValue",
       [] { aclprofGetOpAttriValue(item, sizeof item, 0, ACL_SUBSCRIBE_ATTRI_THREADID); }},
      {"aclprofGetGraphId", [] { aclprofGetGraphId(item, sizeof item, 0); }},
      {"aclprofGetSupportedFeatures",
       [] {
         void* data = nullptr;
         aclprofGetSupportedFeatures(&size, &data);
       }},
      {"aclprofGetSupportedFeaturesV2",
       [] {
         void* data = nullptr;
         aclprofGetSupportedFeaturesV2(&size, &data);
       }},
      {"mstxMarkA", [] { mstxMarkA("text", nullptr); }},
      {"mstxRangeStartA", [] { mstx_range = mstxRangeStartA("text", nullptr); }},
      {"mstxRangeEnd", [] { mstxRangeEnd(mstx_range); }},
      {"mstxGetToolId", [] { mstxGetToolId(&tool); }},
      {"mstxDomainCreateA", [] { domain = mstxDomainCreateA("new here"); }},
      {"mstxDomainMarkA", [] { mstxDomainMarkA(domain, "text", nullptr); }},
      {"mstxDomainRangeStartA", [] { mstx_range = mstxDomainRangeStartA(domain, "text", nullptr); }},
      {"mstxDomainRangeEnd", [] { mstxDomainRangeEnd(domain, mstx_range); }},
      {"mstxDomainDestroy", [] { mstxDomainDestroy(domain); }},
      {"mstxMemHeapRegister", [] { mstxMemHeapRegister(domain, &heap); }},
      {"mstxMemHeapUnregister", [] { mstxMemHeapUnregister(domain, nullptr); }},
      {"mstxMemRegionsRegister", [] { mstxMemRegionsRegister(domain, &regions); }},
      {"mstxMemRegionsUnregister", [] { mstxMemRegionsUnregister(domain, &gone); }},
      {"InitInjectionMstx", [] { InitInjectionMstx(NoTables); }},
      {"npuprofLastMessage", [] { npuprofLastMessage(); }},
      {"npuprofTakeError", [] { npuprofTakeError(); }},
  };
}

std::atomic<bool> g_calls{false};
std::vector<uint32_t> g_told;
std::string g_waited;  // names of those that gave up waiting

/// The thread that begins or ends a window is in here until another has called all entries. One that waited for the first
/// would wait for ever, or give up with a sentence.
int32_t CallAllOnAnotherThread(uint32_t, void* data, uint32_t) {
  if (!g_calls) return 0;
  g_told.push_back(static_cast<MsprofCommandHandle*>(data)->type);
  std::thread([] {
    for (const Entry& entry : Entries()) {
      entry.call();
      if (std::string(npuprofLastMessage()).find("has waited") != std::string::npos)
        g_waited += std::string(entry.name) + " ";
    }
  }).join();
  return 0;
}

class NoWait : public ApiTest {};

TEST_F(NoWait, WhatAProgramCallsWhileItWorksWaitsForNobodyWhoBeginsOrEndsAWindow) {
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_HCCL, CallAllOnAnotherThread), 0);
  aclprofConfig* config = Config({}, ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
  ASSERT_EQ(Init(), 0);
  g_told.clear();
  g_waited.clear();
  g_calls = true;
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  g_calls = false;
  EXPECT_EQ(g_told, (std::vector<uint32_t>{PROF_COMMANDHANDLE_TYPE_START, PROF_COMMANDHANDLE_TYPE_STOP}));
  EXPECT_EQ(g_waited, "");
  // They were not refused for another reason before they could wait: what they report is there.
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(Kept(manifest, "api_event"), 4u) << "each time a call and half of one";
  EXPECT_GT(Kept(manifest, "msproftx"), 0u);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(NoWait, EveryExportedFunctionIsOfOneKindOrTheOther) {
  std::set<std::string> told = kOneAtATime;
  for (const Entry& entry : Entries()) EXPECT_TRUE(told.insert(entry.name).second) << entry.name;
  std::set<std::string> exported;
  std::ifstream map(ACLPROF_MAP);
  for (std::string line; std::getline(map, line) && line.find("local:") == std::string::npos;) {
    const size_t begin = line.find_first_not_of(' '), end = line.find(';');
    // Twins of GE in C++ are those without.
    if (end != std::string::npos && line.compare(begin, 3, "_ZN") != 0)
      exported.insert(line.substr(begin, end - begin));
  }
  EXPECT_EQ(told, exported);
}

}  // namespace
}  // namespace npuprof
