// SPDX-License-Identifier: Apache-2.0
// A program that `npuprof record` started, as the library in it sees it. lifecycle_test runs it; it is no
// test of its own.
#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "fixture.h"
#include "npuprof/acl_prof_loaded.h"
#include "refused_calls.h"

namespace npuprof {
namespace {

uint64_t Records(const std::filesystem::path& prof, const char* kind) {
  const auto manifest = nlohmann::json::parse(std::ifstream(prof / "npuprof/manifest.json"));
  for (const auto& entry : manifest["host"]["kinds"]) {
    if (entry["kind"] == kind) return entry["records"];
  }
  return 0;
}

void Report() {
  MsprofApi api = {};
  api.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  EXPECT_EQ(MsprofReportApi(1, &api), 0);
}

// What does not start a session is answered as if nobody recorded, and the recording goes on.
TEST(Recorded, CallsThatStartNothingChangeNothing) {
  setenv("NPUPROF_LOG", "0", 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  const std::string recorded = MsprofGetPath();
  Report();
  EXPECT_EQ(aclprofStop(nullptr), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(aclprofInit("/tmp", 4), 0);
  EXPECT_EQ(aclprofInit("/tmp", 4), 100002);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_HOST_SYS, "cpu", 3), 0);
  EXPECT_EQ(aclprofStart(nullptr), 100000) << "no device is open";
  EXPECT_EQ(aclprofStop(nullptr), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
  Report();
  EXPECT_EQ(MsprofGetPath(), recorded);
  EXPECT_EQ(MsprofFinalize(), 0);
  EXPECT_EQ(Records(recorded, "api_event"), 2u);
  EXPECT_EQ(Records(recorded, "host_cpu"), 0u) << "a setting of the program is none of the recording";
}

TEST(Recorded, AStartOfTheProgramEndsTheRecording) {
  setenv("NPUPROF_LOG", "0", 1);
  const std::string own = getenv("OWN_DIRECTORY");
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  const std::string recorded = MsprofGetPath();
  Report();
  ASSERT_EQ(aclprofInit(own.c_str(), own.size()), 0);
  aclprofConfig* config =
      aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX | ACL_PROF_ACL_API);
  ASSERT_EQ(aclprofStart(config), 0);
  EXPECT_EQ(Records(recorded, "api_event"), 1u);
  EXPECT_NE(MsprofGetPath(), recorded);
  Report();
  Report();
  EXPECT_EQ(aclprofStop(config), 0);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(Records(MsprofGetPath(), "api_event"), 2u);
  EXPECT_EQ(MsprofFinalize(), 0);
}

TEST(Recorded, AStartThatFailsLeavesTheRecordingGoOn) {
  setenv("NPUPROF_LOG", "0", 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  const std::string recorded = MsprofGetPath();
  ASSERT_EQ(aclprofInit("/proc/none", 10), 0);
  aclprofConfig* config = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  EXPECT_EQ(aclprofStart(config), 100003);
  EXPECT_EQ(aclprofWarmup(config), 100003);
  EXPECT_EQ(MsprofGetPath(), recorded) << "it was not interrupted";
  Report();
  EXPECT_EQ(MsprofFinalize(), 0);
  EXPECT_EQ(Records(recorded, "api_event"), 1u);
}

// Nothing may come of the warm-up, and the recording is not to have ended for that.
TEST(Recorded, AWarmUpLeavesTheRecordingGoOnUntilTheStart) {
  setenv("NPUPROF_LOG", "0", 1);
  const std::string own = getenv("OWN_DIRECTORY");
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  const std::string recorded = MsprofGetPath();
  ASSERT_EQ(aclprofInit(own.c_str(), own.size()), 0);
  aclprofConfig* config = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofWarmup(config), 0) << npuprofLastMessage();
  Report();
  ASSERT_EQ(aclprofStop(config), 0) << "of the warm-up";
  Report();
  ASSERT_EQ(aclprofWarmup(config), 0) << npuprofLastMessage();
  Report();
  ASSERT_EQ(aclprofStart(config), 0) << npuprofLastMessage();
  EXPECT_EQ(Records(recorded, "api_event"), 3u);
  Report();
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(Records(MsprofGetPath(), "api_event"), 1u);
  EXPECT_EQ(MsprofFinalize(), 0);
}

TEST(Recorded, AProgramThatProfilesItselfFirstIsNotRecorded) {
  setenv("NPUPROF_LOG", "0", 1);
  const std::string own = getenv("OWN_DIRECTORY");
  ASSERT_EQ(aclprofInit(own.c_str(), own.size()), 0);
  aclprofConfig* config = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(config), 0);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0);
  EXPECT_EQ(std::filesystem::path(MsprofGetPath()).parent_path(), own);
  EXPECT_EQ(aclprofStop(config), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
}

// Reports until the next directory cannot be opened; how profiling stands then.
npuprofStatus FailTheTurn() {
  refused::g_renames = "/start_info";
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
       refused::g_count == 0 && std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    for (int i = 0; i < 500; ++i) Report();
  }
  npuprofStatus status{};
  status.size = sizeof(status);
  EXPECT_EQ(npuprofGetStatus(&status), 0) << "waits until the turn has failed";
  refused::g_renames = nullptr;
  return status;
}

