// SPDX-License-Identifier: Apache-2.0
#include "session/op_joiner.h"

#include <gtest/gtest.h>

#include "op_records.h"

namespace npuprof {
namespace {

// Far more than clocks may be apart.
constexpr uint64_t kLong = 1'000'000'000;

class OpJoinerTest : public testing::Test {
 protected:
  using Found = std::vector<std::pair<uint64_t, uint64_t>>;  // names, and starts of their runs

  Found Take() {
    Found found;
    for (const OpJoiner::Operator& op : operators_) found.emplace_back(op.name, op.start);
    operators_.clear();
    return found;
  }

  std::vector<OpJoiner::Operator> operators_;
  OpJoiner joiner_{[this](const OpJoiner::Operator& op) { operators_.push_back(op); }};
  OpRecords records_{joiner_};
};

TEST_F(OpJoinerTest, ALaunchAndItsRunMakeAnOperatorInWhicheverOrderTheyAreTold) {
  const Launched first{.task = 1, .name = 5, .at = 1000}, second{.task = 2, .name = 6, .at = 2000};
  records_.Launch(first);
  EXPECT_TRUE(Take().empty()) << "it did not run yet";
  records_.Run(first, 1015, 1100);
  EXPECT_EQ(Take(), (Found{{5, 1015}}));
  records_.Run(second, 2015, 2100);
  EXPECT_TRUE(Take().empty());
  records_.Launch(second);
  ASSERT_EQ(operators_.size(), 1u);
  const OpJoiner::Operator& op = operators_[0];
  EXPECT_EQ(op.model, 1u);
  EXPECT_EQ(op.thread, 10u);
  EXPECT_EQ(op.end, 2100u);
  EXPECT_EQ(op.clock_hz, 1'000'000u);
}

TEST_F(OpJoinerTest, ALaunchOutsideOfEveryModelIsNoOperator) {
  const Launched alone{.task = 1, .name = 5, .at = 1000}, next{.task = 2, .name = 6, .at = 2000};
  records_.Task(alone);
  records_.Name(alone);
  records_.Run(alone, 1015, 1100);
  records_.Launch(next);
  records_.Run(next, 2015, 2100);
  EXPECT_EQ(Take(), (Found{{6, 2015}}));
}

// If the run stayed, every later operator of that number would have the time of the one before it.
TEST_F(OpJoinerTest, ARunWhoseLaunchWasLostIsNotGivenToTheNextTaskOfItsNumber) {
  const Launched lost{.task = 7, .at = kLong};
  records_.Run(lost, kLong + 15, kLong + 100);
  for (uint64_t round = 2; round < 5; ++round) {
    const Launched again{.task = 7, .name = round, .at = round * kLong};
    records_.Launch(again);
    records_.Run(again, again.at + 15, again.at + 100);
    EXPECT_EQ(Take(), (Found{{round, again.at + 15}}));
  }
}

TEST_F(OpJoinerTest, ALaunchWhoseRunWasLostIsNotGivenTheNextRunOfItsNumber) {
  records_.Launch({.task = 7, .name = 1, .at = kLong});
  const Launched next{.task = 8, .name = 2, .at = kLong + 40};
  records_.Launch(next);
  records_.Run(next, next.at + 15, next.at + 100);
  EXPECT_EQ(Take(), (Found{{2, next.at + 15}}));
  const Launched again{.task = 7, .name = 3, .at = 2 * kLong};
  records_.Launch(again);
  records_.Run(again, again.at + 15, again.at + 100);
  EXPECT_EQ(Take(), (Found{{3, again.at + 15}}));
}

TEST_F(OpJoinerTest, TasksOfOtherStreamsAndDevicesAreNoneOfTheStream) {
  const Launched other_stream{.stream = 1, .task = 3, .name = 1, .at = 1000};
  const Launched other_device{.device = 1, .stream = 2, .task = 3, .name = 2, .at = 1100};
  const Launched met{.stream = 2, .task = 4, .name = 3, .at = 1200};
  for (const Launched& one : {other_stream, other_device, met}) records_.Launch(one);
  records_.Run(met, 1215, 1300);
  records_.Run(other_stream, 1400, 1500);
  records_.Run(other_device, 1600, 1700);
  EXPECT_EQ(Take(), (Found{{3, 1215}, {1, 1400}, {2, 1600}}));
}

TEST_F(OpJoinerTest, ALaunchOfTheNextRoundOfNumbersIsLaterThoughItsNumberIsLower) {
  const Launched last{.task = 65535, .name = 1, .at = 1000}, first{.task = 0, .name = 2, .at = 1100};
  records_.Launch(last);
  records_.Launch(first);
  records_.Run(last, 1015, 1050);
  records_.Run(first, 1115, 1150);
  EXPECT_EQ(Take(), (Found{{1, 1015}, {2, 1115}}));
}

}  // namespace
}  // namespace npuprof
