// SPDX-License-Identifier: Apache-2.0
// What is derived from records, on runs whose truth is known because the test made them up.
#include "analysis/insight/insight.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>

#include "analysis/insight/operator_sums.h"
#include "csv.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {

using analysis::Bound;
using analysis::Cause;
using analysis::DeviceInsight;
using analysis::Gap;
using analysis::Insight;
using analysis::Profile;

constexpr uint64_t kMicrosecond = 1000;
constexpr uint32_t kLaunch = 5, kSynchronize = 0x030005;
constexpr uint64_t kMemcpy = 5, kEventWait = 3, kNotifyWait = 14;
constexpr uint16_t kCompute = 3, kOther = 7;
constexpr uint32_t kThread = 1, kOtherThread = 2;

// Operators of about 100 us on one stream, and gaps between them for reasons that the name of the next one tells.
class Story {
 public:
  explicit Story(const TemporaryDirectory& directory) : builder(directory.path()) {
    builder.Type(ProfBuilder::kLevelAcl, kSynchronize, "aclrtSynchronizeStream");
    builder.Type(ProfBuilder::kLevelRuntime, kEventWait, "EVENT_WAIT");
    builder.Type(ProfBuilder::kLevelRuntime, kNotifyWait, "NOTIFY_WAIT");
  }

  // An operator submitted at `submitted` that runs from `now` on.
  void Operator(uint64_t submitted, const std::string& name) {
    const uint64_t length = 100 * kMicrosecond + Random(20 * kMicrosecond);
    builder.Operator(kThread, kCompute, task++, submitted - 500, now, now + length, name);
    now += length;
  }

  // A gap of `length`, in the middle of which `inside(begin, end)` puts what causes it.
  template <typename Inside>
  void Gap(Cause cause, bool late, uint64_t length, Inside inside) {
    const uint64_t begin = now;
    inside(begin + length / 20, begin + length - length / 10);
    now += length;
    Operator(late ? begin + length * 19 / 20 : begin - 40 * kMicrosecond, analysis::CauseName(cause));
    ++truth[cause];
  }

  // A task of a collective whose launch is told.
  void Collective(uint64_t type, unsigned sqe, uint16_t stream, uint64_t submitted, uint64_t begin,
                  uint64_t end) {
    builder.Api(ProfBuilder::kLevelNode, kLaunch, kThread, submitted - 300, submitted + 300,
                builder.Hash("hcom_allReduce_"));
    builder.Node(kThread, submitted + 300, "hcom_allReduce_", "hcom_allReduce_", 9, 0);
    builder.Track(kThread, submitted, stream, task, type, "");
    builder.Task(stream, task++, sqe, begin, end);
  }

  uint64_t Random(uint64_t below) {
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return (seed_ >> 33) % below;
  }

  ProfBuilder builder;
  uint64_t now = 1'000 * kMicrosecond;
  uint16_t task = 0;
  std::map<Cause, uint64_t> truth;

 private:
  uint64_t seed_ = 7;
};

Insight Read(const Story& story) {
  return analysis::Analyse(Profile::Open(story.builder.path()));
}

uint64_t Right(const DeviceInsight& device, Cause cause) {
  uint64_t right = 0;
  for (const Gap& gap : device.gaps) right += gap.next == CauseName(cause) && gap.cause == cause ? 1 : 0;
  return right;
}

constexpr int kRounds = 60;

