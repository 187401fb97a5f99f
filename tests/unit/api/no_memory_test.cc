// SPDX-License-Identifier: Apache-2.0
// Calls, and turns of directories, in a program that runs out of memory in the middle of them.
#include <chrono>
#include <thread>

#include "device_fixture.h"
#include "npuprof/acl_prof_loaded.h"
#include "refused_calls.h"

namespace npuprof {
namespace {

class NoMemory : public DeviceSession {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer gives out memory itself";
#endif
    setenv("NPUSIM_DEVICES", "3", 1);
    DeviceSession::SetUp();
    refused::g_count = 0;
  }
  void TearDown() override {
    refused::g_memory_behind = nullptr;
    if (!IsSkipped()) DeviceSession::TearDown();
  }
  /// Makes a call again and again; the first time the first memory that it asks for is refused, then a later one, until it gets
  /// all that it asks for. @p judge is told what came of each.
  template <typename Call, typename Judge>
  static unsigned EachTimeOneLess(Call call, Judge judge) {
    for (unsigned nth = 1;; nth += 1 + nth / 128) {
      refused::RefuseMemory(nth);
      const auto result = call();
      const bool refused = refused::RefuseMemory(0) == 0;
      judge(result, nth);
      if (!refused || HasFailure()) return nth - 1;
    }
  }
};

TEST_F(NoMemory, AStartThatFindsTooLittleFailsAndLeavesNothing) {
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  aclprofConfig* config = Config({0}, kTypes | ACL_PROF_MSPROFTX);
  unsigned failed = 0;
  const unsigned calls = EachTimeOneLess([&] { return aclprofStart(config); },
                                         [&](aclError code, unsigned nth) {
                                           if (code != 0) {
                                             ++failed;
                                             EXPECT_TRUE(ProfDirectories().empty()) << nth << Message();
                                             EXPECT_EQ(aclprofStop(config), 0) << nth;
                                             return;
                                           }
                                           // It did without: all that a window is for is there.
                                           Run(0, 2);
                                           EXPECT_EQ(aclprofStop(config), 0) << nth << Message();
                                           ASSERT_EQ(ProfDirectories().size(), 1u) << nth;
                                           const auto manifest = Manifest(ProfDirectories().at(0));
                                           EXPECT_EQ(manifest["complete"], true)
                                               << nth << manifest["messages"];
                                           ASSERT_EQ(manifest["devices"].size(), 1u) << nth;
                                           EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 2) << nth;
                                           std::filesystem::remove_all(ProfDirectories().at(0));
                                           ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0) << "for the next one";
                                         });
  std::printf("%u calls for memory, of which %u were needed\n", calls, failed);
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(NoMemory, CallsAroundAWindowFailAndMayBeMadeAgain) {
  uint32_t device = 0;
  EachTimeOneLess(
      [&] { return aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr, kTypes); },
      [&](aclprofConfig* made, unsigned nth) {
        EXPECT_EQ(aclprofDestroyConfig(made), made ? 0 : 100000) << nth;
      });
  int pipe_end = -1;
  EachTimeOneLess([&] { return aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &pipe_end); },
                  [&](aclprofSubscribeConfig* made, unsigned nth) {
                    EXPECT_EQ(aclprofDestroySubscribeConfig(made), made ? 0 : 100000) << nth;
                  });
  EachTimeOneLess([&] { return aclprofCreateStepInfo(); },
                  [&](aclprofStepInfo* made, unsigned) { aclprofDestroyStepInfo(made); });
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_NE(config, nullptr) << Message();
  EachTimeOneLess(
      [&] { return Set(ACL_PROF_HOST_SYS, "mem"); },
      [&](aclError code, unsigned nth) { EXPECT_TRUE(code == 0 || code == 500005) << nth << " " << code; });
  EachTimeOneLess([&] { return aclprofWarmup(config); },
                  [&](aclError, unsigned nth) {
                    EXPECT_EQ(aclprofStop(config), 0) << nth << Message();
                    EXPECT_TRUE(ProfDirectories().empty()) << nth;
                  });
  const std::string path = directory_.string();
  EachTimeOneLess([&] { return aclprofFinalize(); },
                  [&](aclError, unsigned nth) {
                    EXPECT_EQ(aclprofFinalize(), 0) << nth << Message();
                    EXPECT_EQ(Init(), 0) << nth << Message();
                  });
  ASSERT_EQ(aclprofFinalize(), 0);
  EachTimeOneLess([&] { return aclprofInit(path.c_str(), path.size()); },
                  [&](aclError, unsigned nth) { EXPECT_EQ(aclprofFinalize(), 0) << nth << Message(); });
  ASSERT_EQ(Init(), 0) << Message();
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 3);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["devices"][0]["tasks"]["started"], 3);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(NoMemory, AStopThatFindsTooLittleEndsTheWindowAndTheNextOneIsWhole) {
  aclprofConfig* config = Config({0}, kTypes);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  unsigned windows = 0;
  for (unsigned nth = 1; std::chrono::steady_clock::now() < end; nth += 1 + nth / 32, ++windows) {
    ASSERT_EQ(aclprofStart(config), 0) << nth << Message();
    refused::RefuseMemory(nth);
    const aclError code = aclprofStop(config);
    const bool refused = refused::RefuseMemory(0) == 0;
    EXPECT_TRUE(code == 0 || aclprofStop(config) == 0) << nth << Message();
    npuprofStatus status{};
    status.size = sizeof(status);
    EXPECT_EQ(npuprofGetStatus(&status), 0);
    EXPECT_EQ(status.running, 0) << nth;
    for (const auto& prof : ProfDirectories()) std::filesystem::remove_all(prof);
    if (!refused || HasFailure()) break;
  }
  std::printf("%u windows\n", windows);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 3);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(manifest["complete"], true) << manifest["messages"];
  EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 3);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

