// SPDX-License-Identifier: Apache-2.0
// Sessions with the simulated NPUs of this process, through the exported functions alone.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "device_fixture.h"
#include "npuprof/acl_prof_loaded.h"

namespace npuprof {
namespace {

TEST_F(DeviceSession, EveryTaskOfTheWindowIsInTheDirectory) {
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_NE(config, nullptr) << Message();
  Run(0, 5);  // before the window
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 100);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  Run(0, 5);
  const auto prof = ProfDirectories().at(0);
  const auto manifest = Manifest(prof);
  EXPECT_EQ(manifest["complete"], true);
  EXPECT_EQ(manifest["simulated"], true);
  const std::string version = manifest["npuprof"];
  EXPECT_EQ(manifest["versions"]["library"], version);
  EXPECT_EQ(manifest["versions"]["runtime"], "npusim " + version) << "both are built from one tree";
  EXPECT_EQ(manifest["versions"]["record_formats"], NPUPROF_RECORDS_VERSION);
  const std::string abi = std::to_string(NPUPROF_ABI_MAJOR) + "." + std::to_string(NPUPROF_ABI_MINOR);
  EXPECT_EQ(manifest["versions"]["abi"], abi);
  ASSERT_EQ(manifest["devices"].size(), 1u);
  const auto& device = manifest["devices"][0];
  EXPECT_EQ(device["id"], 0);
  EXPECT_EQ(device["backend"], "sim");
  EXPECT_EQ(device["name"], "simulated reference NPU");
  EXPECT_EQ(device["chip"], 5);
  EXPECT_EQ(device["driver"]["version"], "npusim " + version);
  EXPECT_EQ(device["driver"]["abi"], abi);
  EXPECT_EQ(device["driver"]["record_formats"], NPUPROF_RECORDS_VERSION);
  EXPECT_EQ(device["tasks"]["started"], 100);
  EXPECT_EQ(device["tasks"]["ended"], 100);
  EXPECT_EQ(Ring(device, "task_log")["kept"], 200);
  EXPECT_EQ(Ring(device, "task_log")["lost"], 0);
  EXPECT_EQ(Ring(device, "task_pmu")["kept"], 100);
  EXPECT_GE(device["clock"].size(), 2u);
  EXPECT_EQ(Data(prof, "device_0/data/stars_soc.data.0").size(), 200 * sizeof(npuprof_rec_task_log));
  EXPECT_EQ(Data(prof, "device_0/data/ffts_profile.data.0").size(), 100 * sizeof(npuprof_rec_task_pmu));
  const auto sample = Json(prof / "device_0/sample.json");
  EXPECT_EQ(sample["ai_core_metrics"], "PipeUtilizationExct");
  EXPECT_EQ(sample["ai_core_profiling_events"], "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55");
  EXPECT_EQ(sample["aiv_metrics"], "PipeUtilization");
  EXPECT_EQ(sample["prof_level"], "l1");
  for (const char* name :
       {"info.json.0", "start_info.0", "end_info.0", "host_start.log.0", "dev_start.log.0"}) {
    EXPECT_TRUE(std::filesystem::exists(prof / "device_0" / name)) << name;
  }
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, WhatIsLaunchedWhileComponentsAreToldToStopIsNoTaskOfTheWindow) {
  // As other threads of a server do. The host tells of it no more, so it would be a task without a name. A callback
  // cannot be taken back: without the switch it would launch at the end of every later session of this process.
  static std::atomic<bool> launches;
  launches = true;
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_HCCL,
                                   [](uint32_t, void* data, uint32_t) {
                                     const auto type = static_cast<MsprofCommandHandle*>(data)->type;
                                     if (type == PROF_COMMANDHANDLE_TYPE_STOP && launches) Run(0, 7);
                                     return 0;
                                   }),
            0);
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 30);
  const aclError stopped = aclprofStop(config);
  launches = false;
  ASSERT_EQ(stopped, 0) << Message();
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["devices"][0]["tasks"]["started"], 30);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, AWarmUpTakesNoTaskFromBeforeStartAndMissesNoneAfterIt) {
  aclprofConfig* config = Config({0}, kTypes);
  for (unsigned window = 0; window < 5; ++window) {
    ASSERT_EQ(aclprofWarmup(config), 0) << Message();
    Run(0, 50);
    ASSERT_EQ(aclprofStart(config), 0) << Message();
    Run(0, 40 + window);  // at once
    ASSERT_EQ(aclprofStop(config), 0) << Message();
    const auto prof = ProfDirectories().at(window);
    const auto device = Manifest(prof)["devices"][0];
    EXPECT_EQ(device["tasks"]["started"], 40 + window);
    EXPECT_EQ(device["tasks"]["ended"], 40 + window);
    EXPECT_EQ(Data(prof, "device_0/data/stars_soc.data.0").size(),
              2 * (40 + window) * sizeof(npuprof_rec_task_log));
    EXPECT_EQ(Ring(device, "task_pmu")["kept"], 40 + window);
  }
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, MixedKernelsAreCountedOnTheirSecondKindOfCoreToo) {
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  npusim_totals before = {}, after = {};
  ASSERT_EQ(npusim::Host::Get().Totals(0, &before), 0);
  constexpr unsigned kTasks = 30, kBlocks = 24;
  for (unsigned i = 0; i < kTasks; ++i) {
    npusim_task task = {};
    task.stream = 1;
    task.task_id = static_cast<uint16_t>(i);
    task.kind = NPUSIM_TASK_MIX_AIC;
    task.block_dim = kBlocks;
    task.mix_ratio = 2;
    task.cycles = 2000 + i;
    ASSERT_EQ(npusim::Host::Get().Submit(0, task), 0);
  }
  ASSERT_EQ(npusim::Host::Get().WaitIdle(0, 20'000'000'000), 0);
  Run(0, 10);  // kernels of one kind, which have no such records
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  ASSERT_EQ(npusim::Host::Get().Totals(0, &after), 0);
  const auto prof = ProfDirectories().at(0);
  const std::string data = Data(prof, "device_0/data/ffts_profile.data.0");
  uint64_t tasks = 0, blocks = 0, vector_cycles = 0;
  for (size_t at = 0; at < data.size(); at += sizeof(npuprof_rec_block_pmu)) {
    npuprof_rec_block_pmu record;
    std::memcpy(&record, data.data() + at, sizeof record);
    if (NPUPROF_HEAD_FUNC(record.head) == NPUPROF_FUNC_TASK_PMU) {
      ++tasks;
      npuprof_rec_task_pmu whole;
      std::memcpy(&whole, data.data() + at, sizeof whole);
      if (whole.ffts_type >> NPUPROF_FFTS_SHIFT == NPUPROF_FFTS_AIV) vector_cycles += whole.cycles;
      continue;
    }
    ASSERT_EQ(NPUPROF_HEAD_FUNC(record.head), NPUPROF_FUNC_BLOCK_PMU);
    ++blocks;
    EXPECT_EQ(record.core & 1, 1) << "the second kind of MIX_AIC are vector cores";
    vector_cycles += record.cycles;
  }
  EXPECT_EQ(tasks, kTasks + 10);
  EXPECT_EQ(blocks, kTasks * kBlocks * 2);
  EXPECT_EQ(vector_cycles, after.cycles[1] - before.cycles[1]) << "what the model counted";
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, RingsOfASessionWithEverythingTakeNoMoreThan32MiB) {
  ASSERT_EQ(Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "100"), 0);
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const std::map<std::string, uint64_t> sizes = {
      {"events", sizeof(npuprof_rec_event)},           {"task_log", sizeof(npuprof_rec_task_log)},
      {"ts_track", sizeof(npuprof_rec_ts_track)},      {"task_pmu", sizeof(npuprof_rec_task_pmu)},
      {"block_pmu", sizeof(npuprof_rec_block_pmu)},    {"hbm", sizeof(npuprof_rec_bandwidth)},
      {"llc", sizeof(npuprof_rec_bandwidth)},          {"flows", sizeof(npuprof_rec_bandwidth)},
      {"accelerators", sizeof(npuprof_rec_bandwidth)}, {"l2", sizeof(npuprof_rec_bandwidth)}};
  uint64_t bytes = 0, block_rings = 0;
  const auto manifest = Manifest(ProfDirectories().at(0));
  for (const auto& ring : manifest["devices"][0]["rings"]) {
    bytes += ring["slots"].get<uint64_t>() * sizes.at(ring["channel"]);
    block_rings += ring["channel"] == "block_pmu";
  }
  EXPECT_EQ(block_rings, 72u);
  EXPECT_LE(bytes, uint64_t{32} << 20);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, ADeviceThatIsOpenedLaterJoinsAndAnUnlistedOneDoesNot) {
  aclprofConfig* config = Config({1}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 3);
  ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0) << Message();
  Run(1, 7);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto prof = ProfDirectories().at(0);
  const auto manifest = Manifest(prof);
  ASSERT_EQ(manifest["devices"].size(), 1u);
  EXPECT_EQ(manifest["devices"][0]["id"], 1);
  EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 7);
  EXPECT_EQ(Ring(manifest["devices"][0], "task_pmu"), nullptr) << "counters were not asked for";
  EXPECT_FALSE(std::filesystem::exists(prof / "device_0"));
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, AnUnlistedDeviceJoinsOnceTheProgramAsksForAllUntilFinalize) {
  for (const size_t devices : {size_t{2}, size_t{1}}) {
    if (devices == 2) {
      ASSERT_EQ(aclprofRegisterDeviceCallback(), 0);
    }
    aclprofConfig* config = Config({0}, ACL_PROF_TASK_TIME_L0);
    ASSERT_EQ(aclprofStart(config), 0) << Message();
    ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0) << Message();
    Run(1, 5);
    ASSERT_EQ(aclprofStop(config), 0) << Message();
    ASSERT_EQ(MsprofNotifySetDevice(0, 1, false), 0) << Message();
    const auto manifest = Manifest(ProfDirectories().back());
    ASSERT_EQ(manifest["devices"].size(), devices);
    if (devices == 2) {
      EXPECT_EQ(manifest["devices"][1]["tasks"]["started"], 5);
    }
    EXPECT_EQ(aclprofDestroyConfig(config), 0);
    ASSERT_EQ(aclprofFinalize(), 0);
    ASSERT_EQ(Init(), 0);
  }
}