TEST(Recorded, AFailedTurnEndsTheRecording) {
  setenv("NPUPROF_LOG", "0", 1);
  setenv("NPUPROF_ROTATE_MB", "1", 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  const npuprofStatus status = FailTheTurn();
  EXPECT_EQ(status.running, 0);
  EXPECT_EQ(status.mode, NPUPROF_MODE_OFF);
  EXPECT_EQ(MsprofFinalize(), 0);
}

TEST(Recorded, AFailedTurnGivesTheInterfaceBackThatAConfigurationHad) {
  setenv("NPUPROF_LOG", "0", 1);
  setenv("NPUPROF_ROTATE_MB", "1", 1);
  const std::string own = getenv("OWN_DIRECTORY"), recorded = getenv("NPUPROF_RECORD_DIR");
  ASSERT_EQ(unsetenv("NPUPROF_RECORD_DIR"), 0);
  setenv("PROFILER_SAMPLECONFIG", (R"({"result_dir": ")" + recorded + R"(", "msproftx": "on"})").c_str(), 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  EXPECT_EQ(aclprofInit(own.c_str(), own.size()), 100042);
  EXPECT_EQ(FailTheTurn().running, 0);
  ASSERT_EQ(aclprofInit(own.c_str(), own.size()), 0) << npuprofLastMessage();
  aclprofConfig* config = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(config), 0) << npuprofLastMessage();
  EXPECT_EQ(aclprofStop(config), 0);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(MsprofFinalize(), 0);
}

// A stack that no address space has room for: no thread can be started.
void ForbidThreads() {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
  ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
}

TEST(Recorded, ADelayWithoutAThreadIsRefusedWithASentence) {
  setenv("NPUPROF_RECORD_DELAY_MS", "1", 1);
  ForbidThreads();
  while (npuprofTakeError()) continue;
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), MSPROF_ERROR);
  const std::string error = npuprofTakeError();
  EXPECT_EQ(error.substr(0, 6), "EK0203") << error;
  EXPECT_NE(error.find("delay of 1 ms"), std::string::npos) << error;
}

TEST(Recorded, AStartWithoutAThreadSaysSo) {
  setenv("NPUPROF_ATTACH", "off", 1);
  ForbidThreads();
  while (npuprofTakeError()) continue;
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), MSPROF_ERROR);
  const std::string error = npuprofTakeError();
  EXPECT_EQ(error.substr(0, 6), "EK0203") << error;
  EXPECT_NE(error.find("thread could not be started"), std::string::npos) << error;
}

TEST(Recorded, ASubscriptionWithoutAThreadSaysSo) {
  ASSERT_EQ(MsprofSetDeviceIdByGeModelIdx(5, 0), 0);
  int fd = -1;
  aclprofSubscribeConfig* wish = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &fd);
  ForbidThreads();
  while (npuprofTakeError()) continue;
  EXPECT_EQ(aclprofModelSubscribe(5, wish), 500005);
  const std::string error = npuprofTakeError();
  EXPECT_EQ(error.substr(0, 6), "EK0203") << error;
  EXPECT_NE(error.find("thread could not be started"), std::string::npos) << error;
  EXPECT_EQ(aclprofDestroySubscribeConfig(wish), 0);
}

TEST(Recorded, ADelayPassesWithoutADescriptorToBeFoundBy) {
  setenv("NPUPROF_RECORD_DELAY_MS", "500", 1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int32_t code = MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(code, 0) << npuprofLastMessage();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!*MsprofGetPath()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the recording never begins";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(MsprofFinalize(), 0);
}

// Neither a call nor a session has had the library look after the end of the process.
TEST(Recorded, TheEndBeforeADelayIsToldWithoutFinalize) {
  setenv("NPUPROF_RECORD_DELAY_MS", "3600000", 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
}

}  // namespace
}  // namespace npuprof
