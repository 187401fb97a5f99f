// SPDX-License-Identifier: Apache-2.0
#include "session/subscription.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npuprof {
namespace {

bool IsOpen(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

// Two subscriptions that told one pipe by numbers of their own, as scripts do, and the first to end closed
// it for the other.
TEST(Subscription, APipeStaysOpenUntilTheLastOfThoseThatUseItEnds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int pipe_end = ends[1];
  int first = pipe_end, second = pipe_end;
  Subscription subscription("");
  subscription.Add(1, 0, {true, 0, &first});
  subscription.Add(2, 0, {true, 0, &second});
  subscription.Remove(1);
  EXPECT_TRUE(IsOpen(pipe_end));
  EXPECT_EQ(second, pipe_end);
  subscription.Remove(2);
  EXPECT_FALSE(IsOpen(pipe_end));
  EXPECT_EQ(second, -1);
  close(ends[0]);
}

TEST(Subscription, ModelsThatShareANumberShareItsPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int pipe_end = ends[1];
  Subscription subscription("");
  subscription.Add(1, 0, {true, 0, &ends[1]});
  subscription.Add(2, 0, {true, 0, &ends[1]});
  subscription.Remove(2);
  EXPECT_TRUE(IsOpen(pipe_end));
  subscription.Remove(1);
  EXPECT_FALSE(IsOpen(pipe_end));
  EXPECT_EQ(ends[1], -1);
  close(ends[0]);
}

}  // namespace
}  // namespace npuprof
