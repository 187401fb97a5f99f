// SPDX-License-Identifier: Apache-2.0
// Sessions that a runtime or one of its components starts through the Msprof* functions.
#include <unistd.h>

#include <algorithm>

#include "fixture.h"

namespace npuprof {
namespace {

class Component : public ApiTest {
 protected:
  void TearDown() override {
    EXPECT_EQ(MsprofFinalize(), 0);
    ApiTest::TearDown();
  }
  static MsprofGeOptions Ge(const std::string& options, const std::string& job = "") {
    MsprofGeOptions ge = {};
    options.copy(ge.options, sizeof(ge.options) - 1);
    job.copy(ge.jobId, sizeof(ge.jobId) - 1);
    return ge;
  }
  static int32_t InitJson(const std::string& text) {
    return MsprofInit(MSPROF_CTRL_INIT_ACL_JSON, const_cast<char*>(text.data()),
                      static_cast<uint32_t>(text.size()));
  }
  static void Report() {
    const MsprofApi call = Call(1);
    EXPECT_EQ(MsprofReportApi(1, &call), 0);
  }
  std::string Out() const { return directory_.string(); }
};

TEST_F(Component, OptionsOfGeStartASessionAndNameTheJob) {
  MsprofGeOptions ge = Ge("{\"output\":\"" + Out() + "\",\"host_sys\":\"mem\"}", "job 7");
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, &ge, sizeof(ge)), 0) << Message();
  Report();
  EXPECT_EQ(Init(), 100042);
  EXPECT_NE(Message().find("the options of GE"), std::string::npos) << Message();
  ASSERT_EQ(MsprofFinalize(), 0);
  const auto prof = ProfDirectories().at(0);
  EXPECT_EQ(Manifest(prof)["complete"], true);
  EXPECT_EQ(Kept(Manifest(prof), "api_event"), 1u);
  EXPECT_EQ(Json(prof / "host/info.json")["jobInfo"], "job 7");
  EXPECT_EQ(Manifest(prof)["settings"], (nlohmann::json{{"ACL_PROF_HOST_SYS", "mem"}}));
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, &ge, sizeof(ge) - 1), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, nullptr, sizeof(ge)), MSPROF_ERROR_CONFIG_INVALID);
}

TEST_F(Component, AConfigurationIsTakenOnceAndOnlyWhileNobodyProfiles) {
  const std::string text = "{\"switch\":\"on\",\"output\":\"" + Out() + "\"}";
  ASSERT_EQ(Init(), 0);
  EXPECT_EQ(InitJson(text), MSPROF_ERROR) << "the program profiles itself";
  ASSERT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(InitJson("{\"switch\":\"off\"}"), MSPROF_ERROR_ACL_JSON_OFF);
  ASSERT_EQ(InitJson(text), 0) << Message();
  EXPECT_EQ(InitJson(text), 0) << "what comes first stays";
  EXPECT_EQ(InitJson("{\"switch\":\"on\",\"no\":1}"), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(ProfDirectories().size(), 1u);
}

TEST_F(Component, AFailedConfigurationLeavesNothingAndCanBeTriedAgain) {
  EXPECT_EQ(InitJson("{\"switch\":\"on\",\"output\":\"/proc/nowhere\"}"), MSPROF_ERROR);
  ASSERT_EQ(InitJson("{\"switch\":\"on\",\"output\":\"" + Out() + "\"}"), 0) << Message();
  ASSERT_EQ(MsprofFinalize(), 0);
  EXPECT_EQ(Init(), 0) << "the process is free again";
}

TEST_F(Component, StartAndStopOfAComponentMakeADirectoryEach) {
  MsprofConfig config = {};
  config.profSwitch = ACL_PROF_MSPROFTX | ACL_PROF_ACL_API;
  config.devNums = 1;
  config.devIdList[0] = 64;
  config.storageLimit = 300;
  Out().copy(config.dumpPath, sizeof(config.dumpPath) - 1);
  for (size_t window = 1; window <= 2; ++window) {
    ASSERT_EQ(MsprofStart(0, &config, sizeof(config)), 0) << Message();
    EXPECT_EQ(MsprofStart(0, &config, sizeof(config)), MSPROF_ERROR) << "somebody profiles already";
    Report();
    ASSERT_EQ(MsprofStop(0, &config, sizeof(config)), 0);
    ASSERT_EQ(ProfDirectories().size(), window);
    const auto manifest = Manifest(ProfDirectories().back());
    EXPECT_EQ(Kept(manifest, "api_event"), 1u);
    EXPECT_EQ(manifest["data_types"], "0x4000000000000081");
    EXPECT_EQ(manifest["settings"], (nlohmann::json{{"ACL_PROF_STORAGE_LIMIT", "300MB"}}));
  }
  EXPECT_EQ(MsprofStop(0, &config, sizeof(config)), 0) << "nothing runs any more";
  ASSERT_EQ(MsprofStart(2, &config, sizeof(config)), 0) << Message();
  EXPECT_EQ(MsprofFinalize(), 0) << "the end of the runtime ends every type";
  EXPECT_EQ(MsprofStart(MSPROF_MODE_SUBSCRIBE, &config, sizeof(config)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofStart(0, nullptr, sizeof(config)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofStart(0, &config, 8), MSPROF_ERROR_CONFIG_INVALID);
  config.devNums = 66;
  EXPECT_EQ(MsprofStart(0, &config, sizeof(config)), MSPROF_ERROR_CONFIG_INVALID);
}

TEST_F(Component, AHostIsProfiledByTheTextOfItsSampleConfig) {
  MsprofCommandHandleParams params = {};
  Out().copy(params.path, sizeof(params.path) - 1);
  std::string("{\"msproftx\":\"on\",\"host_sys\":\"cpu\"}")
      .copy(params.profData, sizeof(params.profData) - 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_PURE_CPU, &params, sizeof(params)), 0) << Message();
  ASSERT_EQ(MsprofFinalize(), 0);
  EXPECT_TRUE(std::filesystem::exists(ProfDirectories().at(0) / "host/data/host_cpu.data.slice_0"));
}

TEST_F(Component, StopEndsWhatItsTypeOwnsAndNothingElse) {
  MsprofConfig config = {};
  config.profSwitch = ACL_PROF_MSPROFTX | ACL_PROF_ACL_API;
  Out().copy(config.dumpPath, sizeof(config.dumpPath) - 1);
  const auto stop = [&](uint32_t type) { return MsprofStop(type, &config, sizeof(config)); };
  ASSERT_EQ(MsprofStart(3, &config, sizeof(config)), 0) << Message();
  EXPECT_EQ(stop(0), MSPROF_ERROR);
  EXPECT_NE(Message().find("a component of type 3"), std::string::npos) << Message();
  Report();
  EXPECT_EQ(stop(3), 0);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(0)), "api_event"), 1u);

  ASSERT_EQ(InitJson("{\"switch\":\"on\",\"output\":\"" + Out() + "\"}"), 0) << Message();
  EXPECT_EQ(stop(3), MSPROF_ERROR);
  EXPECT_NE(Message().find("acl.json"), std::string::npos) << Message();
  Report();
  ASSERT_EQ(MsprofFinalize(), 0);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(1)), "api_event"), 1u);

  ASSERT_EQ(Init(), 0);
  aclprofConfig* own = Config({}, ACL_PROF_MSPROFTX | ACL_PROF_ACL_API);
  ASSERT_EQ(aclprofStart(own), 0);
  EXPECT_EQ(stop(3), MSPROF_ERROR);
  EXPECT_NE(Message().find("the program itself"), std::string::npos) << Message();
  Report();
  EXPECT_EQ(aclprofStop(own), 0);
  EXPECT_EQ(aclprofDestroyConfig(own), 0);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(2)), "api_event"), 1u);
}

