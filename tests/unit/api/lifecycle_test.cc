// SPDX-License-Identifier: Apache-2.0
// Sequences of calls in a process without a device: marks and host data only.
#include <atomic>
#include <thread>

#include "lifecycle.h"
#include "mstx/ms_tools_ext.h"
#include "npuprof/acl_prof_loaded.h"

namespace npuprof {
namespace {

TEST_F(Lifecycle, OneSessionFillsACompleteDirectory) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "cpu,mem"), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  for (uint64_t i = 0; i < 100; ++i) {
    const MsprofApi call = Call(i);
    EXPECT_EQ(MsprofReportApi(1, &call), 0);
  }
  ASSERT_EQ(aclprofStop(config_), 0) << Message();
  const auto found = ProfDirectories();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(MsprofGetPath(), found[0].string());
  const auto manifest = Manifest(found[0]);
  EXPECT_EQ(manifest["complete"], true);
  EXPECT_EQ(manifest["simulated"], false);
  EXPECT_EQ(manifest["devices"].size(), 0u);
  EXPECT_EQ(manifest["data_types"], "0x4000000000000080");
  EXPECT_EQ(Kept(manifest, "api_event"), 100u);
  EXPECT_GE(Kept(manifest, "host_cpu"), 1u);
  EXPECT_GE(Kept(manifest, "host_mem"), 1u);
  EXPECT_GT(manifest["host"]["cycle_hz"], 0);
  EXPECT_GT(manifest["cost"]["start_ns"], 0);
  EXPECT_GT(manifest["cost"]["stop_ns"], 0);
  EXPECT_EQ(Data(found[0], "host/data/aging.api_event.data").size(), 100 * sizeof(MsprofApi));
  for (const char* name :
       {"host/info.json", "host/sample.json", "host/start_info", "host/end_info", "host/host_start.log"}) {
    EXPECT_TRUE(std::filesystem::exists(found[0] / name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(found[0] / "host/data/aging.api_event.data.slice_0.done"));
  EXPECT_EQ(Json(found[0] / "host/info.json")["devices"], "64");
  EXPECT_EQ(Json(found[0] / "host/sample.json")["devices"], "64");
}

TEST_F(Lifecycle, EachStartMakesADirectoryWithTheNextNumber) {
  ASSERT_EQ(Init(), 0);
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(aclprofStart(config_), 0);
    for (uint64_t i = 0; i < round; ++i) {
      const MsprofApi call = Call(i);
      EXPECT_EQ(MsprofReportApi(1, &call), 0);
    }
    ASSERT_EQ(aclprofStop(config_), 0);
    const MsprofApi outside = Call(99);
    EXPECT_EQ(MsprofReportApi(1, &outside), 0);
  }
  const auto found = ProfDirectories();
  ASSERT_EQ(found.size(), 3u);
  for (uint64_t round = 1; round <= 3; ++round) {
    EXPECT_EQ(Number(found[round - 1]), Number(found[0]) + round - 1);
    EXPECT_EQ(Kept(Manifest(found[round - 1]), "api_event"), round);
  }
}

TEST_F(Lifecycle, ASecondStartWithTheSameTypesChangesNothingAndWithOthersIsRefused) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  EXPECT_EQ(aclprofStart(config_), 0);
  aclprofConfig* other = Config({}, ACL_PROF_MSPROFTX | ACL_PROF_ACL_API);
  EXPECT_EQ(aclprofStart(other), 100010);
  EXPECT_EQ(aclprofStop(other), 100010);
  EXPECT_NE(Message().find("0x4000000000000081"), std::string::npos) << Message();
  aclprofConfig* equal = Config({}, ACL_PROF_MSPROFTX, ACL_AICORE_MEMORY_UB);
  EXPECT_EQ(aclprofStop(equal), 0) << "only data types are compared";
  EXPECT_EQ(aclprofStop(equal), 0) << "nothing runs any more";
  EXPECT_EQ(aclprofDestroyConfig(other), 0);
  EXPECT_EQ(aclprofDestroyConfig(equal), 0);
  EXPECT_EQ(ProfDirectories().size(), 1u);
}

TEST_F(Lifecycle, StopWithoutAConfigurationStopsWhateverRuns) {
  ASSERT_EQ(Init(), 0);
  EXPECT_EQ(aclprofStop(nullptr), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  EXPECT_EQ(aclprofStop(nullptr), 0);
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["complete"], true);
}