TEST_F(DeviceSession, TheProgramMayAskWhetherProfilingRunsAndWhereItsOutputIs) {
  npuprofStatus status{};
  status.size = sizeof(status);
  ASSERT_EQ(npuprofGetStatus(&status), 0);
  EXPECT_EQ(status.mode, NPUPROF_MODE_API);
  EXPECT_EQ(status.running, 0);
  EXPECT_EQ(status.beginNs, 0u);
  aclprofConfig* config = Config({1, 0}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  ASSERT_EQ(npuprofGetStatus(&status), 0);
  EXPECT_EQ(status.running, 1);
  EXPECT_GT(status.beginNs, 0u);
  EXPECT_EQ(status.dataTypes, ACL_PROF_TASK_TIME_L0 | ACL_PROF_TRAINING_TRACE);
  ASSERT_EQ(status.deviceCount, 2u);
  EXPECT_EQ((std::set<uint32_t>{status.devices[0], status.devices[1]}), (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(status.directory, ProfDirectories().back().string());
  ASSERT_EQ(aclprofFinalize(), 0);
  ASSERT_EQ(npuprofGetStatus(&status), 0);
  EXPECT_EQ(status.mode, NPUPROF_MODE_OFF);
  EXPECT_EQ(status.running, 0);
  EXPECT_EQ(status.deviceCount, 0u);
  EXPECT_EQ(status.directory, ProfDirectories().back().string()) << "of the last session";
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  ASSERT_EQ(Init(), 0);
}

// Who is killed a moment later leaves data of the device, and nobody may take them for measured.
TEST_F(DeviceSession, TheManifestTellsOfADeviceAsSoonAsItHasJoined) {
  aclprofConfig* config = Config({0, 1}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  const auto prof = ProfDirectories().at(0);
  const auto started = Manifest(prof);
  EXPECT_EQ(started["complete"], false);
  EXPECT_EQ(started["simulated"], true);
  ASSERT_EQ(started["devices"].size(), 1u);
  ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0) << Message();
  ASSERT_EQ(Manifest(prof)["devices"].size(), 2u);
  EXPECT_EQ(Manifest(prof)["devices"][1]["simulated"], true);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, AListedDeviceThatTheProgramNeverOpensIsNamed) {
  ASSERT_EQ(MsprofNotifySetDevice(0, 1, false), 0);  // other tests of this process open it
  aclprofConfig* config = Config({0, 1}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 3);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(0));
  std::vector<std::string> warnings;
  for (const auto& message : manifest["messages"])
    if (message["severity"] == "warning") warnings.push_back(message["text"]);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "device 1 is listed, but the program did not open it; nothing is recorded of it");
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, ListsOfEarlierSessionsAreForgotten) {
  aclprofConfig* first = Config({1}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  ASSERT_EQ(aclprofStop(first), 0) << Message();
  aclprofConfig* second = Config({0}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(second), 0) << Message();
  ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0) << Message();
  Run(1, 3);
  Run(0, 2);
  ASSERT_EQ(aclprofStop(second), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(1));
  ASSERT_EQ(manifest["devices"].size(), 1u);
  EXPECT_EQ(manifest["devices"][0]["id"], 0);
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

TEST_F(DeviceSession, DeviceIdsAreThoseOfTheRuntime) {
  setenv("ASCEND_RT_VISIBLE_DEVICES", "1", 1);
  ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0) << Message();
  aclprofConfig* config = Config({0, 1}, ACL_PROF_TASK_TIME_L0);
  unsetenv("ASCEND_RT_VISIBLE_DEVICES");
  ASSERT_NE(config, nullptr) << Message();
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 2);
  Run(1, 5);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(0));
  ASSERT_EQ(manifest["devices"].size(), 2u);
  EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 2);
  EXPECT_EQ(manifest["devices"][1]["tasks"]["started"], 5);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, ADeviceThatIsClosedAndOpenedAgainGoesOnInTheSameFiles) {
  aclprofConfig* config = Config({0}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 10);
  ASSERT_EQ(MsprofNotifySetDevice(0, 0, false), 0);
  Run(0, 5);
  ASSERT_EQ(MsprofNotifySetDevice(0, 0, true), 0);
  Run(0, 20);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto prof = ProfDirectories().at(0);
  EXPECT_EQ(Data(prof, "device_0/data/stars_soc.data.0").size(), 60 * sizeof(npuprof_rec_task_log));
  uint64_t started = 0;
  const auto manifest = Manifest(prof);
  for (const auto& device : manifest["devices"]) started += device["tasks"]["started"].get<uint64_t>();
  EXPECT_EQ(started, 30u);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, ASecondStartMayBringMoreDevices) {
  ASSERT_EQ(MsprofNotifySetDevice(0, 1, true), 0);
  aclprofConfig* first = Config({0}, ACL_PROF_TASK_TIME_L0);
  aclprofConfig* second = Config({0, 1}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(first), 0) << Message();
  EXPECT_EQ(aclprofStart(second), 0) << Message();
  Run(0, 2);
  Run(1, 3);
  // A part of the devices stops all of them.
  ASSERT_EQ(aclprofStop(first), 0);
  const auto manifest = Manifest(ProfDirectories().at(0));
  ASSERT_EQ(manifest["devices"].size(), 2u);
  EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 2);
  EXPECT_EQ(manifest["devices"][1]["tasks"]["started"], 3);
  EXPECT_EQ(aclprofDestroyConfig(first), 0);
  EXPECT_EQ(aclprofDestroyConfig(second), 0);
}

