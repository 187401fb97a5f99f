// SPDX-License-Identifier: Apache-2.0
#include "session/mark_record.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/mstx.h"
#include "session/stamps.h"

namespace npuprof::marks {
namespace {

// What a child marked carried the number of its parent's thread.
TEST(Marks, AChildOfAForkHasAThreadOfItsOwn) {
  ASSERT_EQ(ThreadId(), static_cast<uint32_t>(gettid()));
  const pid_t child = fork();
  if (child == 0) _exit(ThreadId() == static_cast<uint32_t>(gettid()) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ThreadId(), static_cast<uint32_t>(gettid()));
}

TEST(Marks, ATurnOfDirectoriesKeepsRangesAndCountsWhatFallsIntoIt) {
  int stream = 0;
  stamps::Record(true);
  const uint64_t window = Window();
  void* stamp = nullptr;
  uint32_t first = 0, second = 0;
  ASSERT_TRUE(stamps::Create(&stamp).ok());
  ASSERT_TRUE(stamps::RangeStart(stamp, &first).ok());
  ASSERT_TRUE(stamps::RangeStart(stamp, &second).ok());
  const uint64_t before = mstx::StartRange(nullptr, "before", nullptr);
  ASSERT_NE(before, 0u);

  BeginTurn();
  EXPECT_FALSE(Recording());
  EXPECT_TRUE(stamps::RangeStop(first).ok());
  EXPECT_TRUE(stamps::MarkEx("x", 1, &stream).ok()) << "the program knows nothing of the turn";
  mstx::EndRange(nullptr, before);
  mstx::Mark(nullptr, "point", &stream);
  const uint64_t between = mstx::StartRange(nullptr, "between", nullptr);
  EXPECT_NE(between, 0u);

  EXPECT_EQ(EndTurn(true), 4u);
  EXPECT_TRUE(Recording());
  EXPECT_EQ(Window(), window);
  EXPECT_TRUE(stamps::RangeStop(second).ok()) << "which began before the turn";
  EXPECT_EQ(mstx::Notes(0).size(), 1u) << "that of the turn is not ended";
  stamps::Record(false);
  EXPECT_FALSE(InWindow());
  EXPECT_EQ(EndTurn(true), 0u) << "nothing turns over";
  EXPECT_FALSE(InWindow());
  stamps::Destroy(stamp);
  stamps::Allow(false);
}

TEST(Marks, WhileOneWindowTurnsOverAnotherRecordsAndAFailedTurnEndsTheWindow) {
  SetRecording(true);
  SetRecording(true);
  BeginTurn();
  EXPECT_TRUE(Recording());
  Write({});
  EXPECT_EQ(EndTurn(true), 1u) << "the other window has it, this one has not";
  EXPECT_EQ(Recorders(), 2);
  SetRecording(false);
  BeginTurn();
  EXPECT_TRUE(InWindow());
  EXPECT_EQ(EndTurn(false), 0u);
  EXPECT_FALSE(InWindow());
  EXPECT_EQ(Recorders(), 0);
}

}  // namespace
}  // namespace npuprof::marks