TEST_F(Lifecycle, FinalizeStopsARunningSessionAndTheNextStartCollectsAgain) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  const MsprofApi call = Call(1);
  EXPECT_EQ(MsprofReportApi(1, &call), 0);
  const uint64_t id = MsprofGetHashId("late_name", 9);
  EXPECT_EQ(aclprofFinalize(), 0);
  const auto first = ProfDirectories().at(0);
  EXPECT_EQ(Manifest(first)["complete"], true);
  EXPECT_EQ(Kept(Manifest(first), "api_event"), 1u);
  EXPECT_NE(Data(first, "host/data/unaging.additional.hash_dic").find(std::to_string(id) + ":late_name\n"),
            std::string::npos);
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  EXPECT_EQ(MsprofReportApi(1, &call), 0);
  EXPECT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(1)), "api_event"), 1u);
  EXPECT_NE(Data(ProfDirectories().at(1), "host/data/unaging.additional.hash_dic").find("late_name"),
            std::string::npos)
      << "every session gets all names";
}

TEST_F(Lifecycle, SettingsBelongToTheWindowTheyWereSetFor) {
  const auto samples = [&](size_t session) {
    return std::filesystem::exists(ProfDirectories().at(session) / "host/data/host_mem.data.slice_0");
  };
  const auto settings = [&](size_t session) { return Manifest(ProfDirectories().at(session))["settings"]; };
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_FALSE(samples(0)) << "a running window does not change";
  EXPECT_EQ(settings(0), nlohmann::json::object());
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_TRUE(samples(1));
  EXPECT_EQ(settings(1), (nlohmann::json{{"ACL_PROF_HOST_SYS", "mem"}}));
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_FALSE(samples(2)) << "a light window does not inherit the heavy one before it";
  EXPECT_EQ(settings(2), nlohmann::json::object());
  EXPECT_NE(Manifest(ProfDirectories().at(2))["messages"].dump().find("ended with it: ACL_PROF_HOST_SYS"),
            std::string::npos);
}

TEST_F(Lifecycle, AWarmUpHasThePublishedCodes) {
  EXPECT_EQ(aclprofWarmup(nullptr), 100000);
  EXPECT_EQ(aclprofWarmup(config_), 100043) << "it does not initialise by itself";
  ASSERT_EQ(Init(), 0);
  EXPECT_EQ(aclprofWarmup(nullptr), 100000);
  aclprofConfig* unknown = Config({}, ACL_PROF_MSPROFTX | 0x10000);
  EXPECT_EQ(aclprofWarmup(unknown), 200007);
  ASSERT_EQ(aclprofWarmup(config_), 0) << Message();
  EXPECT_EQ(aclprofWarmup(config_), 148047) << "twice";
  aclprofConfig* other = Config({}, ACL_PROF_MSPROFTX | ACL_PROF_ACL_API);
  EXPECT_EQ(aclprofStart(other), 0) << "its content does not matter";
  EXPECT_EQ(aclprofWarmup(config_), 148047) << "a session runs";
  EXPECT_EQ(aclprofStop(config_), 0) << Message();
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["data_types"], "0x4000000000000080") << "those of the warm-up";
  EXPECT_EQ(aclprofDestroyConfig(other), 0);
  EXPECT_EQ(aclprofDestroyConfig(unknown), 0);
}

TEST_F(Lifecycle, AWarmUpIsNoPartOfTheWindow) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  ASSERT_EQ(aclprofWarmup(config_), 0) << Message();
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0) << "programs set it again";
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS_USAGE, "cpu"), 0);
  const MsprofApi early = Call(1), call = Call(2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(MsprofReportApi(1, &early), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(MsprofReportApi(1, &call), 0);
  ASSERT_EQ(aclprofStop(config_), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(Kept(manifest, "api_event"), 3u);
  EXPECT_EQ(manifest["settings"], (nlohmann::json{{"ACL_PROF_HOST_SYS", "mem"}}));
  EXPECT_NE(manifest["messages"].dump().find("without effect: ACL_PROF_HOST_SYS_USAGE"), std::string::npos);
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(Manifest(ProfDirectories().at(1))["settings"], nlohmann::json::object());
}

TEST_F(Lifecycle, AWarmUpThatIsNotStartedLeavesNothing) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofWarmup(config_), 0) << Message();
  EXPECT_EQ(aclprofStop(config_), 0);
  EXPECT_TRUE(ProfDirectories().empty());
  ASSERT_EQ(aclprofWarmup(config_), 0) << "the stop ended it";
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_TRUE(ProfDirectories().empty());
  ASSERT_EQ(Init("/proc/nowhere"), 0);
  EXPECT_EQ(aclprofWarmup(config_), 100003);
  EXPECT_EQ(aclprofWarmup(config_), 100003) << "a failed one leaves no state";
  ASSERT_EQ(Set(ACL_PROF_PATH, directory_.string()), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(ProfDirectories().size(), 1u);
}

// A warm-up that cannot be opened takes no settings with it.
TEST_F(Lifecycle, AFailedStartAfterAWarmUpKeepsItsSettingsAndTheLaterOnes) {
  ASSERT_EQ(Init((directory_ / "init").string()), 0);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  ASSERT_EQ(Set(ACL_PROF_PATH, (directory_ / "set").string()), 0);
  ASSERT_EQ(aclprofWarmup(config_), 0) << Message();
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS_USAGE, "cpu"), 0);
  // Somebody clears up before the window opens.
  std::filesystem::remove_all(directory_ / "set");
  ASSERT_NE(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  ASSERT_EQ(aclprofStop(config_), 0);
  const auto manifest = Manifest(ProfDirectories(directory_ / "set").at(0));
  EXPECT_EQ(manifest["settings"]["ACL_PROF_HOST_SYS"], "mem");
  EXPECT_EQ(manifest["settings"]["ACL_PROF_HOST_SYS_USAGE"], "cpu");
}

