// SPDX-License-Identifier: Apache-2.0
#include "session/subscription.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <vector>

#include "op_records.h"

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

size_t ItemsIn(int fd, size_t wanted) {
  std::vector<op_item::Item> items(wanted);
  auto* at = reinterpret_cast<char*>(items.data());
  size_t bytes = 0;
  while (bytes < wanted * sizeof(op_item::Item)) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, 30'000) <= 0) break;
    const ssize_t n = read(fd, at + bytes, wanted * sizeof(op_item::Item) - bytes);
    if (n <= 0) break;
    bytes += static_cast<size_t>(n);
  }
  return bytes / sizeof(op_item::Item);
}

// Of models 1 and 2 each.
void RunOperators(Subscription& subscription, size_t count) {
  OpRecords records(subscription.tap());
  for (uint32_t model : {1, 2}) {
    for (size_t i = 0; i < count; ++i) {
      const Launched one{
          .model = model, .task = static_cast<uint16_t>(i), .name = 9, .at = 1000 * model + 40 * i};
      records.Launch(one);
      records.Run(one, one.at + 15, one.at + 20);
    }
  }
}

// A writer that looks at the oldest item alone lets one reader who does not read hold up all.
TEST(Subscription, APipeThatIsFullHoldsUpNoOther) {
  int full[2], other[2];
  ASSERT_EQ(pipe2(full, O_NONBLOCK), 0);
  ASSERT_EQ(pipe(other), 0);
  const std::vector<char> filling(1 << 20);
  while (write(full[1], filling.data(), 4096) > 0) {
  }
  Subscription subscription("");
  subscription.Add(1, 0, {true, 0, &full[1]});
  subscription.Add(2, 0, {true, 0, &other[1]});
  constexpr size_t kItems = 200;
  RunOperators(subscription, kItems);
  EXPECT_EQ(ItemsIn(other[0], kItems), kItems);
  EXPECT_EQ(subscription.Remove(2), 0u);
  close(full[0]);  // so that nobody is waited for
  EXPECT_EQ(subscription.Remove(1), kItems);
  close(other[0]);
}

// What was written for one of the numbers took the last room of the pipe, and the writer was stuck with the other.
TEST(Subscription, TwoNumbersOfOnePipeThatNobodyReadsHoldUpNobody) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::vector<char> filling(static_cast<size_t>(fcntl(ends[1], F_GETPIPE_SZ)));
  ASSERT_EQ(write(ends[1], filling.data(), filling.size()), static_cast<ssize_t>(filling.size()));
  int first = ends[1], second = ends[1];
  Subscription subscription("", std::chrono::milliseconds(50));
  subscription.Add(1, 0, {true, 0, &first});
  subscription.Add(2, 0, {true, 0, &second});
  constexpr size_t kItems = 100;  // more than go at once, of each
  RunOperators(subscription, kItems);
  ASSERT_EQ(read(ends[0], filling.data(), 4096), 4096);  // room for one write
  auto removed = std::async(std::launch::async, [&] { return subscription.Remove(1); });
  const bool returns = removed.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  EXPECT_TRUE(returns);
  close(ends[0]);  // lets a writer that is stuck go on
  const uint64_t lost = removed.get();
  if (returns) {
    EXPECT_GE(lost, kItems - 51);
    EXPECT_LE(lost, kItems);
  }
  subscription.Remove(2);
  EXPECT_EQ(second, -1);
}

}  // namespace
}  // namespace npuprof