TEST_F(DeviceSession, StartWithoutAConfigurationTakesTheOpenDevices) {
  ASSERT_EQ(aclprofStart(nullptr), 0) << Message();
  Run(0, 4);
  aclprofConfig* same = Config({0}, kTypes);
  ASSERT_EQ(aclprofStop(same), 0) << Message();
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(manifest["devices"][0]["tasks"]["started"], 4);
  EXPECT_EQ(Ring(manifest["devices"][0], "task_pmu")["kept"], 4);
  EXPECT_EQ(aclprofDestroyConfig(same), 0);
}

TEST_F(DeviceSession, MemoryIsSampledWhenAskedFor) {
  ASSERT_EQ(Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "100"), 0);
  aclprofConfig* config = Config({0}, ACL_PROF_TASK_TIME_L0);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  usleep(200'000);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto prof = ProfDirectories().at(0);
  const auto device = Manifest(prof)["devices"][0];
  for (const char* kind : {"hbm", "llc"}) {
    const uint64_t kept = Ring(device, kind)["kept"];
    EXPECT_GT(kept, 0u) << kind;
    EXPECT_EQ(Data(prof, std::string("device_0/data/") + kind + ".data.0").size(), kept * 24) << kind;
  }
  EXPECT_EQ(Json(prof / "device_0/sample.json")["hbm_profiling_events"], "read,write");
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(DeviceSession, DevicesThatDoNotExistAreRefused) {
  EXPECT_EQ(Config({2}, kTypes), nullptr);
  EXPECT_EQ(Message(), "device 2 does not exist; there are 0 to 1");
  EXPECT_EQ(Config({0, 0}, kTypes), nullptr);
  EXPECT_EQ(Config({0, 1, 0}, kTypes), nullptr);
}

// Runs one of device_programs.cc in a process of its own, because the simulator reads its settings once.
int RunProgram(const char* name, const char* fault) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("NPUSIM_FAULT", fault, 1);
    execl(DEVICE_PROGRAMS, DEVICE_PROGRAMS, (std::string("--gtest_filter=Program.") + name).c_str(), nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Faults, ARefusedStartFailsLeavesNothingAndDoesNotHang) {
  EXPECT_EQ(RunProgram("RefusedStart", "refuse_start"), 0);
}

TEST(Faults, AStalledDrainLosesWhatItLosesAndSaysSo) {
  EXPECT_EQ(RunProgram("StalledDrain", "stall_drain"), 0);
}

}  // namespace
}  // namespace npuprof
