// SPDX-License-Identifier: Apache-2.0
// Windows of one program that run at the same time, each of devices of its own.
#include <chrono>
#include <thread>
#include <tuple>

#include "device_fixture.h"
#include "mstx/ms_tools_ext.h"
#include "npuprof/acl_prof_loaded.h"
#include "refused_calls.h"

namespace {
std::vector<uint64_t> g_device_marks;
}  // namespace

// What mstx asks the runtime for; there is none here.
extern "C" __attribute__((visibility("default"))) int rtProfilerTraceEx(uint64_t index, uint64_t, uint16_t,
                                                                        void*) {
  g_device_marks.push_back(index);
  return 0;
}

namespace npuprof {
namespace {

class Windows : public DeviceSession {
 protected:
  void SetUp() override {
    setenv("NPUSIM_DEVICES", "3", 1);
    DeviceSession::SetUp();
    ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0);
  }
  /// Reports @p count calls of the host.
  static void ReportCalls(unsigned count) {
    const MsprofApi call = Call(1);
    for (unsigned i = 0; i < count; ++i) ASSERT_EQ(MsprofReportApi(1, &call), 0);
  }
  static std::string Settings(const nlohmann::json& manifest) { return manifest["settings"].dump(); }
};

TEST_F(Windows, DisjointDevicesHaveADirectoryEachWithTheirOwnSettingsAndRecords) {
  aclprofConfig* first = Config({0}, kTypes);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0 | ACL_PROF_MSPROFTX);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  Run(0, 3);
  Run(1, 5);
  ReportCalls(10);
  ASSERT_EQ(Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "100"), 0);
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  ASSERT_EQ(ProfDirectories().size(), 2u);
  Run(0, 30);
  Run(1, 50);
  ReportCalls(100);
  void* stamp = aclprofCreateStamp();
  EXPECT_EQ(aclprofMark(stamp), 0);
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  Run(0, 7);
  Run(1, 9);
  ReportCalls(1000);
  EXPECT_EQ(aclprofMark(stamp), 0);
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  ReportCalls(10000);

  const auto a = Manifest(ProfDirectories().at(0)), b = Manifest(ProfDirectories().at(1));
  for (const auto& [manifest, device, tasks, calls, marks] :
       {std::tuple(a, 0, 33, 110u, 0u), std::tuple(b, 1, 59, 1100u, 2u)}) {
    EXPECT_EQ(manifest["complete"], true) << manifest["messages"];
    ASSERT_EQ(manifest["devices"].size(), 1u);
    EXPECT_EQ(manifest["devices"][0]["id"], device);
    EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], tasks);
    EXPECT_EQ(Kept(manifest, "api_event"), calls);
    EXPECT_EQ(Kept(manifest, "msproftx"), marks) << "only one of the two asked for marks";
    EXPECT_EQ(Lost(manifest, "api_event"), 0u);
  }
  EXPECT_EQ(Settings(a), R"({"ACL_PROF_HOST_SYS":"mem"})");
  EXPECT_EQ(Settings(b), R"({"ACL_PROF_SYS_HARDWARE_MEM_FREQ":"100"})");
  EXPECT_FALSE(std::filesystem::exists(ProfDirectories().at(0) / "device_1"));
  EXPECT_FALSE(std::filesystem::exists(ProfDirectories().at(1) / "device_0"));
  aclprofDestroyStamp(stamp);
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