TEST_F(Lifecycle, ThePathSettingMovesTheNextWindowAlone) {
  ASSERT_EQ(Init((directory_ / "init").string()), 0);
  ASSERT_EQ(Set(ACL_PROF_PATH, (directory_ / "once").string()), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(aclprofStart(config_), 0) << Message();
    ASSERT_EQ(aclprofStop(config_), 0);
  }
  EXPECT_EQ(ProfDirectories(directory_ / "once").size(), 1u);
  EXPECT_EQ(ProfDirectories(directory_ / "init").size(), 1u);
}

TEST_F(Lifecycle, AFailedStartKeepsTheSettingsForTheNextTry) {
  ASSERT_EQ(Init("/proc/nowhere"), 0);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  EXPECT_EQ(aclprofStart(config_), 100003);
  ASSERT_EQ(Set(ACL_PROF_PATH, directory_.string()), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_TRUE(std::filesystem::exists(ProfDirectories().at(0) / "host/data/host_mem.data.slice_0"));
}

TEST_F(Lifecycle, OneConfigurationServesTwoWindowsAndTwoThreads) {
  ASSERT_EQ(Init(), 0);
  for (int window = 0; window < 2; ++window) {
    std::thread([&] { EXPECT_EQ(aclprofStart(config_), 0) << Message(); }).join();
    const MsprofApi call = Call(1);
    EXPECT_EQ(MsprofReportApi(1, &call), 0);
    std::thread([&] { EXPECT_EQ(aclprofStop(config_), 0) << Message(); }).join();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(aclprofStart(config_), 0) << Message();
        EXPECT_EQ(aclprofStop(config_), 0) << Message();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto found = ProfDirectories();
  EXPECT_GE(found.size(), 2u + 10u);
  EXPECT_LE(found.size(), 2u + 20u);
  for (const auto& prof : found) EXPECT_EQ(Manifest(prof)["complete"], true) << prof;
  EXPECT_EQ(Kept(Manifest(found[0]), "api_event"), 1u);
  EXPECT_EQ(Kept(Manifest(found[1]), "api_event"), 1u);
}

TEST_F(Lifecycle, FinalizeForgetsSettings) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(Set(ACL_PROF_HOST_SYS, "mem"), 0);
  ASSERT_EQ(aclprofFinalize(), 0);
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_FALSE(std::filesystem::exists(ProfDirectories().at(0) / "host/data/host_mem.data.slice_0"));
}

TEST_F(Lifecycle, StartInitialisesByItselfIntoThePathSetting) {
  ASSERT_EQ(Set(ACL_PROF_PATH, (directory_ / "set").string()), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  EXPECT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(ProfDirectories(directory_ / "set").size(), 1u);
  EXPECT_EQ(Init(), 100002) << "the start has initialised";
  EXPECT_EQ(aclprofFinalize(), 0);
  // Before Init the setting does not count against it, after it it does.
  ASSERT_EQ(Set(ACL_PROF_PATH, (directory_ / "before").string()), 0);
  ASSERT_EQ(Init((directory_ / "init").string()), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "before"));
  EXPECT_EQ(ProfDirectories(directory_ / "init").size(), 1u);
  ASSERT_EQ(Set(ACL_PROF_PATH, (directory_ / "after").string()), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  ASSERT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(ProfDirectories(directory_ / "after").size(), 1u);
}

TEST_F(Lifecycle, AFailedStartLeavesTheStateAsItWas) {
  ASSERT_EQ(Set(ACL_PROF_PATH, "/proc/nowhere"), 0);
  EXPECT_EQ(aclprofStart(config_), 100003);
  EXPECT_EQ(Init(), 0) << "the start did not initialise";
  EXPECT_EQ(aclprofStart(config_), 0) << Message();
  EXPECT_EQ(aclprofStop(config_), 0);
}

TEST_F(Lifecycle, AConfigurationMayGoWhileItsSessionRuns) {
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  EXPECT_EQ(aclprofDestroyConfig(config_), 0);
  EXPECT_EQ(aclprofStop(config_), 100000) << "it lives no more";
  EXPECT_EQ(aclprofStop(nullptr), 0);
}

TEST_F(Lifecycle, DroppedRecordsAreCountedExactly) {
  // One MiB for all threads; this is read at the first session of the process.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("NPUPROF_HOST_RING_MB", "1", 1);
    aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
    if (Init() != 0 || aclprofStart(config) != 0) _exit(10);
    std::vector<MsprofAdditionalInfo> info(64);
    for (auto& record : info) {
      record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
      record.level = MSPROF_REPORT_TX_LEVEL;
      record.type = 7;  // that of marks has a name
      record.threadId = 77;
    }
    uint64_t refused = 0;
    for (int i = 0; i < 20'000; ++i) refused += MsprofReportAdditionalInfo(1, info.data(), 256) != 0;
    if (aclprofStop(config) != 0) _exit(11);
    const auto manifest = Manifest(ProfDirectories().at(0));
    const uint64_t kept = Kept(manifest, "level_20500_type_7"), lost = Lost(manifest, "level_20500_type_7");
    if (lost != refused) _exit(12);
    if (kept + lost != 20'000) _exit(13);
    if (lost && manifest["host"]["lost_by_cause"]["ring_full"] != lost) _exit(14);
    const auto& places = manifest["host"]["losses"];
    if (places.size() != (lost ? 1u : 0u)) _exit(16);
    if (lost) {
      const auto& place = places[0];
      const uint64_t first = place["first_monotonic_raw_ns"], last = place["last_monotonic_raw_ns"];
      if (place["cause"] != "ring_full" || place["count"] != lost || place["thread"] != 77) _exit(17);
      if (first > last || first < manifest["window"]["begin_monotonic_raw_ns"] ||
          last > manifest["window"]["end_monotonic_raw_ns"])
        _exit(18);
    }
    if (Data(ProfDirectories().at(0), "host/data/aging.additional.level_20500_type_7").size() != kept * 256)
      _exit(15);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Pieces have numbers of 16 bits.
TEST_F(Lifecycle, WhatIsBehindTheLastPieceOfAMessageIsToldOf) {
  constexpr size_t kPieces = 65536, kPiece = 155;
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  mstxMarkA(std::string(kPieces * kPiece + 1, 'x').c_str(), nullptr);
  ASSERT_EQ(aclprofStop(config_), 0) << Message();
  ASSERT_EQ(aclprofStart(config_), 0) << Message();
  mstxMarkA("short", nullptr);
  ASSERT_EQ(aclprofStop(config_), 0) << Message();
  const auto cut = Manifest(ProfDirectories().at(0)), whole = Manifest(ProfDirectories().at(1));
  EXPECT_EQ(Kept(cut, "msproftx") + Lost(cut, "msproftx"), kPieces);
  constexpr const char* kTold = "1 messages of marks were longer than 65536 pieces of 155 bytes";
  EXPECT_NE(cut["messages"].dump().find(kTold), std::string::npos) << cut["messages"];
  EXPECT_EQ(Kept(whole, "msproftx"), 1u);
  EXPECT_EQ(whole["messages"].dump().find("messages of marks were longer"), std::string::npos);
}

TEST_F(Lifecycle, ReportingThreadsNeverDisturbStartAndStop) {
  ASSERT_EQ(Init(), 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        MsprofApi call = Call(i);
        call.threadId = t;
        MsprofReportApi(1, &call);
        if (i % 64 == 0) {
          const std::string name = "op" + std::to_string(i % 1024);
          MsprofGetHashId(name.data(), name.size());
          std::this_thread::yield();
        }
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(aclprofStart(config_), 0) << Message();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(aclprofStop(config_), 0) << Message();
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  for (const auto& prof : ProfDirectories()) {
    const auto manifest = Manifest(prof);
    EXPECT_EQ(manifest["complete"], true);
    EXPECT_EQ(Data(prof, "host/data/aging.api_event.data").size(),
              Kept(manifest, "api_event") * sizeof(MsprofApi));
  }
}

}  // namespace
}  // namespace npuprof
