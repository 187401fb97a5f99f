// SPDX-License-Identifier: Apache-2.0
#include "session/mark_record.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace npuprof::marks