TEST(Insight, EveryCauseOfGapsIsFoundWhereItWasPut) {
  TemporaryDirectory directory;
  Story story(directory);
  story.Operator(story.now - 100 * kMicrosecond, "first");
  for (int round = 0; round < kRounds; ++round) {
    const auto length = [&] { return 30 * kMicrosecond + story.Random(300 * kMicrosecond); };
    story.Gap(Cause::kHostLate, true, length(), [](uint64_t, uint64_t) {});
    story.Gap(Cause::kSynchronising, true, length(), [&](uint64_t begin, uint64_t end) {
      story.builder.Api(ProfBuilder::kLevelAcl, kSynchronize, kThread, begin - 60 * kMicrosecond, end);
    });
    story.Gap(Cause::kCollectiveWait, false, length(), [&](uint64_t begin, uint64_t end) {
      story.Collective(kNotifyWait, 7, kCompute, begin - 70 * kMicrosecond, begin, end);
    });
    story.Gap(Cause::kCommunication, false, length(), [&](uint64_t begin, uint64_t end) {
      story.Collective(kMemcpy, 11, kCompute, begin - 70 * kMicrosecond, begin, end);
    });
    story.Gap(Cause::kCopy, false, length(), [&](uint64_t begin, uint64_t end) {
      story.builder.Track(kThread, begin - 60 * kMicrosecond, kCompute, story.task, kMemcpy, "");
      story.builder.Task(kCompute, story.task++, 11, begin, end);
    });
    story.Gap(Cause::kUnknown, false, length(), [](uint64_t, uint64_t) {});
  }
  story.builder.Close();
  const Insight insight = Read(story);
  ASSERT_EQ(insight.devices.size(), 1u);
  const DeviceInsight& device = insight.devices[0];
  EXPECT_EQ(device.gaps.size(), 6u * kRounds);
  for (const auto& [cause, count] : story.truth) {
    EXPECT_GE(Right(device, cause) * 100, count * 95) << CauseName(cause);
    EXPECT_EQ(device.gap_counts[static_cast<size_t>(cause)], Right(device, cause)) << CauseName(cause);
  }
}

TEST(Insight, ACauseOnAnotherStreamCountsIfTheNextOperatorWaitsForIt) {
  TemporaryDirectory directory;
  Story story(directory);
  story.Operator(story.now - 100 * kMicrosecond, "first");
  for (int round = 0; round < kRounds; ++round) {
    // The stream waits for an event, that of a copy on another one.
    story.Gap(Cause::kCopy, false, 200 * kMicrosecond, [&](uint64_t begin, uint64_t end) {
      story.builder.Track(kThread, begin - 60 * kMicrosecond, kOther, story.task, kMemcpy, "");
      story.builder.Task(kOther, story.task++, 11, begin, end);
      story.builder.Track(kThread, begin - 58 * kMicrosecond, kCompute, story.task, kEventWait, "");
      story.builder.Task(kCompute, story.task++, 5, begin, end);
    });
    // A copy that nobody waits for excuses no late host.
    story.Gap(Cause::kHostLate, true, 200 * kMicrosecond, [&](uint64_t begin, uint64_t end) {
      story.builder.Track(kThread, begin - 60 * kMicrosecond, kOther, story.task, kMemcpy, "");
      story.builder.Task(kOther, story.task++, 11, begin, end);
    });
    // A thread that waits for a transfer waits for communication.
    story.Gap(Cause::kCommunication, true, 200 * kMicrosecond, [&](uint64_t begin, uint64_t end) {
      story.builder.Api(ProfBuilder::kLevelAcl, kSynchronize, kThread, begin - 60 * kMicrosecond, end);
      story.Collective(kMemcpy, 11, kOther, begin - 70 * kMicrosecond, begin, end);
    });
    // Another thread's wait tells nothing of the one that submits.
    story.Gap(Cause::kHostLate, true, 200 * kMicrosecond, [&](uint64_t begin, uint64_t end) {
      story.builder.Api(ProfBuilder::kLevelAcl, kSynchronize, kOtherThread, begin - 60 * kMicrosecond, end);
    });
  }
  story.builder.Close();
  const DeviceInsight device = Read(story).devices.at(0);
  for (const auto& [cause, count] : story.truth) EXPECT_EQ(Right(device, cause), count) << CauseName(cause);
}

TEST(Insight, WhatCannotBeToldIsUnknown) {
  TemporaryDirectory directory;
  Story story(directory);
  story.Operator(story.now - 100 * kMicrosecond, "first");
  for (int round = 0; round < kRounds; ++round)
    story.Gap(Cause::kHostLate, true, 200 * kMicrosecond, [](uint64_t, uint64_t) {});
  story.builder.Close();
  std::filesystem::remove(story.builder.path() / "host/data/aging.api_event.data.slice_0");
  Insight insight = Read(story);
  EXPECT_EQ(insight.devices[0].gap_counts[static_cast<size_t>(Cause::kUnknown)], uint64_t{kRounds});
  EXPECT_NE(std::accumulate(insight.missing.begin(), insight.missing.end(), std::string())
                .find("calls of the host"),
            std::string::npos);
  std::filesystem::remove_all(story.builder.path() / "host");
  insight = Read(story);
  EXPECT_EQ(insight.devices[0].gap_counts[static_cast<size_t>(Cause::kUnknown)], uint64_t{kRounds});
  EXPECT_EQ(insight.devices[0].operators, 1u + kRounds) << "kernels are kernels without a host";
}

