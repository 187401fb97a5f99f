// SPDX-License-Identifier: Apache-2.0
// What reaches the files is the same on every way to disk.
#include <gtest/gtest.h>

#include <thread>

#include "support.h"

namespace npuprof::drain {
namespace {

constexpr size_t kSlice = trace::kSliceBytes;

class PathTest : public testing::TestWithParam<Options::Choice> {
 protected:
  Options Wanted() {
    Options options;
    options.path = GetParam();
    return options;
  }
  TempDir dir_;
  Drain drain_;
};

INSTANTIATE_TEST_SUITE_P(All, PathTest,
                         testing::Values(Options::Choice::kUring, Options::Choice::kDirect,
                                         Options::Choice::kPwritev),
                         [](const auto& param) { return PathLabel(param.param); });

TEST_P(PathTest, FilesHoldExactlyWhatTheSourcesGave) {
  auto collection = drain_.Open(Wanted(), nullptr, nullptr);
  ASSERT_NE(collection, nullptr);
  EXPECT_EQ(PathName(collection->path()), PathLabel(GetParam()));
  const size_t sizes[] = {24, 40, 64, 96, 128, 256, 4096};
  std::vector<std::shared_ptr<Feeder>> feeders;
  std::vector<std::string> expected;
  std::vector<std::shared_ptr<trace::RecordFile>> files;
  for (const size_t size : sizes) {
    // A little more than two slices, and not a whole number of blocks.
    expected.push_back(MakeRecords(size, 2 * kSlice / size + 77));
    files.push_back(MakeFile(*collection, dir_.path(), fmt::format("r{}", size), size));
    feeders.push_back(std::make_shared<Feeder>(files.back(), expected.back()));
    collection->Add(feeders.back());
  }
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  for (size_t i = 0; i < std::size(sizes); ++i) {
    SCOPED_TRACE(sizes[i]);
    const std::string base = dir_.path() + fmt::format("/r{}", sizes[i]);
    EXPECT_TRUE(ReadSlices(base) == expected[i]);
    const size_t whole = kSlice / sizes[i] * sizes[i];
    EXPECT_EQ(ReadFile(base + ".slice_0").size(), whole);
    EXPECT_EQ(ReadFile(base + ".slice_1").size(), whole);
    EXPECT_EQ(ReadFile(base + ".slice_0.done"),
              fmt::format("filesize:{}\nstarttime:0\nendtime  :0\n", whole));
    const trace::FileReport report = files[i]->Report(dir_.path());
    EXPECT_EQ(report.path, fmt::format("r{}.slice_0", sizes[i]));
    EXPECT_EQ(report.records, expected[i].size() / sizes[i]);
    EXPECT_EQ(report.bytes, expected[i].size());
    EXPECT_EQ(report.slices, 3u);
    EXPECT_EQ(report.lost, 0u);
    EXPECT_EQ(feeders[i]->ledger.accepted, report.records);
    EXPECT_EQ(feeders[i]->ledger.written, report.records);
  }
}

TEST_P(PathTest, FewRecordsAreOnDiskAfterFlushAndGrowInPlace) {
  auto collection = drain_.Open(Wanted(), nullptr, nullptr);
  auto file = MakeFile(*collection, dir_.path(), "few", 40);
  const std::string data = MakeRecords(40, 300);
  for (size_t part = 0; part < 3; ++part) {
    collection->Add(std::make_shared<Feeder>(file, data.substr(part * 4000, 4000)));
    ASSERT_TRUE(collection->Flush(seconds(20)).ok());
    const std::string now = ReadFile(dir_.path() + "/few.slice_0");
    const size_t bytes = (part + 1) * 4000;
    ASSERT_GE(now.size(), bytes);
    EXPECT_TRUE(now.compare(0, bytes, data, 0, bytes) == 0) << part;
    EXPECT_EQ(now.find_first_not_of('\0', bytes), std::string::npos) << "only zeros may follow";
    trace::FileReport report;
    ASSERT_TRUE(collection->Run([&] { report = file->Report(dir_.path()); }, seconds(20)).ok());
    EXPECT_EQ(report.records, (part + 1) * 100);
    EXPECT_EQ(report.bytes, bytes);
    EXPECT_EQ(report.slices, 1u);
    // Give the block back in between, so that the file goes on in a fresh one.
    if (part == 1) std::this_thread::sleep_for(milliseconds(500));
  }
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  EXPECT_TRUE(ReadFile(dir_.path() + "/few.slice_0") == data);
}

TEST_P(PathTest, CounterRunsThroughRecordsOfSeveralSourcesAndSlices) {
  auto collection = drain_.Open(Wanted(), nullptr, nullptr);
  trace::RecordSpec spec;
  spec.directory = dir_.path();
  spec.name = "stars_soc.data.0";
  spec.record_size = 64;
  spec.stamp_counter = true;
  spec.slice_bytes = 64 * 100;
  auto file = std::make_shared<trace::RecordFile>(*collection, spec);
  std::string records(64 * 250, '\0');
  for (size_t i = 0; i < 250; ++i) records[i * 64] = 1, records[i * 64 + 1] = 4;
  collection->Add(std::make_shared<Feeder>(file, records, 7));
  collection->Add(std::make_shared<Feeder>(file, records, 3));
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  const std::string all = ReadSlices(dir_.path() + "/stars_soc.data.0");
  ASSERT_EQ(all.size(), 64u * 500);
  for (size_t i = 0; i < 500; ++i) {
    uint16_t head;
    std::memcpy(&head, all.data() + i * 64, 2);
    ASSERT_EQ((head >> 6) & 0xfu, i % 16) << i;
    ASSERT_EQ(head & ~0x3c0, 0x401) << i;
  }
}

TEST_P(PathTest, UnitsAreNeverCut) {
  auto collection = drain_.Open(Wanted(), nullptr, nullptr);
  trace::RecordSpec spec;
  spec.directory = dir_.path();
  spec.name = "text";
  spec.slice_bytes = 10'000;
  auto file = std::make_shared<trace::RecordFile>(*collection, spec);
  std::string expected;
  unsigned count = 0;
  Ledger ledger;
  ASSERT_TRUE(collection
                  ->Run(
                      [&] {
                        for (; expected.size() < 100'000; ++count) {
                          const std::string unit = std::string(1 + count * 37 % 3000, 'a') + "\n";
                          ASSERT_TRUE(file->AppendUnit(unit.data(), unit.size(), &ledger));
                          expected += unit;
                        }
                        const std::string large(300'000, 'b');  // larger than a slice and than a block
                        ASSERT_TRUE(file->AppendUnit((large + "\n").data(), large.size() + 1, &ledger));
                        expected += large + "\n";
                        ++count;
                      },
                      seconds(20))
                  .ok());
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/text") == expected);
  const trace::FileReport report = file->Report(dir_.path());
  EXPECT_EQ(report.records, count);
  EXPECT_GT(report.slices, 10u);
  for (unsigned k = 0; k < report.slices; ++k) {
    const std::string slice = ReadFile(fmt::format("{}/text.slice_{}", dir_.path(), k));
    EXPECT_EQ(slice.back(), '\n') << k;
    EXPECT_TRUE(slice.size() <= 10'000 || k + 1 == report.slices) << k;
  }
}

TEST_P(PathTest, ConverterChangesTheLayoutAndMayLeaveRecordsOut) {
  auto collection = drain_.Open(Wanted(), nullptr, nullptr);
  trace::RecordSpec spec;
  spec.directory = dir_.path();
  spec.name = "converted";
  spec.record_size = 24;
  spec.ring_record_size = 32;
  spec.convert = [](const void* in, void* out, const void*) {
    uint64_t number;
    std::memcpy(&number, static_cast<const char*>(in) + 24, 8);
    const uint64_t words[3] = {number, number * 2, number * 3};
    std::memcpy(out, words, 24);
    return number % 3 != 0;
  };
  auto file = std::make_shared<trace::RecordFile>(*collection, spec);
  auto feeder = std::make_shared<Feeder>(file, MakeRecords(32, 9000));
  collection->Add(feeder);
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  const std::string all = ReadSlices(dir_.path() + "/converted");
  ASSERT_EQ(all.size(), 6000u * 24);
  for (size_t i = 0; i < 6000; ++i) {
    uint64_t words[3];
    std::memcpy(words, all.data() + i * 24, 24);
    ASSERT_EQ(words[0], i / 2 * 3 + i % 2 + 1);
    ASSERT_EQ(words[2], words[0] * 3);
  }
  EXPECT_EQ(feeder->ledger.accepted, 9000u);
  EXPECT_EQ(feeder->ledger.written, 9000u);
}

TEST_P(PathTest, SmallStagingHoldsSourcesBackAndLosesNothing) {
  Options options = Wanted();
  options.staging_bytes = size_t{1} << 20;
  auto collection = drain_.Open(options, nullptr, nullptr);
  // More open files than there are blocks.
  std::vector<std::string> expected;
  std::vector<std::shared_ptr<Feeder>> feeders;
  for (unsigned i = 0; i < 24; ++i) {
    expected.push_back(MakeRecords(40, 20'000, 1 + i * 100'000));
    feeders.push_back(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), fmt::format("f{}", i), 40),
                                               expected.back()));
    collection->Add(feeders.back());
  }
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  unsigned held_back = 0;
  for (unsigned i = 0; i < 24; ++i) {
    EXPECT_TRUE(ReadSlices(fmt::format("{}/f{}", dir_.path(), i)) == expected[i]) << i;
    held_back += feeders[i]->blocked_count;
  }
  EXPECT_GT(held_back, 0u) << "staging was never short, the test shows nothing";
  EXPECT_LE(collection->cost().staging_peak_bytes, size_t{1} << 20);
  EXPECT_GE(collection->cost().bytes_written, 24u * 20'000 * 40);
}

TEST_P(PathTest, AFileWithoutRecordsDoesNotExist) {
  auto collection = drain_.Open(Wanted(), nullptr, nullptr);
  auto file = MakeFile(*collection, dir_.path(), "empty", 40);
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
  EXPECT_EQ(file->Report(dir_.path()).slices, 0u);
}

}  // namespace
}  // namespace npuprof::drain
