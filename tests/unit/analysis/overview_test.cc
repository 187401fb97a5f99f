// SPDX-License-Identifier: Apache-2.0
// What plots are drawn from, on runs whose truth is known because the test made them up.
#include "analysis/insight/overview.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <string>

#include "analysis/insight/insight.h"
#include "csv.h"
#include "npuprof_records.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {

using analysis::BinOperator;
using analysis::DeviceOverview;
using analysis::Insight;
using analysis::Overview;
using analysis::Profile;

constexpr uint64_t kMicrosecond = 1000;
constexpr uint16_t kStream = 3;

// `count` operators of `names` names, 6 us each, one every 10 us.
void WriteOperators(ProfBuilder* builder, uint64_t count, uint64_t names) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = 100 * kMicrosecond + i * 10 * kMicrosecond;
    builder->Operator(1, kStream, static_cast<uint16_t>(i), at - 50 * kMicrosecond, at, at + 6 * kMicrosecond,
                      "op_" + std::to_string(i % names));
  }
}

Insight Read(const ProfBuilder& builder, size_t most_tasks = 100'000) {
  analysis::InsightOptions options;
  options.overview = true;
  options.most_tasks = most_tasks;
  return analysis::Analyse(Profile::Open(builder.path()), options);
}

TEST(Overview, IsMadeOnlyWhenAskedFor) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  WriteOperators(&builder, 3, 3);
  builder.Close();
  EXPECT_FALSE(analysis::Analyse(Profile::Open(builder.path())).overview.has_value());
}

TEST(Overview, BinsAddUpToTheSplitOfTheWindow) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  WriteOperators(&builder, 1234, 7);
  builder.Close();
  const Insight insight = Read(builder);
  const DeviceOverview& device = insight.overview->devices.at(0);
  const analysis::TimeSplit& whole = insight.devices.at(0).time;
  EXPECT_EQ(device.end_ns - device.begin_ns, whole.window_ns);
  analysis::TimeSplit sum;
  for (const analysis::TimeSplit& bin : device.bins) {
    sum.window_ns += bin.window_ns;
    sum.compute_ns += bin.compute_ns;
    sum.between_ns += bin.between_ns;
    for (size_t i = 0; i < analysis::kCauses; ++i) sum.idle[i] += bin.idle[i];
  }
  EXPECT_GT(device.bins.size(), 100u);
  EXPECT_EQ(sum.window_ns, whole.window_ns);
  EXPECT_EQ(sum.compute_ns, whole.compute_ns);
  EXPECT_EQ(sum.between_ns, whole.between_ns);
  EXPECT_EQ(sum.idle, whole.idle);
}

TEST(Overview, UpToTheLimitEachOperatorIsListedAndAboveItSumsByBin) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  WriteOperators(&builder, 1000, 5);
  builder.Close();
  const Overview listed = *Read(builder, 1000).overview;
  ASSERT_FALSE(listed.aggregated);
  ASSERT_EQ(listed.devices.at(0).tasks.size(), 1000u);
  EXPECT_EQ(listed.names.size(), 5u);
  EXPECT_TRUE(listed.devices.at(0).bin_operators.empty());
  EXPECT_EQ(listed.names.at(listed.devices.at(0).tasks.at(3).name), "op_3");
  EXPECT_EQ(listed.devices.at(0).tasks.at(3).length_ns, 6000);

  const Overview sums = *Read(builder, 999).overview;
  ASSERT_TRUE(sums.aggregated);
  EXPECT_TRUE(sums.devices.at(0).tasks.empty());
  std::map<std::string, std::pair<uint64_t, int64_t>> by_name;
  for (const auto& bin : sums.devices.at(0).bin_operators) {
    for (const BinOperator& op : bin) {
      by_name[sums.names.at(op.name)].first += op.count;
      by_name[sums.names.at(op.name)].second += op.total_ns;
    }
  }
  ASSERT_EQ(by_name.size(), 5u);
  for (const auto& [name, sum] : by_name)
    EXPECT_EQ(sum, std::make_pair(uint64_t{200}, int64_t{1'200'000})) << name;
}

