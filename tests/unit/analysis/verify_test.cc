// SPDX-License-Identifier: Apache-2.0
// What verification says of losses that several places tell of, and of slices that nobody can read.
#include "analysis/verify.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "analysis/export.h"
#include "analysis/last_writes.h"
#include "csv.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::FileCheck;
using analysis::State;
using analysis::Verification;

const char* const kTaskLog = "device_0/data/stars_soc.data.0";
const char* const kTracks = "host/data/aging.compact.task_track";
const char* const kCpu = "host/data/host_cpu.data";

class Verifying : public testing::Test {
 protected:
  void SetUp() override {
    ProfBuilder builder(directory_.path());
    for (uint16_t i = 0; i < 20; ++i) {
      const uint64_t at = 10'000 + uint64_t{i} * 10'000;
      builder.Operator(100, 3, i, at, at + 2'000, at + 6'000, "Op");
    }
    builder.Raw(std::string(kCpu) + ".slice_0", "time 1\n");
    builder.Close();
    prof_ = builder.path();
  }

  // Finishes every slice and checks.
  Verification Check(const std::string& manifest = "") {
    if (!manifest.empty()) {
      fs::create_directories(prof_ / "npuprof");
      std::ofstream(prof_ / "npuprof/manifest.json") << manifest;
    }
    for (const auto& entry : fs::recursive_directory_iterator(prof_)) {
      if (entry.path().filename().string().find(".slice_") == std::string::npos) continue;
      if (entry.path().extension() == ".done") continue;
      std::ofstream(entry.path().string() + ".done") << "filesize:" << fs::file_size(entry.path()) << "\n";
    }
    return analysis::Verify(prof_);
  }

  static const FileCheck& File(const Verification& found, const std::string& path) {
    const auto it = std::find_if(found.files.begin(), found.files.end(),
                                 [&](const FileCheck& file) { return file.path == path; });
    if (it == found.files.end()) throw std::runtime_error(path + " was not checked");
    return *it;
  }

  // 5 records found the ring full, 10 could not be written; of host records 7 could not be written, 2 found no room.
  static std::string Losses(const char* files) {
    return std::string(R"({"format":1,"complete":false,"stopped":true,"devices":[{"id":0,"rings":[)"
                       R"({"ring":1,"channel":"task_log","records":55,"kept":40,"lost":15,)"
                       R"("lost_by_cause":{"ring_full":5,"write_failed":10}}]}],)"
                       R"("host":{"kinds":[{"kind":"task_track","records":20,"lost":9},)"
                       R"({"kind":"host_cpu","records":1,"lost":3}],)"
                       R"("lost_by_cause":{"write_failed":7,"ring_full":2}},"files":[)") +
           files + "]}";
  }

  TemporaryDirectory directory_;
  fs::path prof_;
};

TEST_F(Verifying, WhatCouldNotBeWrittenIsLostOnce) {
  const Verification found = Check(Losses(
      R"({"path":"device_0/data/stars_soc.data.0.slice_0","records":40,"record_bytes":64,"lost":10},)"
      R"({"path":"host/data/aging.compact.task_track.slice_0","records":20,"record_bytes":64,"lost":7})"));
  EXPECT_EQ(15u, File(found, kTaskLog).lost);
  EXPECT_EQ(9u, File(found, kTracks).lost);
  EXPECT_EQ(State::kLossy, File(found, kTaskLog).state);
  EXPECT_EQ(State::kLossy, File(found, kTracks).state);
  EXPECT_EQ(State::kComplete, File(found, "host/data/aging.api_event.data").state);
}

TEST_F(Verifying, SamplesOfTheHostThatAreMissingMakeTheirFileLossy) {
  const Verification found = Check(Losses(""));
  EXPECT_EQ(3u, File(found, kCpu).lost);
  EXPECT_EQ(State::kLossy, File(found, kCpu).state);
}

TEST_F(Verifying, ALossOfAKindIsCountedOnceOverItsFiles) {
  const std::string aging = prof_ / (std::string(kTracks) + ".slice_0");
  const std::string kept = prof_ / "host/data/unaging.compact.task_track.slice_0";
  fs::copy_file(aging, kept);
  const Verification found = Check(Losses(""));
  const FileCheck& second = File(found, "host/data/unaging.compact.task_track");
  EXPECT_EQ(9u, File(found, kTracks).lost + second.lost);
  EXPECT_EQ(State::kLossy, second.state);
}

TEST_F(Verifying, OneSliceThatCannotBeReadDoesNotHideTheOthers) {
  const fs::path slice = prof_ / (std::string(kTaskLog) + ".slice_0");
  fs::remove(slice);
  fs::create_symlink("/proc/self/mem", slice);  // opens, but nothing is at its beginning to be read
  const Verification found = Check();
  const FileCheck& file = File(found, kTaskLog);
  EXPECT_EQ(State::kDamaged, file.state);
  ASSERT_EQ(1u, file.slices.size());
  EXPECT_NE(std::string::npos, file.slices[0].problem.find("stars_soc.data.0.slice_0 cannot be read: "))
      << file.slices[0].problem;
  EXPECT_EQ(State::kComplete, File(found, kTracks).state);
  EXPECT_EQ(20u, File(found, kTracks).records);
}