TEST_F(Windows, OverlappingDevicesJoinOrAreRefused) {
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* both = Config({0, 1}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* other = Config({0, 1}, kTypes);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  EXPECT_EQ(aclprofStart(first), 0) << "the same again is nothing";
  EXPECT_EQ(aclprofStart(other), 100010) << "other data types on a device that is profiled";
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  EXPECT_EQ(aclprofStart(both), 0) << "all of its devices are profiled so already";
  EXPECT_EQ(aclprofStart(other), 100010);
  EXPECT_EQ(aclprofWarmup(first), 148047);
  EXPECT_EQ(ProfDirectories().size(), 2u);
  // A device that has a window may be started anew once that has ended.
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(aclprofStop(other), 100010) << "the data types of the one that runs are compared";
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  Run(0, 4);
  ASSERT_EQ(aclprofStop(both), 0) << Message();
  ASSERT_EQ(ProfDirectories().size(), 3u);
  EXPECT_EQ(Manifest(ProfDirectories().at(2))["devices"][0]["tasks"]["started"], 4);
  for (aclprofConfig* config : {first, second, both, other}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, ADeviceMoreForTwoWindowsIsRefused) {
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* third = Config({2}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* all = Config({0, 1, 2}, ACL_PROF_TASK_TIME_L0);
  ASSERT_NE(all, nullptr) << Message();
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  EXPECT_EQ(aclprofStart(all), 100042);
  EXPECT_NE(Message().find("device 2 is in none"), std::string::npos) << Message();
  EXPECT_EQ(aclprofStop(third), 100010) << "no window has a device of it";
  EXPECT_NE(Message().find("2 windows run"), std::string::npos) << Message();
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["complete"], true);
  EXPECT_EQ(Manifest(ProfDirectories().at(1))["complete"], false) << "goes on";
  ASSERT_EQ(aclprofStop(third), 0) << "one window is meant whatever devices are named";
  for (aclprofConfig* config : {first, second, third, all}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, TheHostAloneIsInEveryWindow) {
  aclprofConfig* host = Config({}, ACL_PROF_MSPROFTX);
  aclprofConfig* device = Config({0}, ACL_PROF_MSPROFTX);
  aclprofConfig* other = Config({1}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(host), 0) << Message();
  EXPECT_EQ(aclprofStart(other), 100010);
  EXPECT_EQ(aclprofStart(device), 0) << Message();
  EXPECT_EQ(ProfDirectories().size(), 1u) << "the device joined";
  EXPECT_EQ(aclprofStart(other), 0) << Message();
  EXPECT_EQ(ProfDirectories().size(), 2u);
  EXPECT_EQ(aclprofStart(host), 0) << "its marks are recorded already";
  EXPECT_EQ(aclprofStop(host), 100010) << "the host of the other window too, which has other data types";
  EXPECT_EQ(aclprofStop(nullptr), 0) << Message();
  for (aclprofConfig* config : {host, device, other}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, FinalizeAndStopWithoutAConfigurationEndAll) {
  aclprofConfig* first = Config({0}, kTypes);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0);
  for (const bool finalize : {false, true}) {
    ASSERT_EQ(aclprofStart(first), 0) << Message();
    ASSERT_EQ(aclprofStart(second), 0) << Message();
    Run(0, 2);
    Run(1, 3);
    if (finalize) {
      ASSERT_EQ(aclprofFinalize(), 0) << Message();
    } else {
      ASSERT_EQ(aclprofStop(nullptr), 0) << Message();
    }
    const auto found = ProfDirectories();
    ASSERT_EQ(found.size(), finalize ? 4u : 2u);
    for (size_t i = found.size() - 2; i < found.size(); ++i) {
      EXPECT_EQ(Manifest(found[i])["complete"], true) << Manifest(found[i])["messages"];
      EXPECT_EQ(Manifest(found[i])["devices"][0]["tasks"]["started"], i % 2 ? 3 : 2);
    }
  }
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

std::vector<std::pair<uint32_t, std::pair<uint64_t, std::vector<uint32_t>>>> g_told;
int32_t Component(uint32_t, void* data, uint32_t) {
  const auto* command = static_cast<const MsprofCommandHandle*>(data);
  g_told.push_back({command->type,
                    {command->profSwitch & (ACL_PROF_ACL_API | ACL_PROF_MSPROFTX),
                     {command->devIdList, command->devIdList + command->devNums}}});
  return 0;
}

// A component that were stopped for a moment would report nothing in it, which the window that goes on would miss.
TEST_F(Windows, ComponentsAreToldWhatAllWindowsWantAndStopWithTheLast) {
  using Devices = std::vector<uint32_t>;
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_HCCL, Component), 0);
  aclprofConfig* first = Config({0}, ACL_PROF_ACL_API);
  aclprofConfig* second = Config({1}, ACL_PROF_MSPROFTX);
  g_told.clear();
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  ASSERT_EQ(g_told.size(), 4u);
  EXPECT_EQ(g_told[0].first, 1u);
  EXPECT_EQ(g_told[0].second, std::pair(uint64_t{ACL_PROF_ACL_API}, Devices{0}));
  EXPECT_EQ(g_told[1].first, 1u);
  EXPECT_EQ(g_told[1].second, std::pair(uint64_t{ACL_PROF_ACL_API | ACL_PROF_MSPROFTX}, Devices{1, 0}));
  EXPECT_EQ(g_told[2].first, 1u);
  EXPECT_EQ(g_told[2].second, std::pair(uint64_t{ACL_PROF_MSPROFTX}, Devices{1}));
  EXPECT_EQ(g_told[3].first, 2u);
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

TEST_F(Windows, ARangeOfOneWindowGoesOnWhenAnotherBeginsAndEnds) {
  aclprofConfig* first = Config({0}, ACL_PROF_MSPROFTX);
  aclprofConfig* second = Config({1}, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  void* stamp = aclprofCreateStamp();
  uint32_t range = 0;
  ASSERT_EQ(aclprofRangeStart(stamp, &range), 0);
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  EXPECT_EQ(aclprofRangeStop(range), 0) << Message();
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(0)), "msproftx"), 1u);
  aclprofDestroyStamp(stamp);
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

// Numbers of the process that each window took for itself when it ended, so that the next one lacked them.
TEST_F(Windows, WhatIsNotKeptIsToldInEachWindowInWhichItWasReported) {
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0);
  char text[] = "seven b";
  const auto report = [&] { MsprofReportData(7, MSPROF_REPORTER_REPORT, text, sizeof(text)); };
  const auto told = [&](size_t window) {
    const std::string messages = Manifest(ProfDirectories().at(window))["messages"].dump();
    const size_t at = messages.find(" reports through MsprofReportData were not kept");
    return at == std::string::npos ? std::string() : messages.substr(at - 1, 1);
  };
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  report();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  report();
  report();
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  report();
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(told(0), "4");
  EXPECT_EQ(told(1), "2");
  EXPECT_EQ(told(2), "");
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

// It would begin before everything else in the directory, and its other half is in another one.
TEST_F(Windows, ARangeThatBeganBeforeAWindowIsCountedThereAndNotRecorded) {
  aclprofConfig* first = Config({0}, ACL_PROF_MSPROFTX);
  aclprofConfig* second = Config({1}, ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  void* stamp = aclprofCreateStamp();
  uint32_t early = 0, late = 0;
  ASSERT_EQ(aclprofRangeStart(stamp, &early), 0);
  const mstxRangeId named = mstxRangeStartA("early", nullptr);
  ASSERT_EQ(aclprofPush(stamp), 0);
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  ASSERT_EQ(aclprofRangeStart(stamp, &late), 0);
  const mstxRangeId open = mstxRangeStartA("never ended", nullptr);
  EXPECT_NE(open, 0u);
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(aclprofRangeStop(early), 0) << Message();
  EXPECT_EQ(aclprofRangeStop(late), 0) << Message();
  EXPECT_EQ(aclprofPop(), 0) << Message();
  mstxRangeEnd(named);
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  const auto a = Manifest(ProfDirectories().at(0)), b = Manifest(ProfDirectories().at(1));
  EXPECT_EQ(Kept(a, "msproftx"), 0u);
  EXPECT_EQ(Kept(b, "msproftx"), 1u) << "the range that lies within it";
  const std::string of_a = a["messages"].dump(), of_b = b["messages"].dump();
  EXPECT_NE(of_a.find("2 ranges of aclprofRangeStart were not stopped"), std::string::npos) << of_a;
  EXPECT_NE(of_a.find("2 ranges of mstx were not ended"), std::string::npos) << of_a;
  EXPECT_NE(of_b.find("3 ranges of marks ended here, but began before"), std::string::npos) << of_b;
  EXPECT_NE(of_b.find("1 ranges of mstx were not ended"), std::string::npos) << of_b;
  aclprofDestroyStamp(stamp);
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, TheStatusIsOfTheNewestThatRunsThoughALaterOneHasEnded) {
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0);
  const auto status = [] {
    npuprofStatus told{};
    told.size = sizeof(told);
    EXPECT_EQ(npuprofGetStatus(&told), 0);
    return told;
  };
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  const auto begun = status();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  const auto both = status();
  EXPECT_EQ(both.directory, ProfDirectories().at(1).string());
  EXPECT_GT(both.beginNs, begun.beginNs) << "of the same window as the directory";
  const char* path = MsprofGetPath();
  EXPECT_EQ(path, ProfDirectories().at(1).string());
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  const auto left = status();
  EXPECT_EQ(left.running, 1);
  EXPECT_EQ(left.directory, ProfDirectories().at(0).string());
  EXPECT_EQ(left.beginNs, begun.beginNs);
  EXPECT_EQ(MsprofGetPath(), ProfDirectories().at(0).string());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(path, ProfDirectories().at(1).string()) << "valid until eight more have ended";
    ASSERT_EQ(aclprofStart(second), 0) << Message();
    if (i < 7) {
      ASSERT_EQ(aclprofStop(second), 0) << Message();
    }
  }
  ASSERT_EQ(aclprofStop(nullptr), 0) << Message();
  const auto ended = status();
  EXPECT_EQ(ended.running, 0);
  EXPECT_EQ(ended.beginNs, 0u);
  EXPECT_EQ(ended.directory, ProfDirectories().back().string()) << "of the one that began last";
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, ADeviceThatIsOpenedJoinsTheOldestWindowIfTheProgramAskedForAll) {
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({1}, kTypes);
  aclprofConfig* third = Config({2}, kTypes);
  ASSERT_EQ(aclprofRegisterDeviceCallback(), 0);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  ASSERT_EQ(MsprofNotifySetDevice(0, 2, true), 0);
  Run(2, 3);
  EXPECT_EQ(aclprofStart(third), 100010) << "the device has a window with other data types by now";
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  EXPECT_EQ(aclprofStart(third), 0) << Message();
  Run(2, 4);
  ASSERT_EQ(aclprofStop(nullptr), 0) << Message();
  uint64_t tasks[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    const auto manifest = Manifest(ProfDirectories().at(i));
    for (const auto& device : manifest["devices"]) {
      if (device["id"] == 2) tasks[i] += device["tasks"]["started"].get<uint64_t>();
    }
  }
  EXPECT_EQ(tasks[0], 3u);
  EXPECT_EQ(tasks[1], 0u);
  EXPECT_EQ(tasks[2], 4u);
  MsprofNotifySetDevice(0, 2, false);
  for (aclprofConfig* config : {first, second, third}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, OneWindowGoesOnInItsNextDirectoryAndTheOtherInItsOwn) {
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_HCCL, Component), 0);
  aclprofConfig* first = Config({0}, ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0);
  g_told.clear();
  setenv("NPUPROF_ROTATE_MB", "1", 1);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  unsetenv("NPUPROF_ROTATE_MB");
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  Run(1, 3);
  void* stamp = aclprofCreateStamp();
  uint32_t range = 0;
  ASSERT_EQ(aclprofPush(stamp), 0) << "ranges that go on into the next directory";
  ASSERT_EQ(aclprofRangeStart(stamp, &range), 0);
  g_device_marks.clear();
  const mstxRangeId of_device = mstxRangeStartA("goes on", &range);
  ASSERT_NE(of_device, 0u);
  aclprofMsproftxSwitch(false);
  uint64_t reported = 0;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
       ProfDirectories().size() < 3 && std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    ReportCalls(500);
    reported += 500;
  }
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0) << "waits until the next directory is open";
  EXPECT_EQ(aclprofMark(stamp), 0);
  aclprofMsproftxSwitch(true);
  EXPECT_EQ(aclprofPop(), 0) << Message();
  EXPECT_EQ(aclprofRangeStop(range), 0) << Message();
  mstxRangeEnd(of_device);
  EXPECT_EQ(g_device_marks, (std::vector<uint64_t>{of_device, of_device})) << "begin and end";
  aclprofDestroyStamp(stamp);
  Run(1, 4);
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  ReportCalls(500);
  reported += 500;
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  uint64_t turned_over = 0, parts = 0, ranges = 0;
  for (const auto& directory : ProfDirectories()) {
    const auto manifest = Manifest(directory);
    EXPECT_EQ(manifest["complete"], true) << manifest["messages"];
    ASSERT_EQ(manifest["devices"].size(), 1u);
    EXPECT_EQ(Lost(manifest, "api_event"), 0u);
    EXPECT_EQ(manifest["messages"].dump().find("ranges of"), std::string::npos) << manifest["messages"];
    if (manifest["devices"][0]["id"] == 1) {
      EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 7);
      EXPECT_EQ(Kept(manifest, "api_event"), reported);
      EXPECT_FALSE(manifest.contains("continues"));
    } else {
      EXPECT_EQ(manifest.contains("continues"), parts > 0);
      turned_over += Kept(manifest, "api_event");
      ranges += Kept(manifest, "msproftx");
      ++parts;
    }
  }
  EXPECT_GE(parts, 2u);
  EXPECT_EQ(ranges, 3u) << "what was switched off stays off";
  EXPECT_GT(turned_over, 0u);
  EXPECT_LE(turned_over, reported - 500);
  // The other window goes on while one turns over, and so do components.
  for (size_t i = 0; i + 1 < g_told.size(); ++i) EXPECT_EQ(g_told[i].first, 1u) << i;
  EXPECT_EQ(g_told.back().first, 2u);
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, ADirectoryThatCannotBeBegunLetsTheOneBeforeGoOnAndIsTriedAgain) {
  aclprofConfig* config = Config({0}, kTypes);
  setenv("NPUPROF_ROTATE_MB", "1", 1);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  unsetenv("NPUPROF_ROTATE_MB");
  refused::g_count = 0;
  refused::g_directories = "PROF_";
  uint64_t reported = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (; refused::g_count == 0 && std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    ReportCalls(500);
    reported += 500;
  }
  Run(0, 5);
  for (; refused::g_count < 2 && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(refused::g_count, 2u) << "it is tried again";
  EXPECT_EQ(ProfDirectories().size(), 1u);
  refused::g_directories = nullptr;
  for (; ProfDirectories().size() < 2 && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0) << "waits until the next directory is open";
  EXPECT_EQ(status.running, 1);
  Run(0, 6);
  ReportCalls(7);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  ASSERT_EQ(ProfDirectories().size(), 2u);
  const auto first = Manifest(ProfDirectories().at(0)), second = Manifest(ProfDirectories().at(1));
  EXPECT_EQ(first["complete"], true) << first["messages"];
  EXPECT_EQ(second["complete"], true) << second["messages"];
  EXPECT_EQ(Kept(first, "api_event"), reported);
  EXPECT_EQ(Kept(second, "api_event"), 7u);
  EXPECT_EQ(first["devices"][0]["tasks"]["started"], 5);
  EXPECT_EQ(second["devices"][0]["tasks"]["started"], 6);
  EXPECT_EQ(second["continues"]["directory"], ProfDirectories().at(0).filename().string());
  EXPECT_EQ(Number(ProfDirectories().at(1)), Number(ProfDirectories().at(0)) + 1);
  const auto said = [](const nlohmann::json& manifest) {
    return std::ranges::count_if(manifest["messages"], [](const auto& message) {
      return message["text"].template get<std::string>().find("could not be begun") != std::string::npos;
    });
  };
  EXPECT_EQ(said(first), 1) << first["messages"];
  EXPECT_EQ(said(second), 0) << second["messages"];
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, AWindowThatCannotTurnOverIsGoneAndTheNextStartCollects) {
  aclprofConfig* config = Config({0}, ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
  setenv("NPUPROF_ROTATE_MB", "1", 1);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  unsetenv("NPUPROF_ROTATE_MB");
  void* stamp = aclprofCreateStamp();
  uint32_t range = 0;
  ASSERT_EQ(aclprofRangeStart(stamp, &range), 0);
  refused::g_count = 0;
  refused::g_renames = "/start_info";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (; refused::g_count == 0 && std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    ReportCalls(500);
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0) << "waits until the turn has failed";
  refused::g_renames = nullptr;
  EXPECT_EQ(status.running, 0);
  EXPECT_EQ(aclprofMarkEx("x", 1, &range), -1) << "no session runs";
  EXPECT_EQ(aclprofRangeStop(range), -1);
  EXPECT_EQ(aclprofStop(config), 0) << "nothing is left to stop";
  ASSERT_EQ(ProfDirectories().size(), 1u);
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["complete"], true);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  EXPECT_EQ(aclprofMark(stamp), 0);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  ASSERT_EQ(ProfDirectories().size(), 2u);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(1)), "msproftx"), 1u);
  aclprofDestroyStamp(stamp);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, AnotherWindowsStartSwitchesStampsOnAgain) {
  aclprofConfig* first = Config({0}, ACL_PROF_MSPROFTX);
  aclprofConfig* second = Config({1}, ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  void* stamp = aclprofCreateStamp();
  aclprofMsproftxSwitch(false);
  EXPECT_EQ(aclprofMark(stamp), 0);
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  EXPECT_EQ(aclprofMark(stamp), 0);
  ASSERT_EQ(aclprofStop(nullptr), 0) << Message();
  for (const auto& directory : ProfDirectories()) EXPECT_EQ(Kept(Manifest(directory), "msproftx"), 1u);
  aclprofDestroyStamp(stamp);
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, TheWindowThatWasStartedLastChoosesDomainsForAll) {
  aclprofConfig* first = Config({0}, ACL_PROF_MSPROFTX);
  aclprofConfig* second = Config({1}, ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
  mstxDomainHandle_t domain = mstxDomainCreateA("windows");
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  mstxDomainMarkA(domain, "one", nullptr);
  setenv("NPUPROF_MSTX_DOMAIN_EXCLUDE", "windows", 1);
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  unsetenv("NPUPROF_MSTX_DOMAIN_EXCLUDE");
  mstxDomainMarkA(domain, "two", nullptr);
  mstxMarkA("three", nullptr);
  ASSERT_EQ(aclprofStop(nullptr), 0) << Message();
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(0)), "msproftx"), 2u);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(1)), "msproftx"), 1u);
  mstxDomainDestroy(domain);
  for (aclprofConfig* config : {first, second}) EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Windows, TheStatusTellsOfAllAndADeviceThatClosesLeavesTheOthers) {
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({1}, ACL_PROF_TASK_TIME_L0 | ACL_PROF_MSPROFTX);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0);
  EXPECT_EQ(status.running, 1);
  EXPECT_EQ(status.deviceCount, 2u);
  EXPECT_EQ(status.dataTypes & ACL_PROF_MSPROFTX, ACL_PROF_MSPROFTX);
  EXPECT_EQ(status.directory, ProfDirectories().back().string());
  ASSERT_EQ(MsprofNotifySetDevice(0, 0, false), 0);
  Run(1, 6);
  ASSERT_EQ(MsprofNotifySetDevice(0, 0, true), 0);
  Run(0, 2);
  ASSERT_EQ(aclprofStop(nullptr), 0) << Message();
  EXPECT_EQ(Manifest(ProfDirectories().at(1))["devices"][0]["tasks"]["started"], 6);
  uint64_t started = 0;
  const auto manifest = Manifest(ProfDirectories().at(0));
  for (const auto& device : manifest["devices"]) {
    EXPECT_EQ(device["id"], 0);
    started += device["tasks"]["started"].get<uint64_t>();
  }
  EXPECT_EQ(started, 2u);
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

}  // namespace
}  // namespace npuprof
