// SPDX-License-Identifier: Apache-2.0
#include "session/keeping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace npuprof {
namespace {
namespace fs = std::filesystem;

class KeepingTest : public testing::Test {
 protected:
  KeepingTest() {
    std::string pattern = (fs::temp_directory_path() / "npuprof_keeping.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
  }
  ~KeepingTest() override {
    fs::remove_all(root_);
    for (const char* name : {"NPUPROF_CONFIG", "NPUPROF_KEEP_COUNT", "NPUPROF_ROTATE_MB"}) unsetenv(name);
  }
  /// A directory that was written so many seconds ago and takes so many KiB.
  void Make(const std::string& name, int age, size_t kib = 4, bool ours = true) {
    fs::create_directories(root_ / name / "npuprof");
    const fs::path manifest = root_ / name / (ours ? "npuprof/manifest.json" : "plain");
    std::ofstream(manifest) << "{}";
    std::ofstream(root_ / name / "data") << std::string(kib << 10, 'x');
    const timespec times[2] = {{time(nullptr) - age, 0}, {time(nullptr) - age, 0}};
    utimensat(AT_FDCWD, manifest.c_str(), times, 0);
  }
  std::set<std::string> Left() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_)) names.insert(entry.path().filename());
    return names;
  }
  using Names = std::set<std::string>;

  fs::path root_;
};

TEST_F(KeepingTest, CountKeepsTheNewest) {
  for (int i = 1; i <= 5; ++i) Make("PROF_" + std::to_string(i), 100 - i);
  Keeping keeping;
  keeping.keep_count = 2;
  EXPECT_EQ(RemoveOld(root_, "PROF_5", keeping, time(nullptr)).size(), 3u);
  EXPECT_EQ(Left(), (Names{"PROF_4", "PROF_5"}));
  EXPECT_TRUE(RemoveOld(root_, "PROF_5", keeping, time(nullptr)).empty());
}

TEST_F(KeepingTest, SizeKeepsTheNewestThatFit) {
  for (int i = 1; i <= 5; ++i) Make("PROF_" + std::to_string(i), 100 - i, 200);
  Keeping keeping;
  keeping.keep_bytes = 700'000;  // three of 200 KiB and their directories
  RemoveOld(root_, "PROF_5", keeping, time(nullptr));
  EXPECT_EQ(Left(), (Names{"PROF_3", "PROF_4", "PROF_5"}));
}

TEST_F(KeepingTest, AgeRemovesWhatWasWrittenLongAgo) {
  Make("PROF_old", 1000);
  Make("PROF_new", 10);
  Keeping keeping;
  keeping.keep_seconds = 100;
  RemoveOld(root_, "", keeping, time(nullptr));
  EXPECT_EQ(Left(), Names{"PROF_new"});
}

TEST_F(KeepingTest, WhatIsWrittenOrOfOthersStaysAndLeftoversGo) {
  for (const char* name : {"PROF_own", "PROF_written", "PROF_idle"}) Make(name, 1000);
  Make("PROF_of_another_tool", 1000, 4, false);
  Make("notes", 1000);
  Make(".PROF_half.going", 1000);
  const int lock = open((root_ / "PROF_written/npuprof/lock").c_str(), O_CREAT | O_RDWR, 0640);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  Keeping keeping;
  keeping.keep_count = 1;
  keeping.keep_seconds = 1;
  RemoveOld(root_, "PROF_own", keeping, time(nullptr));
  EXPECT_EQ(Left(), (Names{"PROF_own", "PROF_written", "PROF_of_another_tool", "notes"}));
  close(lock);
}