TEST(Insight, TimesAddUpToTheWindowAndToEachGap) {
  TemporaryDirectory directory;
  Story story(directory);
  story.Operator(story.now - 100 * kMicrosecond, "first");
  for (int round = 0; round < kRounds; ++round) {
    story.Gap(Cause::kCopy, story.Random(2) == 0, 1 + story.Random(300 * kMicrosecond),
              [&](uint64_t begin, uint64_t end) {
                story.builder.Track(kThread, begin - 60 * kMicrosecond, kCompute, story.task, kMemcpy, "");
                story.builder.Task(kCompute, story.task++, 11, begin, begin + (end - begin) / 2);
              });
    story.Collective(kMemcpy, 11, kOther, story.now - 30 * kMicrosecond, story.now - 20 * kMicrosecond,
                     story.now + 20 * kMicrosecond);
  }
  story.builder.Close();
  const DeviceInsight device = Read(story).devices.at(0);
  const auto total = [](const analysis::TimeSplit& time) {
    return std::accumulate(time.idle.begin(), time.idle.end(), time.compute_ns + time.between_ns);
  };
  EXPECT_EQ(device.time.window_ns, device.end_ns - device.begin_ns);
  EXPECT_EQ(total(device.time), device.time.window_ns);
  int64_t in_gaps = 0;
  for (const Gap& gap : device.gaps) {
    EXPECT_EQ(std::accumulate(gap.parts.begin(), gap.parts.end(), int64_t{0}), gap.end_ns - gap.begin_ns);
    in_gaps += gap.end_ns - gap.begin_ns;
  }
  EXPECT_EQ(in_gaps + device.time.between_ns + device.time.compute_ns, device.time.window_ns);
  EXPECT_EQ(device.overlap.compute_ns + device.overlap.exposed_ns + device.overlap.free_ns,
            device.time.window_ns);
  EXPECT_EQ(device.overlap.communication_ns, kRounds * 40 * static_cast<int64_t>(kMicrosecond));
  EXPECT_GT(device.overlap.exposed_ns, 0);
  EXPECT_LT(device.overlap.exposed_ns, device.overlap.communication_ns);
}

