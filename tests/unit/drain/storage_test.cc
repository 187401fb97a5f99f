// SPDX-License-Identifier: Apache-2.0
// A limit on what a directory takes holds at every moment; the oldest goes first, and what belongs together goes
// together.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <regex>
#include <set>
#include <thread>

#include "base/crc32c.h"
#include "drain/storage.h"
#include "support.h"

namespace npuprof::drain {
namespace {

constexpr uint64_t kMb = 1'000'000;

// What du would say: every block of every entry. @p seen  gets the names
uint64_t BlocksBelow(const std::string& path, std::multiset<std::string>* seen = nullptr) {
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) return 0;
  if (seen != nullptr) seen->insert(path);
  uint64_t bytes = static_cast<uint64_t>(st.st_blocks) * 512;
  if (!S_ISDIR(st.st_mode)) return bytes;
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return bytes;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") bytes += BlocksBelow(path + "/" + name, seen);
  }
  closedir(entries);
  return bytes;
}

/// Looks at a directory all the time and keeps the most it has seen. A walk takes time: what was removed after it was seen
/// and what came after that were never there together. So a walk counts only if a second one finds the same names; as
/// files that are there only grow, there was then a moment that had at least as much.
class Watcher {
 public:
  explicit Watcher(const std::string& path, const std::function<void()>& amid = nullptr)
      : thread_([this, path, amid] {
          while (!stop_) {
            std::multiset<std::string> seen, again;
            const uint64_t bytes = BlocksBelow(path, &seen);
            if (amid) amid();
            BlocksBelow(path, &again);
            if (seen != again) continue;
            if (bytes > most_) most_ = bytes;
            ++looks_;
          }
        }) {}
  ~Watcher() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  uint64_t most() const { return most_; }
  uint64_t looks() const { return looks_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> most_{0}, looks_{0};
  std::thread thread_;
};

TEST(StorageWatcher, CountsNothingTogetherThatWasNotThereTogether) {
  TempDir dir;
  std::atomic<unsigned> rounds{0};
  // Between two walks one file goes and another comes, as many times as it likes; then all stays.
  Watcher watcher(dir.path(), [&] {
    const unsigned n = ++rounds;
    if (n > 20) return;
    std::filesystem::remove(fmt::format("{}/{}", dir.path(), n - 1));
    std::ofstream(fmt::format("{}/{}", dir.path(), n)) << std::string(50'000, 'x');
  });
  ASSERT_TRUE(Eventually([&] { return watcher.looks() > 0; }));
  EXPECT_GT(rounds, 20u) << "a walk was counted although names came and went";
  EXPECT_GT(watcher.most(), 50'000u);
  EXPECT_LT(watcher.most(), 100'000u);
}

/// Yields so many numbered records, the same ones over and over but for their numbers, into several files in step.
class Producer final : public Source {
 public:
  Producer(std::vector<std::shared_ptr<trace::RecordFile>> files, uint64_t rounds, size_t bite)
      : files_(std::move(files)), rounds_(rounds), bite_(bite), ledgers_(files_.size()) {
    for (const auto& file : files_) records_.push_back(MakeRecords(file->spec().record_size, bite));
  }

  Progress Poll(const Pass&) override {
    while (round_ < rounds_) {
      for (; next_ < files_.size(); ++next_) {
        const size_t size = files_[next_]->spec().record_size;
        std::string& records = records_[next_];
        for (uint64_t i = 0; i < bite_ && done_ == 0; ++i) {
          const uint64_t number = 1 + round_ * bite_ + i;
          std::memcpy(records.data() + (i + 1) * size - 8, &number, 8);
        }
        const size_t took =
            files_[next_]->Append(records.data() + done_ * size, bite_ - done_, &ledgers_[next_]);
        done_ += took;
        if (done_ < bite_) return {false, true, 100};
        done_ = 0;
      }
      next_ = 0;
      ++round_;
      rounds_done = round_;
      if (round_ % 8 == 0) return {true, false, 100};
    }
    return {};
  }
  const std::vector<Ledger>& ledgers() const { return ledgers_; }
  std::atomic<uint64_t> rounds_done{0};

 private:
  std::vector<std::shared_ptr<trace::RecordFile>> files_;
  const uint64_t rounds_;
  const size_t bite_;
  std::vector<Ledger> ledgers_;
  std::vector<std::string> records_;
  uint64_t round_ = 0;
  size_t next_ = 0, done_ = 0;
};

// Slice numbers of a file that are there.
std::vector<unsigned> Present(const std::string& directory, const std::string& name) {
  std::vector<unsigned> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string file = entry.path().filename();
    const std::string head = name + ".slice_";
    if (!file.starts_with(head) || file.ends_with(".done")) continue;
    found.push_back(static_cast<unsigned>(std::stoul(file.substr(head.size()))));
  }
  std::sort(found.begin(), found.end());
  return found;
}

class StorageTest : public testing::TestWithParam<Options::Choice> {
 protected:
  StorageTest() {
    for (const char* part : {"/host/data", "/device_0/data", "/npuprof"})
      std::filesystem::create_directories(dir_.path() + part);
  }
  std::unique_ptr<Collection> Open(uint64_t limit) {
    Options options;
    options.path = GetParam();
    auto collection = drain_.Open(options, messages_.Handler(), nullptr);
    collection->KeepWithin(dir_.path(), limit);
    return collection;
  }
  std::string Host() const { return dir_.path() + "/host/data"; }
  std::string Device() const { return dir_.path() + "/device_0/data"; }
  uint64_t FirstNumber(const std::string& directory, const std::string& name, size_t size) const {
    const std::string first =
        ReadFile(fmt::format("{}/{}.slice_{}", directory, name, Present(directory, name).front()));
    uint64_t number = 0;
    if (first.size() >= size) std::memcpy(&number, first.data() + size - 8, 8);
    return number;
  }

  TempDir dir_{NPUPROF_TEST_DISK};
  Drain drain_;
  Messages messages_;
};

INSTANTIATE_TEST_SUITE_P(All, StorageTest,
                         testing::Values(Options::Choice::kUring, Options::Choice::kDirect,
                                         Options::Choice::kPwritev),
                         [](const auto& param) { return PathLabel(param.param); });

void LimitHolds(const std::string& root, Drain& drain, Collection& collection,
                const std::vector<std::shared_ptr<trace::RecordFile>>& files, uint64_t limit,
                uint64_t produced) {
  size_t per_round = 0;
  constexpr size_t kBite = 4096;
  for (const auto& file : files) per_round += file->spec().record_size * kBite;
  auto producer = std::make_shared<Producer>(files, produced / per_round + 1, kBite);
  // While somebody watches, the thread and its ring stay: ThreadSanitizer does not see that a ring is closed, and takes the
  // next use of its descriptor for a race.
  auto lasting = drain.Open(Options{}, nullptr, nullptr);
  Watcher watcher(root);
  collection.Add(producer);
  ASSERT_TRUE(Eventually([&] { return producer->rounds_done > produced / per_round; }, seconds(200)));
  ASSERT_TRUE(collection.Finish(seconds(60)).ok());
  watcher.Stop();
  uint64_t accepted = 0, kept = 0, aged = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto report = files[i]->Report(root);
    EXPECT_EQ(producer->ledgers()[i].lost, 0u);
    EXPECT_EQ(report.records + report.aged_records, producer->ledgers()[i].accepted);
    accepted += producer->ledgers()[i].accepted * files[i]->spec().record_size;
    kept += report.bytes;
    aged += report.aged_records * files[i]->spec().record_size;
  }
  EXPECT_GE(accepted, produced);
  EXPECT_EQ(kept + aged, accepted);
  testing::Test::RecordProperty("most_bytes", std::to_string(watcher.most()));
  testing::Test::RecordProperty("looks", std::to_string(watcher.looks()));
  EXPECT_LE(watcher.most(), limit);
  EXPECT_GT(watcher.looks(), 50u) << "the watcher hardly looked";
  EXPECT_GT(kept, limit / 2) << "far more was removed than the limit asks for";
  EXPECT_LE(BlocksBelow(root), limit);
}

TEST_P(StorageTest, LimitOfTwentyHoldsWhileTwoHundredMegabytesAreProduced) {
  auto collection = Open(20 * kMb);
  LimitHolds(dir_.path(), drain_, *collection,
             {MakeFile(*collection, Device(), "stars_soc.data.0", 64),
              MakeFile(*collection, Device(), "ffts_profile.data.0", 128),
              MakeFile(*collection, Host(), "aging.api_event.data", 40)},
             20 * kMb, 200 * kMb);
}

// The case that the limit is for, at the full rate of this machine.
TEST_P(StorageTest, LimitOfTwoHundredHoldsWhileTwoGigabytesAreProduced) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer makes this minutes; the smaller limits are tested with it";
#endif
  auto collection = Open(200 * kMb);
  LimitHolds(dir_.path(), drain_, *collection,
             {MakeFile(*collection, Device(), "stars_soc.data.0", 64),
              MakeFile(*collection, Device(), "ffts_profile.data.0", 128),
              MakeFile(*collection, Host(), "aging.compact.task_track", 64),
              MakeFile(*collection, Host(), "aging.api_event.data", 40)},
             200 * kMb, 2000 * kMb);
}

TEST_P(StorageTest, HalvesOfTheSameTimeGoTogetherAndDictionariesNever) {
  auto collection = Open(20 * kMb);
  auto stars = MakeFile(*collection, Device(), "stars_soc.data.0", 64);
  auto api = MakeFile(*collection, Host(), "aging.api_event.data", 40);
  auto fixed = MakeFile(*collection, Host(), "unaging.compact.node_basic_info", 64);
  trace::RecordSpec text;
  text.directory = Host();
  text.name = "unaging.additional.hash_dic";
  auto dictionary = std::make_shared<trace::RecordFile>(*collection, text);
  Ledger words;
  collection->Add(std::make_shared<Feeder>(fixed, MakeRecords(64, 5000)));
  ASSERT_TRUE(
      collection->Run([&] { EXPECT_TRUE(dictionary->AppendUnit("1:word\n", 7, &words)); }, seconds(5)).ok());
  // The same numbers go into both files, so they tell which time a record is of.
  auto producer =
      std::make_shared<Producer>(std::vector<std::shared_ptr<trace::RecordFile>>{stars, api}, 400, 2048);
  collection->Add(producer);
  ASSERT_TRUE(Eventually([&] { return producer->rounds_done == 400; }));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());