// A run may have millions of names, a page may not: beyond so many of a bin they are one.
TEST(Overview, OfMoreNamesThanABinShowsTheRestIsOne) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  WriteOperators(&builder, 60'000, 60'000);
  builder.Close();
  const Overview sums = *Read(builder, 10).overview;
  ASSERT_TRUE(sums.aggregated);
  uint64_t count = 0, others = 0;
  for (const auto& bin : sums.devices.at(0).bin_operators) {
    EXPECT_LE(bin.size(), 41u);
    for (const BinOperator& op : bin) {
      count += op.count;
      if (sums.names.at(op.name) == "(others)") others += op.count;
    }
  }
  EXPECT_EQ(count, 60'000u);
  EXPECT_EQ(others, 60'000u - 600 * 40);
  EXPECT_EQ(sums.names.size(), 600u * 40 + 1);
}

TEST(Overview, BlocksAreLoadsOfTheirCores) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  WriteOperators(&builder, 600, 1);
  // Vector core 5 worked in the second half of each operator, 3 of each 10 us.
  for (uint64_t i = 0; i < 600; ++i) {
    npuprof_rec_block_pmu block{};
    block.head = NPUPROF_FUNC_BLOCK_PMU;
    block.magic = NPUPROF_STARS_MAGIC;
    block.stream_id = kStream;
    block.task_id = static_cast<uint16_t>(i);
    block.core = 5 << 1 | 1;
    const uint64_t at = 100 * kMicrosecond + i * 10 * kMicrosecond;
    block.start = ProfBuilder::Ticks(at + 3 * kMicrosecond);
    block.end = ProfBuilder::Ticks(at + 6 * kMicrosecond);
    builder.Raw("device_0/data/ffts_profile.data.0.slice_0",
                {reinterpret_cast<const char*>(&block), sizeof(block)});
  }
  builder.Close();
  const analysis::CoreLoads loads = Read(builder).overview->devices.at(0).cores;
  ASSERT_EQ(loads.labels, std::vector<std::string>{"vector 5"});
  const std::vector<double>& row = loads.rows.at(0);
  EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size()), 0.3, 0.001);
  for (const double share : row) EXPECT_NEAR(share, 0.3, 0.3);
}

// 32 bytes a count: 2 channels, of which one reads 1 MiB and one 3 MiB in each millisecond.
TEST(Overview, BandwidthIsThatOfAllChannels) {
  TemporaryDirectory directory;
  ProfBuilder builder(directory.path());
  WriteOperators(&builder, 10, 1);
  const auto sample = [&](uint64_t us, uint64_t count, uint32_t event, uint32_t unit) {
    char record[24];
    std::memcpy(record, &us, 8);
    std::memcpy(record + 8, &count, 8);
    std::memcpy(record + 16, &event, 4);
    std::memcpy(record + 20, &unit, 4);
    builder.Raw("device_0/data/hbm.data.0.slice_0", {record, sizeof(record)});
  };
  constexpr uint64_t kSamples = 5001;
  for (uint64_t i = 0; i < kSamples; ++i) {
    sample(1000 + i * 1000, 32768, 0, 0);
    sample(1000 + i * 1000, 3 * 32768, 0, 1);
  }
  sample(9'000'000, 1, 7, 0);
  builder.Close();
  const Insight insight = Read(builder);
  const analysis::Bandwidth& found = insight.overview->devices.at(0).bandwidth;
  EXPECT_EQ(insight.broken_records, 1u);  // the one of event 7
  EXPECT_EQ(found.end_ns - found.begin_ns, 5'000'000'000);
  ASSERT_EQ(found.read.size(), 1000u);
  ASSERT_EQ(found.write.size(), 1000u);
  for (const double rate : found.read) EXPECT_NEAR(rate, 4000, 4);
  for (const double rate : found.write) EXPECT_EQ(rate, 0);
}

}  // namespace
}  // namespace npuprof::test