TEST(Insight, StepsAreSplitAsTheirTimeWasSpent) {
  TemporaryDirectory directory;
  Story story(directory);
  story.builder.Operator(kThread, kCompute, 0, 900 * kMicrosecond, 1000 * kMicrosecond, 1100 * kMicrosecond,
                         "a");
  story.builder.Operator(kThread, kCompute, 1, 1150 * kMicrosecond, 1200 * kMicrosecond, 1300 * kMicrosecond,
                         "b");
  story.builder.Step(1, 4, 60000, 1050 * kMicrosecond);
  story.builder.Step(1, 4, 60001, 1250 * kMicrosecond);
  story.builder.Close();
  const DeviceInsight device = Read(story).devices.at(0);
  ASSERT_EQ(device.steps.size(), 1u);
  const auto& time = device.steps[0].time;
  EXPECT_EQ(time.window_ns, 200'000);
  EXPECT_EQ(time.compute_ns, 100'000);
  EXPECT_NEAR(static_cast<double>(time.idle[static_cast<size_t>(Cause::kHostLate)]), 50'000, 1000);
}

TEST(Insight, GapsOfTheHostInARowAreAPhase) {
  TemporaryDirectory directory;
  Story story(directory);
  story.Operator(story.now - 100 * kMicrosecond, "first");
  const auto late = [&](int times) {
    for (int i = 0; i < times; ++i)
      story.Gap(Cause::kHostLate, true, 50 * kMicrosecond, [](uint64_t, uint64_t) {});
  };
  const auto busy = [&] {
    for (int i = 0; i < 20; ++i) story.Operator(story.now - 100 * kMicrosecond, "busy");
  };
  late(7);  // too few
  busy();
  late(12);
  busy();
  late(9);
  story.builder.Close();
  const DeviceInsight device = Read(story).devices.at(0);
  ASSERT_EQ(device.phases.size(), 2u);
  EXPECT_EQ(device.phases[0].gaps, 12u);
  EXPECT_EQ(device.phases[0].operators, 11u);
  EXPECT_EQ(device.phases[1].gaps, 9u);
  EXPECT_NEAR(static_cast<double>(device.phases[0].idle_ns), 12 * 50e3 * 0.95, 12 * 1000);
}

TEST(Insight, OperatorsAreBoundByTheirBusiestPipeOrByTheirLaunch) {
  TemporaryDirectory directory;
  Story story(directory);
  for (uint16_t i = 0; i < 40; ++i) {
    const uint64_t start = (1000 + 100 * i) * kMicrosecond;
    const bool late = i >= 20;
    const std::string name = late ? "small" : i % 2 == 0 ? "product" : "sum";
    const uint64_t length = late ? 5 * kMicrosecond : 100 * kMicrosecond;
    story.builder.Operator(kThread, kCompute, i, start - (late ? 10 : 200) * kMicrosecond, start,
                           start + length, name, name == "sum");
  }
  story.builder.Close();
  const Insight insight = Read(story);
  std::map<std::string, const analysis::OperatorSum*> by_name;
  for (const auto& op : insight.operators) by_name[op.name] = &op;
  ASSERT_EQ(by_name.size(), 3u);
  // The builder lets counter i be a share of 1 / (i + 2) of the cycles: cube 1/3, vector unit 1/2, MTE2 1/6.
  EXPECT_EQ(by_name["product"]->bound, Bound::kCube);
  EXPECT_EQ(by_name["sum"]->bound, Bound::kVector);
  EXPECT_EQ(by_name["small"]->bound, Bound::kLaunch);
  EXPECT_EQ(by_name["product"]->count, 10u);
  EXPECT_EQ(by_name["product"]->total_ns, 10 * 100 * static_cast<int64_t>(kMicrosecond));
  EXPECT_NEAR(by_name["product"]->busy[static_cast<size_t>(analysis::Pipe::kCube)].value_or(0), 1.0 / 3,
              1e-4);
  EXPECT_NEAR(by_name["sum"]->busy[static_cast<size_t>(analysis::Pipe::kVector)].value_or(0), 0.5, 1e-4);
  EXPECT_NEAR(by_name["sum"]->busy[static_cast<size_t>(analysis::Pipe::kMte2)].value_or(0), 1.0 / 6, 1e-4);
  EXPECT_FALSE(by_name["sum"]->busy[static_cast<size_t>(analysis::Pipe::kCube)].has_value());
  // fp16: 8192 operations in a busy cycle.
  const double cycles = 100'000 * 9 / 5 * 20;
  EXPECT_NEAR(by_name["product"]->operations.value_or(0) / (10 * cycles / 3 * 8192), 1, 1e-4);
  EXPECT_DOUBLE_EQ(insight.devices[0].peaks.cube_operations, 1800e6 * 24 * 8192);
}

TEST(Insight, OnlyTheLongestGapsAreKeptAndAllAreCounted) {
  TemporaryDirectory directory;
  Story story(directory);
  story.Operator(story.now - 100 * kMicrosecond, "first");
  for (uint64_t i = 0; i < 50; ++i)
    story.Gap(Cause::kHostLate, true, (30 + i) * kMicrosecond, [](uint64_t, uint64_t) {});
  story.builder.Close();
  analysis::InsightOptions options;
  options.most_gaps = 10;
  const DeviceInsight device = analysis::Analyse(Profile::Open(story.builder.path()), options).devices.at(0);
  ASSERT_EQ(device.gaps.size(), 10u);
  for (const Gap& gap : device.gaps) EXPECT_GE(gap.end_ns - gap.begin_ns, 70'000);
  EXPECT_EQ(device.gap_counts[static_cast<size_t>(Cause::kHostLate)], 50u);
}

TEST(Insight, BytesOfTensorsFollowFromShapesAndTypes) {
  EXPECT_EQ(analysis::BytesOfTensors("\"2,3;4\"", "FLOAT16;FLOAT"), 2 * 3 * 2 + 4 * 4);
  EXPECT_EQ(analysis::BytesOfTensors("\";4\"", "INT8;DT_BF16"), 8);
  EXPECT_EQ(analysis::BytesOfTensors("\"2\"", "STRING"), 0);
  EXPECT_EQ(analysis::BytesOfTensors("\"\"", ""), 0);
}

}  // namespace
}  // namespace npuprof::test
