// SPDX-License-Identifier: Apache-2.0
// Forks of a process whose devices are profiled: the child profiles its own life, and the parent's records are all there.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "device_fixture.h"
#include "npuprof/acl_prof_loaded.h"

namespace {
bool g_is_child = false;
}  // namespace

// A forked child deliberately leaves the objects of its parent's session alone, which a leak checker asks about.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return g_is_child;
}

namespace npuprof {
namespace {

class DeviceFork : public DeviceSession {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer allows no new threads in a child of a process with threads";
#endif
    setenv("NPUSIM_DEVICES", "3", 1);
    DeviceSession::SetUp();
    ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0);
  }
  void TearDown() override {
    if (directory_.empty()) return;  // skipped before anything was set up
    DeviceSession::TearDown();
    MsprofNotifySetDevice(0, 2, false);
  }
  /// Forks a child that starts, stops and looks for itself. @return which of its steps failed, 0: none
  int ForkOne() {
    const std::string out = directory_ / ("child" + std::to_string(++children_));
    const pid_t child = fork();
    if (child == 0) {
      g_is_child = true;
      alarm(120);  // instead of hanging
      _exit(ProfilesItself(out));
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return -1;
    if (!WIFEXITED(status)) return 1000 + WTERMSIG(status);
    if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    const auto found = ProfDirectories(out);
    if (found.size() != 1) return 100;
    const auto manifest = Manifest(found[0]);
    if (manifest["complete"] != true || !manifest["devices"].empty()) return 101;
    return Kept(manifest, "msproftx") == 2 && Kept(manifest, "api_event") == 3 ? 0 : 102;
  }
  static uint64_t Started(const nlohmann::json& manifest, int id) {
    uint64_t started = 0;
    for (const auto& device : manifest["devices"]) {
      if (device["id"] == id) started += device["tasks"]["started"].get<uint64_t>();
    }
    return started;
  }

 private:
  static int ProfilesItself(const std::string& out) {
    npuprofStatus status{};
    status.size = sizeof(status);
    if (npuprofGetStatus(&status) != 0 || status.running != 0 || status.mode != NPUPROF_MODE_OFF) return 1;
    if (*MsprofGetPath()) return 2;
    if (aclprofInit(out.c_str(), out.size()) != 0) return 3;
    aclprofConfig* own = Config({}, ACL_PROF_MSPROFTX);
    if (!own || aclprofStart(own) != 0) return 4;
    void* stamp = aclprofCreateStamp();
    if (aclprofMark(stamp) != 0 || aclprofMark(stamp) != 0) return 5;
    for (int i = 0; i < 3; ++i) {
      const MsprofApi call = Call(1);
      if (MsprofReportApi(1, &call) != 0) return 6;
    }
    aclprofDestroyStamp(stamp);
    if (aclprofStop(own) != 0 || aclprofDestroyConfig(own) != 0) return 7;
    return aclprofFinalize() == 0 ? 0 : 8;
  }

  int children_ = 0;
};

// The child walked the devices of the session as another thread was just changing them.
TEST_F(DeviceFork, InAWindowWhileAThreadOpensAndClosesADeviceHarmsNeither) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "a child that is forked while another thread allocates finds AddressSanitizer's allocator locked";
#endif
  aclprofConfig* config = Config({0, 1}, kTypes);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  std::atomic<bool> stop{false};
  std::atomic<unsigned> turns{0};
  std::thread changing([&] {
    for (; !stop; ++turns) {
      MsprofNotifySetDevice(0, 1, false);
      MsprofNotifySetDevice(0, 1, true);
    }
  });
  unsigned tasks = 0;
  for (unsigned i = 0; i < 8; ++i) {
    Run(0, 3 + i);
    tasks += 3 + i;
    EXPECT_EQ(ForkOne(), 0);
  }
  stop = true;
  changing.join();
  EXPECT_GT(turns, 0u);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(manifest["complete"], true) << manifest["messages"];
  EXPECT_EQ(Started(manifest, 0), tasks);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceFork, WhileTwoWindowsRunHarmsNeither) {
  aclprofConfig* first = Config({0}, kTypes);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0 | ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  Run(0, 4);
  Run(1, 5);
  EXPECT_EQ(ForkOne(), 0);
  Run(0, 6);
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(ForkOne(), 0);
  Run(1, 7);
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  EXPECT_EQ(Started(Manifest(ProfDirectories().at(0)), 0), 10u);
  EXPECT_EQ(Started(Manifest(ProfDirectories().at(1)), 1), 12u);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(1)), "msproftx"), 0u) << "the child's marks are its own";
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceFork, ADeviceThatTheParentUsesIsRefusedToTheChildByName) {
  Run(0, 1);
  const pid_t child = fork();
  if (child == 0) {
    g_is_child = true;
    alarm(120);  // instead of hanging
    const std::string out = directory_ / "child";
    if (aclprofInit(out.c_str(), out.size()) != 0 || MsprofNotifySetDevice(0, 0, true) != 0) _exit(1);
    aclprofConfig* own = Config({0}, kTypes);
    if (!own || aclprofStart(own) != 500005) _exit(2);
    if (Message().find("the process that this one was forked from") == std::string::npos) _exit(3);
    _exit(std::filesystem::exists(out) && !ProfDirectories(out).empty() ? 4 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(DeviceFork, AfterAWarmUpLeavesItTheParents) {
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_EQ(aclprofWarmup(config), 0) << Message();
  Run(0, 4);
  EXPECT_EQ(ForkOne(), 0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 6);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  ASSERT_EQ(ProfDirectories().size(), 1u);
  EXPECT_EQ(Started(Manifest(ProfDirectories().at(0)), 0), 6u);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceFork, DuringASubscriptionLeavesItTheParents) {
  ASSERT_EQ(aclprofFinalize(), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  aclprofSubscribeConfig* wish = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
  ASSERT_EQ(MsprofSetDeviceIdByGeModelIdx(7, 0), 0);
  ASSERT_EQ(aclprofModelSubscribe(7, wish), 0) << Message();
  EXPECT_EQ(ForkOne(), 0);
  EXPECT_EQ(aclprofModelSubscribe(7, wish), 148046) << "it goes on";
  EXPECT_EQ(aclprofModelUnSubscribe(7), 0) << Message();
  EXPECT_EQ(ends[1], -1) << "the pipe is closed with its last subscription";
  EXPECT_EQ(aclprofDestroySubscribeConfig(wish), 0);
  EXPECT_EQ(MsprofUnsetDeviceIdByGeModelIdx(7, 0), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace npuprof
