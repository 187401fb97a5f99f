// SPDX-License-Identifier: Apache-2.0
// Sessions that a runtime or one of its components starts through the Msprof* functions.
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

TEST_F(Component, CallsWithoutEffectJudgeTheirArgumentsAlone) {
  EXPECT_EQ(MsprofSetConfig(1, "x", 1), 0);
  void* callback = reinterpret_cast<void*>(&MsprofFinalize);
  EXPECT_EQ(MsprofRegisterProfileCallback(0, callback, sizeof(void*)), 0);
  EXPECT_EQ(MsprofRegisterProfileCallback(16, callback, sizeof(void*)), 0);
  EXPECT_EQ(MsprofRegisterProfileCallback(17, callback, sizeof(void*)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegisterProfileCallback(-1, callback, sizeof(void*)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegisterProfileCallback(0, nullptr, sizeof(void*)), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegisterProfileCallback(0, callback, 4), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_HELPER, nullptr, 0), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_AICPU, nullptr, 0), MSPROF_ERROR_CONFIG_INVALID);
}

}  // namespace
}  // namespace npuprof