class NoMemoryAtATurn : public NoMemory {
 protected:
  /// Starts a window that turns over at a megabyte.
  void Begin() {
    config_ = Config({0}, ACL_PROF_ACL_API);
    setenv("NPUPROF_ROTATE_MB", "1", 1);
    ASSERT_EQ(aclprofStart(config_), 0) << Message();
    unsetenv("NPUPROF_ROTATE_MB");
  }
  /// Reports calls until memory was refused @p times.
  void ReportUntilRefused(unsigned times) {
    const MsprofApi call = Call(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (refused::g_count < times && std::chrono::steady_clock::now() < end) {
      if (refused::g_count == 0) {
        for (unsigned i = 0; i < 500; ++i, ++reported_) ASSERT_EQ(MsprofReportApi(1, &call), 0);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_GE(refused::g_count, times);
  }

  aclprofConfig* config_ = nullptr;
  uint64_t reported_ = 0;
};

TEST_F(NoMemoryAtATurn, LetsTheDirectoryGoOnAndTriesAgain) {
  Begin();
  refused::g_memory_behind = "PROF_";  // behind the first directory that is made of the next one
  ReportUntilRefused(2);
  refused::g_memory_behind = nullptr;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ProfDirectories().size() < 2 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0) << "waits until the next directory is open";
  EXPECT_EQ(status.running, 1);
  ASSERT_EQ(aclprofStop(config_), 0) << Message();
  ASSERT_EQ(ProfDirectories().size(), 2u) << "of those that could not be begun nothing is left";
  const auto first = Manifest(ProfDirectories().at(0)), second = Manifest(ProfDirectories().at(1));
  EXPECT_EQ(first["complete"], true) << first["messages"];
  EXPECT_EQ(second["complete"], true) << second["messages"];
  EXPECT_EQ(Kept(first, "api_event"), reported_);
  EXPECT_NE(first["messages"].dump().find("memory ran out"), std::string::npos) << first["messages"];
  EXPECT_EQ(second["continues"]["directory"], ProfDirectories().at(0).filename().string());
  EXPECT_EQ(aclprofDestroyConfig(config_), 0);
}

TEST_F(NoMemoryAtATurn, EndsTheWindowWhoseNextDirectoryCannotBeOpenedAnyMore) {
  Begin();
  refused::g_memory_behind = "/start_info";  // behind the first file of the window that opens
  ReportUntilRefused(1);
  refused::g_memory_behind = nullptr;
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0) << "waits until the turn has failed";
  EXPECT_EQ(status.running, 0);
  EXPECT_EQ(aclprofStop(config_), 0) << "nothing is left to stop";
  ASSERT_EQ(ProfDirectories().size(), 1u);
  const auto first = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(first["complete"], true) << first["messages"];
  EXPECT_GT(Kept(first, "api_event"), 0u);
  EXPECT_LE(Kept(first, "api_event"), reported_) << "some fell into the turn";
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  Run(0, 4);
  ASSERT_EQ(aclprofStop(config_), 0) << Message();
  EXPECT_EQ(Manifest(ProfDirectories().at(1))["complete"], true);
  EXPECT_EQ(aclprofDestroyConfig(config_), 0);
}

}  // namespace
}  // namespace npuprof
