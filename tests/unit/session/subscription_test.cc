// SPDX-License-Identifier: Apache-2.0
#include "session/subscription.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

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
  OpRecords records(subscription.tap());
  constexpr size_t kItems = 200;
  for (uint32_t model : {1, 2}) {
    for (size_t i = 0; i < kItems; ++i) {
      const Launched one{
          .model = model, .task = static_cast<uint16_t>(i), .name = 9, .at = 1000 * model + 40 * i};
      records.Launch(one);
      records.Run(one, one.at + 15, one.at + 20);
    }
  }
  EXPECT_EQ(ItemsIn(other[0], kItems), kItems);
  EXPECT_EQ(subscription.Remove(2), 0u);
  close(full[0]);  // so that nobody is waited for
  EXPECT_EQ(subscription.Remove(1), kItems);
  close(other[0]);
}

}  // namespace
}  // namespace npuprof