// Another one may be on its way without anybody having looked.
TEST_F(Component, AConfigurationThatComesTooLateIsInTheManifest) {
  MsprofConfig config = {};
  config.profSwitch = ACL_PROF_MSPROFTX;
  Out().copy(config.dumpPath, sizeof(config.dumpPath) - 1);
  ASSERT_EQ(MsprofStart(0, &config, sizeof(config)), 0) << Message();
  EXPECT_EQ(InitJson("{\"switch\":\"on\",\"output\":\"" + Out() + "\"}"), 0);
  ASSERT_EQ(MsprofFinalize(), 0);
  const std::string text = "acl.json is not looked at: this process is profiled by MsprofStart";
  EXPECT_NE(Manifest(ProfDirectories().at(0))["messages"].dump().find(text), std::string::npos);
  ASSERT_EQ(MsprofStart(0, &config, sizeof(config)), 0) << Message();
  ASSERT_EQ(MsprofFinalize(), 0);
  EXPECT_EQ(Manifest(ProfDirectories().at(1))["messages"].dump().find(text), std::string::npos)
      << "it is of the session before";
}

TEST_F(Component, AHelperIsProfiledByTextPathAndLimit) {
  MsprofCommandHandleParams params = {};
  Out().copy(params.path, sizeof(params.path) - 1);
  params.storageLimit = 250;
  std::string("{\"msproftx\":\"on\",\"opType\":\"Add\"}").copy(params.profData, sizeof(params.profData) - 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_HELPER, &params, sizeof(params)), 0) << Message();
  ASSERT_EQ(MsprofFinalize(), 0);
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(manifest["settings"], (nlohmann::json{{"ACL_PROF_STORAGE_LIMIT", "250MB"}}));
  EXPECT_NE(manifest["messages"].dump().find("opType of PROFILER_SAMPLECONFIG is 'Add': not collected"),
            std::string::npos);
  params.storageLimit = 3;
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_HELPER, &params, sizeof(params)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_HELPER, nullptr, 0), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_AICPU, nullptr, 0), 0) << "it is told what to do";
  EXPECT_EQ(ProfDirectories().size(), 1u);
}

std::vector<uint32_t> g_switches;
int32_t TakeSwitch(uint32_t type, void* data, uint32_t) {
  EXPECT_EQ(type, PROF_CTRL_SWITCH);
  g_switches.push_back(static_cast<const MsprofCommandHandle*>(data)->type);
  return 0;
}