  const auto slices = Present(Device(), "stars_soc.data.0");
  EXPECT_GT(slices.front(), 0u) << "nothing was removed, the test shows nothing";
  for (size_t i = 1; i < slices.size(); ++i) EXPECT_EQ(slices[i], slices[0] + i);
  const uint64_t device = FirstNumber(Device(), "stars_soc.data.0", 64);
  const uint64_t host = FirstNumber(Host(), "aging.api_event.data", 40);
  EXPECT_GT(device, 100'000u);
  // Each round holds 2048 records of each; a generation may close in the middle of one.
  EXPECT_LE(std::max(device, host) - std::min(device, host), 2u * 2048);
  EXPECT_EQ(ReadSlices(Host() + "/unaging.compact.node_basic_info"), MakeRecords(64, 5000));
  EXPECT_EQ(ReadSlices(Host() + "/unaging.additional.hash_dic"), "1:word\n");
  EXPECT_GT(collection->storage()->complete_from_ns(), 0u);
  EXPECT_EQ(collection->storage()->aged().records,
            stars->Report("").aged_records + api->Report("").aged_records);
}

TEST_P(StorageTest, DataThatNeverAgesEndsTheCollectionWithOneMessage) {
  auto collection = Open(20 * kMb);
  auto fixed = MakeFile(*collection, Host(), "unaging.compact.node_basic_info", 64);
  auto other = MakeFile(*collection, Host(), "aging.api_event.data", 40);
  auto producer =
      std::make_shared<Producer>(std::vector<std::shared_ptr<trace::RecordFile>>{fixed, other}, 300, 4096);
  auto lasting = drain_.Open(Options{}, nullptr, nullptr);  // as in LimitHolds()
  Watcher watcher(dir_.path());
  collection->Add(producer);
  ASSERT_TRUE(Eventually([&] { return producer->rounds_done == 300; }));
  EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
  watcher.Stop();
  EXPECT_LE(watcher.most(), 20 * kMb);
  EXPECT_EQ(messages_.Count("never removed use up the storage limit of 20 MB"), 1u);
  EXPECT_EQ(messages_.Count(""), 1u);
  for (const auto& [file, ledger] :
       {std::pair(fixed, producer->ledgers()[0]), {other, producer->ledgers()[1]}}) {
    EXPECT_GT(ledger.lost, 0u);
    EXPECT_EQ(ledger.written + ledger.lost, ledger.accepted);
    EXPECT_EQ(file->Report("").records + file->Report("").aged_records, ledger.written);
  }
  EXPECT_GT(fixed->Report("").bytes, 18 * kMb) << "it ended before that data alone had used up the limit";
}

// Data that ages goes on as long as there is room for some of it.
TEST_P(StorageTest, WhatAgesIsKeptBesideDataThatNeverAgesAndLeavesLittle) {
  auto collection = Open(20 * kMb);
  auto fixed = MakeFile(*collection, Host(), "unaging.compact.node_basic_info", 64);
  std::vector<std::shared_ptr<trace::RecordFile>> others;
  for (int i = 0; i < 3; ++i)
    others.push_back(MakeFile(*collection, Host(), fmt::format("aging.f{}", i), 64));
  auto all = others;
  all.push_back(fixed);
  // All together, then what never ages alone until it takes 17 of 20 MB, then the rest.
  auto first = std::make_shared<Producer>(all, 2, 4096);
  auto second = std::make_shared<Producer>(std::vector<std::shared_ptr<trace::RecordFile>>{fixed}, 62, 4096);
  auto third = std::make_shared<Producer>(others, 40, 4096);
  auto lasting = drain_.Open(Options{}, nullptr, nullptr);  // as in LimitHolds()
  Watcher watcher(dir_.path());
  for (const auto& [producer, rounds] : {std::pair(first, 2u), {second, 62u}, {third, 40u}}) {
    collection->Add(producer);
    ASSERT_TRUE(Eventually([&, &p = producer, &n = rounds] { return p->rounds_done == n; }, seconds(100)));
  }
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  watcher.Stop();
  EXPECT_LE(watcher.most(), 20 * kMb);
  EXPECT_EQ(messages_.Count(""), 0u);
  EXPECT_EQ(fixed->Report("").bytes, 64u * 4096 * 64);
  for (const auto& file : others) {
    const auto report = file->Report("");
    EXPECT_EQ(report.records + report.aged_records, 42u * 4096);
    EXPECT_GT(report.aged_records, 0u);
    EXPECT_GT(report.records, 0u);
  }
}

TEST_P(StorageTest, SlicesShrinkWhereManyFilesShareASmallLimit) {
  auto collection = Open(20 * kMb);
  std::vector<std::shared_ptr<trace::RecordFile>> files;
  for (int i = 0; i < 24; ++i)
    files.push_back(MakeFile(*collection, Host(), fmt::format("aging.f{}", i), 64));
  auto producer = std::make_shared<Producer>(files, 40, 512);
  collection->Add(producer);
  ASSERT_TRUE(Eventually([&] { return producer->rounds_done == 40; }));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  for (const auto& entry : std::filesystem::directory_iterator(Host())) {
    const bool note = entry.path().extension() == ".done";
    if (note) continue;
    EXPECT_LE(entry.file_size(), 20 * kMb / (8 * 8)) << entry.path();
    EXPECT_EQ(entry.file_size() % 64, 0u);
    EXPECT_EQ(ReadFile(entry.path().string() + ".done"),
              fmt::format("filesize:{}\nstarttime:0\nendtime  :0\n", entry.file_size()));
  }
}

TEST_P(StorageTest, SlicesShrinkByTheNumberOfFilesThatAreOpen) {
  auto collection = Open(20 * kMb);
  std::vector<std::shared_ptr<trace::RecordFile>> files;
  for (int i = 0; i < 24; ++i)
    files.push_back(MakeFile(*collection, Host(), fmt::format("aging.f{}", i), 64));
  auto all = std::make_shared<Producer>(files, 1, 16);
  collection->Add(all);
  ASSERT_TRUE(Eventually([&] { return all->rounds_done == 1; }));
  // One of them alone: what ends its slices is their size, not the end of a generation.
  auto one = std::make_shared<Producer>(std::vector<std::shared_ptr<trace::RecordFile>>{files[0]}, 40, 512);
  collection->Add(one);
  ASSERT_TRUE(Eventually([&] { return one->rounds_done == 40; }));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  const std::vector<unsigned> slices = Present(Host(), "aging.f0");
  ASSERT_GE(slices.size(), 10u);
  constexpr uint64_t kFull = 20 * kMb / (8 * 24) / 64 * 64;
  size_t full = 0;
  for (size_t i = 1; i < slices.size(); ++i) {
    const uint64_t bytes = std::filesystem::file_size(fmt::format("{}/aging.f0.slice_{}", Host(), slices[i]));
    EXPECT_LE(bytes, kFull) << slices[i];
    if (bytes == kFull) ++full;
  }
  EXPECT_GE(full, slices.size() - 3) << "but for the first, the last and the end of a generation";
}

TEST_P(StorageTest, WithoutALimitNothingAgesAndSlicesHaveTheirFullSize) {
  auto collection = Open(0);
  auto file = MakeFile(*collection, Device(), "stars_soc.data.0", 64);
  auto producer = std::make_shared<Producer>(std::vector<std::shared_ptr<trace::RecordFile>>{file}, 40, 4096);
  collection->Add(producer);
  ASSERT_TRUE(Eventually([&] { return producer->rounds_done == 40; }));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_EQ(Present(Device(), "stars_soc.data.0").size(), (40u * 4096 * 64 + (2u << 20) - 1) / (2u << 20));
  EXPECT_EQ(std::filesystem::file_size(Device() + "/stars_soc.data.0.slice_0"), 2u << 20);
  EXPECT_EQ(collection->storage()->complete_from_ns(), 0u);
}

TEST_P(StorageTest, ListOfSlicesTellsTheSumOfEachAndWhichWereRemoved) {
  auto collection = Open(20 * kMb);
  auto file = MakeFile(*collection, Device(), "ts_track.data.0", 40);
  auto producer =
      std::make_shared<Producer>(std::vector<std::shared_ptr<trace::RecordFile>>{file}, 200, 4096);
  collection->Add(producer);
  ASSERT_TRUE(Eventually([&] { return producer->rounds_done == 200; }));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  const std::string list = ReadFile(dir_.path() + "/npuprof/slices.jsonl");
  const std::regex line(
      R"re(\{"slice":"([^"]+)","bytes":(\d+),"records":(\d+),"crc32c":"([0-9a-f]{8})"\})re");
  unsigned present = 0, removed = 0;
  for (std::sregex_iterator it(list.begin(), list.end(), line), end; it != end; ++it) {
    const std::string name = (*it)[1];
    const std::string content = ReadFile(dir_.path() + "/" + name);
    if (list.find("{\"aged\":\"" + name + "\"}") != std::string::npos) {
      EXPECT_FALSE(Exists(dir_.path() + "/" + name));
      EXPECT_FALSE(Exists(dir_.path() + "/" + name + ".done"));
      ++removed;
      continue;
    }
    EXPECT_EQ(content.size(), std::stoul((*it)[2]));
    EXPECT_EQ(content.size() / 40, std::stoul((*it)[3]));
    EXPECT_EQ(fmt::format("{:08x}", Crc32c(0, content.data(), content.size())), (*it)[4]);
    ++present;
  }
  EXPECT_EQ(present, file->Report("").slices);
  EXPECT_EQ(removed, file->Report("").aged_slices);
  EXPECT_GT(removed, 0u);
}

// Nothing is written here but the list: a thousand slices that come and go, beside one that stays.
TEST(Storage, AListThatIsRewrittenKeepsWhatNeverAges) {
  TempDir dir;
  std::filesystem::create_directories(dir.path() + "/npuprof");
  Storage storage(dir.path(), 20 * kMb);
  const std::string fixed = "host/data/unaging.additional.hash_dic.slice_0";
  ASSERT_EQ(storage.Take(8192, false), Storage::Verdict::kGo);
  storage.Finish({dir.path() + "/" + fixed, {7, 1, 0x1234u}, storage.generation(), 8192, false, nullptr});
  auto aged = std::make_shared<Aged>();
  constexpr unsigned kSlices = 1500;
  constexpr uint64_t kBytes = 500'000;
  for (unsigned i = 0; i < kSlices; ++i) {
    const unsigned generation = storage.generation();
    storage.Begun();
    ASSERT_EQ(storage.Take(kBytes, true), Storage::Verdict::kGo);
    storage.Staged(kBytes);
    const std::string path = fmt::format("{}/device_0/data/stars_soc.data.0.slice_{}", dir.path(), i);
    storage.Finish({path, {kBytes, 10, i}, generation, kBytes, true, aged});
  }
  ASSERT_GT(aged->slices, 1000u) << "too few were removed for the list to be rewritten";
  const std::string list = ReadFile(dir.path() + "/npuprof/slices.jsonl");
  EXPECT_LT(std::count(list.begin(), list.end(), '\n'), kSlices) << "the list was not rewritten";
  EXPECT_NE(list.find(fmt::format(R"({{"slice":"{}","bytes":7,"records":1,"crc32c":"00001234"}})", fixed)),
            std::string::npos)
      << "what verify needs to notice that a dictionary was changed or lost";
  for (unsigned i = aged->slices; i < kSlices; ++i)
    EXPECT_NE(list.find(fmt::format("\"device_0/data/stars_soc.data.0.slice_{}\"", i)), std::string::npos)
        << i;
}

TEST(Crc32c, AgreesWithPublishedValuesWithAndWithoutTheInstruction) {
  const std::string digits = "123456789", zeros(32, '\0');
  for (auto* sum : {&Crc32c, &Crc32cByTable}) {
    EXPECT_EQ(sum(0, digits.data(), digits.size()), 0xe3069283u);
    EXPECT_EQ(sum(0, zeros.data(), zeros.size()), 0x8a9136aau);
    EXPECT_EQ(sum(sum(0, digits.data(), 4), digits.data() + 4, 5), 0xe3069283u) << "in two parts";
  }
  const std::string long_one = MakeRecords(40, 1001);
  EXPECT_EQ(Crc32c(0, long_one.data(), long_one.size()), Crc32cByTable(0, long_one.data(), long_one.size()));
}

}  // namespace
}  // namespace npuprof::drain