TEST_F(KeepingTest, WhatDiedBeforeItsFirstManifestGoesOnceItIsNoBeginning) {
  for (const char* name : {"PROF_died", "PROF_begins", "PROF_locked"})
    fs::create_directories(root_ / name / "npuprof");
  Make("PROF_new", 10);
  for (const char* name : {"PROF_died", "PROF_locked"}) {
    const timespec times[2] = {{time(nullptr) - 1000, 0}, {time(nullptr) - 1000, 0}};
    utimensat(AT_FDCWD, (root_ / name / "npuprof").c_str(), times, 0);
  }
  const int lock = open((root_ / "PROF_locked/npuprof/lock").c_str(), O_CREAT | O_RDWR, 0640);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  Keeping keeping;
  keeping.keep_count = 3;
  RemoveOld(root_, "", keeping, time(nullptr));
  EXPECT_EQ(Left(), (Names{"PROF_begins", "PROF_locked", "PROF_new"})) << "it counts, and is the oldest";
  close(lock);
}

TEST_F(KeepingTest, AWallClockThatIsSetMakesNothingOlder) {
  const AgeClock ages(1'000'000, 500);
  EXPECT_EQ(ages.Now(1'000'060, 560), 1'000'060) << "nobody set it";
  EXPECT_EQ(ages.Now(1'036'060, 560), 1'000'060) << "set forward by ten hours";
  EXPECT_EQ(ages.Now(964'060, 560), 964'060) << "set back by ten hours: what is written now is of that time";
  Make("PROF_1", 10);
  Keeping keeping;
  keeping.keep_seconds = 3600;
  EXPECT_TRUE(RemoveOld(root_, "", keeping, AgeClock().Now()).empty());
  EXPECT_EQ(RemoveOld(root_, "", keeping, time(nullptr) + 36000).size(), 1u);
}

TEST_F(KeepingTest, SeveralAtOnceRemoveEachOnce) {
  for (int i = 100; i < 140; ++i) Make("PROF_" + std::to_string(i), 1000 - i);
  Keeping keeping;
  keeping.keep_count = 3;
  std::atomic<size_t> removed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { removed += RemoveOld(root_, "", keeping, time(nullptr)).size(); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(removed, 37u);
  EXPECT_EQ(Left(), (Names{"PROF_137", "PROF_138", "PROF_139"}));
}

TEST_F(KeepingTest, FileIsReadAndTheEnvironmentComesFirst) {
  const fs::path file = root_ / "npuprof.conf";
  std::ofstream(file) << "# for production\nrotate_seconds = 300\n  rotate_mb=50 # each\n\nkeep_count = 7\n";
  setenv("NPUPROF_CONFIG", file.c_str(), 1);
  setenv("NPUPROF_KEEP_COUNT", "9", 1);
  std::vector<std::string> warnings;
  const Keeping keeping = ReadKeeping(&warnings);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  EXPECT_EQ(keeping.rotate_seconds, 300u);
  EXPECT_EQ(keeping.rotate_bytes, 50'000'000u);
  EXPECT_EQ(keeping.keep_count, 9u);
  EXPECT_EQ(keeping.keep_bytes, 0u);
}

TEST_F(KeepingTest, WrongLinesAreNamedWithWhatIsAllowed) {
  const fs::path file = root_ / "npuprof.conf";
  std::ofstream(file) << "rotate_hours = 1\nkeep_mb = much\nkeep_seconds\n";
  setenv("NPUPROF_CONFIG", file.c_str(), 1);
  std::vector<std::string> warnings;
  const Keeping keeping = ReadKeeping(&warnings);
  EXPECT_FALSE(keeping.rotates() || keeping.removes());
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_NE(
      warnings[0].find(file.string() + ":1 is \"rotate_hours = 1\"; allowed is name = value with one of "
                                       "rotate_seconds, rotate_mb, keep_count, keep_mb, keep_seconds"),
      std::string::npos)
      << warnings[0];
  EXPECT_NE(warnings[2].find(":2 is \"much\"; allowed is a whole number from 1 to 4294967296"),
            std::string::npos)
      << warnings[2];
  setenv("NPUPROF_CONFIG", (root_ / "none").c_str(), 1);
  warnings.clear();
  ReadKeeping(&warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("which cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace npuprof