TEST_F(Component, ACallbackOfTheOlderFormIsToldWhatTheOthersAre) {
  g_switches.clear();
  void* callback = reinterpret_cast<void*>(&TakeSwitch);
  ASSERT_EQ(Init(), 0);
  EXPECT_EQ(MsprofRegisterProfileCallback(0, callback, sizeof(void*)), 0);
  EXPECT_EQ(MsprofRegisterProfileCallback(1, callback, sizeof(void*)), 0) << "checked and not called";
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(config), 0);
  ASSERT_EQ(aclprofStop(config), 0);
  ASSERT_EQ(aclprofFinalize(), 0);
  ASSERT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_EQ(g_switches, (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST_F(Component, SubscriptionsReachTheCallbacks) {
  g_switches.clear();
  ASSERT_EQ(MsprofRegisterCallback(4711, TakeSwitch), 0);
  ASSERT_EQ(MsprofSetDeviceIdByGeModelIdx(5, 0), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  aclprofSubscribeConfig* wish = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
  ASSERT_EQ(aclprofModelSubscribe(5, wish), 0) << Message();
  ASSERT_EQ(aclprofModelUnSubscribe(5), 0) << Message();
  ASSERT_EQ(aclprofDestroySubscribeConfig(wish), 0);
  ASSERT_EQ(MsprofUnsetDeviceIdByGeModelIdx(5, 0), 0);
  close(ends[0]);
  const std::vector<uint32_t> cycle = {0, 1, 4, 5, 2, 3};
  ASSERT_GE(g_switches.size(), cycle.size());
  // The callback of the older form may be registered too, and takes part.
  for (const uint32_t type : cycle)
    EXPECT_EQ(std::count(g_switches.begin(), g_switches.end(), type),
              std::count(g_switches.begin(), g_switches.end(), 0u));
}

TEST_F(Component, TheOlderFormOfReportingNumbersTextsAndSaysWhatIsNotKept) {
  uint32_t most = 0;
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_DATA_MAX_LEN, &most, sizeof(most)), 0);
  EXPECT_EQ(most, MsprofGetBatchReportMaxSize(0));
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_DATA_MAX_LEN, &most, 2), MSPROF_ERROR_CONFIG_INVALID);
  unsigned char text[] = "operator";
  MsprofHashData hash = {0, 8, text, 0};
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_HASH, &hash, sizeof(hash)), 0);
  EXPECT_EQ(hash.hashId, MsprofGetHashId("operator", 8));
  hash.data = nullptr;
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_HASH, &hash, sizeof(hash)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_HASH, nullptr, sizeof(hash)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportData(7, 5, &hash, sizeof(hash)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_INIT, nullptr, 0), 0);
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_REPORT, text, 8), 0) << "nobody collects";
  EXPECT_FALSE(MsprofCheckOpSwitch(0, "Add", 3)) << "nobody collects";
  EXPECT_EQ(profSetStepInfo(1, 60000, nullptr), 0) << "nobody collects";

  ASSERT_EQ(Init(), 0);
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(config), 0);
  EXPECT_EQ(MsprofReportData(7, MSPROF_REPORTER_REPORT, text, 8), MSPROF_ERROR);
  EXPECT_EQ(MsprofReportData(36, MSPROF_REPORTER_REPORT, text, 8), MSPROF_ERROR);
  EXPECT_TRUE(MsprofCheckOpSwitch(0, "Add", 3));
  EXPECT_FALSE(MsprofCheckOpSwitch(0, "Add", 0));
  EXPECT_FALSE(MsprofCheckOpSwitch(0, nullptr, 3));
  EXPECT_EQ(profSetStepInfo(1, 60000, nullptr), MSPROF_ERROR) << "this process has no runtime";
  ASSERT_EQ(aclprofStop(config), 0);
  ASSERT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_NE(Manifest(ProfDirectories().at(0))["messages"].dump().find(
                "2 reports through MsprofReportData were not kept, the last of module 36"),
            std::string::npos);
}

TEST_F(Component, CallsWithoutEffectJudgeTheirArgumentsAlone) {
  EXPECT_EQ(MsprofSetConfig(1, "x", 1), 0);
  void* callback = reinterpret_cast<void*>(&MsprofFinalize);
  EXPECT_EQ(MsprofRegisterProfileCallback(1, callback, sizeof(void*)), 0);
  EXPECT_EQ(MsprofRegisterProfileCallback(16, callback, sizeof(void*)), 0);
  EXPECT_EQ(MsprofRegisterProfileCallback(17, callback, sizeof(void*)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegisterProfileCallback(-1, callback, sizeof(void*)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegisterProfileCallback(0, nullptr, sizeof(void*)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegisterProfileCallback(0, callback, 4), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(7, nullptr, 0), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(profSetProfCommand(callback, 8), 0);
  EXPECT_EQ(profSetProfCommand(nullptr, 8), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(profSetProfCommand(callback, 0), MSPROF_ERROR_CONFIG_INVALID);
}

}  // namespace
}  // namespace npuprof