// Metadata and manifest are there before the first record: where neither is, nothing is lost.
TEST_F(Verifying, WhatAProcessThatWasKilledDuringStartLeavesIsTornAndNotDamaged) {
  const auto problems = [](const Verification& found) {
    std::string all;
    for (const std::string& problem : found.problems) all += problem + "\n";
    return all;
  };
  const std::string cut_off = "collection was cut off before it was stopped\n";
  fs::remove_all(prof_ / "device_0/data");
  fs::remove(prof_ / "device_0/start_info.0");
  fs::remove(prof_ / "device_0/dev_start.log.0");
  const Verification device = Check(R"({"format":1,"complete":false})");
  EXPECT_EQ(State::kTorn, device.state);
  EXPECT_EQ(cut_off + "device_0: the process ended while collection was being started there\n",
            problems(device));
  const Verification stopped = Check(R"({"format":1,"complete":true})");
  EXPECT_EQ(State::kDamaged, stopped.state) << "what was stopped in order has its metadata";
  fs::remove(prof_ / "npuprof/manifest.json");
  for (const auto& entry : fs::directory_iterator(prof_ / "host/data")) fs::remove(entry.path());
  const Verification all = analysis::Verify(prof_);
  EXPECT_EQ(State::kTorn, all.state);
  EXPECT_EQ("the process ended while collection was being started; nothing was recorded\n", problems(all));
  EXPECT_TRUE(analysis::RepairDirectory(all, true).actions.empty());
}

// A slice as a killed process leaves it that wrote past the page cache: the second of three sectors is not there, and
// from @p written bytes on neither is the rest of the first.
class CutOff : public Verifying {
 protected:
  static constexpr uint64_t kSector = 4096, kRecord = 64;

  void SetUp() override {
    Verifying::SetUp();
    fs::create_directories(prof_ / "npuprof");
    std::ofstream(prof_ / "npuprof/manifest.json") << R"({"format":1,"complete":false})";
  }
  void Write(uint64_t written) {
    std::ifstream in(slice(), std::ios::binary);
    std::string records{std::istreambuf_iterator<char>(in), {}}, contents;
    while (contents.size() < kSector) contents += records;
    contents.resize(written);
    contents.resize(2 * kSector);
    contents += records;
    contents.resize(3 * kSector);
    std::ofstream(slice(), std::ios::binary) << contents;
  }
  fs::path slice() const { return prof_ / (std::string(kTaskLog) + ".slice_0"); }
  uint64_t Exported() {
    TemporaryDirectory out;
    analysis::ExportOptions options;
    options.output = out.path();
    return analysis::Export(analysis::Profile::Open(prof_), options).rows.at("task_time");
  }
};

TEST_F(CutOff, ASectorThatIsMissingBeforeLaterOnesIsTornAndNeverRecordsOfZeros) {
  for (const uint64_t written : {kSector, kSector - 7 * kRecord}) {
    Write(written);
    const Verification found = analysis::Verify(prof_);
    const FileCheck& file = File(found, kTaskLog);
    EXPECT_EQ(State::kTorn, file.state);
    EXPECT_EQ(written / kRecord, file.records) << "what lies behind the hole is not counted";
    ASSERT_EQ(1u, file.slices.size());
    EXPECT_EQ(written, file.slices[0].whole_bytes);
    EXPECT_NE(std::string::npos, file.slices[0].problem.find(std::to_string(3 * kSector - written) +
                                                             " bytes that were never written"))
        << file.slices[0].problem;
    const uint64_t unrepaired = Exported();
    EXPECT_GT(unrepaired, 0u);
    const analysis::Repair repair = analysis::RepairDirectory(found, false);
    EXPECT_EQ(3 * kSector - written, repair.cut_bytes);
    EXPECT_EQ(written, fs::file_size(slice()));
    const Verification after = analysis::Verify(prof_);
    EXPECT_EQ(State::kComplete, File(after, kTaskLog).state);
    EXPECT_EQ(written / kRecord, File(after, kTaskLog).records);
    fs::remove(slice().string() + ".done");
    fs::remove(prof_ / "npuprof/slices.jsonl");
  }
}

// The kernel holds a file open for writing until the last write of a dead process has ended. What was read before would
// be another state than what is repaired, and what was cut before would grow again.
TEST_F(CutOff, WritesThatOutliveTheirProcessAreWaitedFor) {
  using std::chrono::milliseconds;
  Write(kSector);
  EXPECT_EQ(std::nullopt, analysis::AwaitLastWrites(prof_, milliseconds{0}));
  const int fd = open(slice().c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const auto written = analysis::AwaitLastWrites(prof_, milliseconds{0});
  if (!written) {
    close(fd);
    GTEST_SKIP() << "the file system of " << prof_ << " does not tell whether a file is open for writing";
  }
  EXPECT_EQ(std::string(kTaskLog) + ".slice_0", *written);
  std::thread late([&] {
    const std::string sector(kSector, 'x');
    EXPECT_EQ(static_cast<ssize_t>(kSector), pwrite(fd, sector.data(), sector.size(), kSector));
    close(fd);
  });
  EXPECT_EQ(std::nullopt, analysis::AwaitLastWrites(prof_, std::chrono::minutes{1}));
  EXPECT_EQ((2 * kSector + 20 * 2 * kRecord) / kRecord, File(analysis::Verify(prof_), kTaskLog).records);
  late.join();
  std::ofstream(slice().string() + ".done") << "filesize:" << 3 * kSector << "\n";
  std::ofstream finished(slice(), std::ios::app);
  EXPECT_EQ(std::nullopt, analysis::AwaitLastWrites(prof_, milliseconds{0})) << "a slice that was finished";
}

}  // namespace
}  // namespace npuprof::test
