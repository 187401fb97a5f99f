// SPDX-License-Identifier: Apache-2.0
// Recordings that the npuprof command asks for, beside what the program does with the interface itself. Each case is a
// program of its own (recorded_program.cc), because a child of fork is not what the command started.
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

namespace npuprof {
namespace {

class Recording : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    recorded_ = directory_ / "recorded";
    notes_ = directory_ / "notes";
    std::ofstream(notes_).put('\n');
    std::filesystem::create_directory(own_ = directory_ / "own");
  }
  /// Runs the case of the program that is called so.
  void Run(const std::string& name) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("NPUPROF_RECORD_DIR", recorded_.c_str(), 1);
      setenv("NPUPROF_RECORD_TYPES", "0x80", 1);
      setenv("NPUPROF_RECORD_HOST", "mem", 1);
      setenv("NPUPROF_RECORD_NOTES", notes_.c_str(), 1);
      setenv("OWN_DIRECTORY", own_.c_str(), 1);
      execl(RECORDED_PROGRAM, RECORDED_PROGRAM, ("--gtest_filter=Recorded." + name).c_str(), nullptr);
      _exit(99);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  std::string Notes() const { return ReadAll(notes_).substr(1); }

  std::filesystem::path recorded_, notes_, own_;
};

TEST_F(Recording, CallsThatStartNothingChangeNothing) {
  Run("CallsThatStartNothingChangeNothing");
  const auto found = ProfDirectories(recorded_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Manifest(found[0])["complete"], true);
  EXPECT_TRUE(std::filesystem::exists(found[0] / "host/data/host_mem.data.slice_0"));
  EXPECT_EQ(Notes(), "");
}

TEST_F(Recording, AStartOfTheProgramEndsItAndBothAreWhole) {
  Run("AStartOfTheProgramEndsTheRecording");
  const auto found = ProfDirectories(recorded_), own = ProfDirectories(own_);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(own.size(), 1u);
  for (const auto& directory : {found[0], own[0]})
    EXPECT_EQ(Manifest(directory)["complete"], true) << directory;
  EXPECT_EQ(Notes(), "own " + own[0].string() + "\n");
  EXPECT_NE(Manifest(found[0])["messages"].dump().find("the program profiles itself"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(own[0] / "host/data/host_mem.data.slice_0"))
      << "a setting of the recording is none of the program";
}

TEST_F(Recording, AStartThatFailsLeavesItGoOn) {
  Run("AStartThatFailsLeavesTheRecordingGoOn");
  EXPECT_EQ(ProfDirectories(recorded_).size(), 1u);
  EXPECT_EQ(Notes(), "");
}

TEST_F(Recording, AWarmUpOfTheProgramLeavesItGoOnUntilTheStart) {
  Run("AWarmUpLeavesTheRecordingGoOnUntilTheStart");
  EXPECT_EQ(ProfDirectories(recorded_).size(), 1u);
  const auto own = ProfDirectories(own_);
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(Notes(), "own " + own[0].string() + "\n");
}

TEST_F(Recording, AProgramThatProfilesItselfFirstIsNotRecordedAndThatIsTold) {
  Run("AProgramThatProfilesItselfFirstIsNotRecorded");
  EXPECT_FALSE(std::filesystem::exists(recorded_));
  const auto own = ProfDirectories(own_);
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(Notes(), "own " + own[0].string() + "\n");
}

TEST_F(Recording, AFailedTurnEndsWhoeverRecorded) {
  Run("AFailedTurnEndsTheRecording");
  const auto found = ProfDirectories(recorded_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Manifest(found[0])["complete"], true);
  Run("AFailedTurnGivesTheInterfaceBackThatAConfigurationHad");
  EXPECT_EQ(ProfDirectories(recorded_).size(), 2u);
  EXPECT_EQ(ProfDirectories(own_).size(), 1u);
}

TEST_F(Recording, ThreadsThatCannotBeStartedAreNamed) {
  Run("ADelayWithoutAThreadIsRefusedWithASentence");
  EXPECT_FALSE(std::filesystem::exists(recorded_));
  Run("AStartWithoutAThreadSaysSo");
  EXPECT_TRUE(ProfDirectories(recorded_).empty()) << "a failed start leaves nothing";
  Run("ASubscriptionWithoutAThreadSaysSo");
}

TEST_F(Recording, ADelayNeedsNoDescriptor) {
  Run("ADelayPassesWithoutADescriptorToBeFoundBy");
  const auto found = ProfDirectories(recorded_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Manifest(found[0])["complete"], true);
}

TEST_F(Recording, TheEndBeforeADelayIsTold) {
  Run("TheEndBeforeADelayIsToldWithoutFinalize");
  EXPECT_EQ(Notes(), "early\n");
}

}  // namespace
}  // namespace npuprof
