// SPDX-License-Identifier: Apache-2.0
// What becomes of records when the disk does not play along: nothing accepted vanishes without being counted,
// every file ends on a whole record, the cause is named once, and nobody waits for ever.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "drain/disk_thread.h"
#include "drain/staging_pool.h"
#include "drain/storage.h"
#include "fault_support.h"

namespace npuprof::drain {
namespace {

INSTANTIATE_TEST_SUITE_P(All, FaultTest,
                         testing::Values(Options::Choice::kUring, Options::Choice::kDirect,
                                         Options::Choice::kPwritev),
                         [](const auto& param) { return PathLabel(param.param); });

// The file is a prefix of the data, whole records, and the ledger knows how long.
void ExpectWholePrefix(const std::string& base, const std::string& data, size_t size, const Ledger& ledger) {
  const std::string kept = ReadSlices(base);
  EXPECT_EQ(kept.size() % size, 0u);
  EXPECT_EQ(kept.size() / size, ledger.written);
  EXPECT_TRUE(data.compare(0, kept.size(), kept) == 0);
  EXPECT_EQ(ledger.written + ledger.lost, ledger.accepted);
}

TEST_P(FaultTest, ShortWritesAreContinued) {
  unsigned calls = 0;
  auto collection = drain_.Open(With([&](const WriteOp&) { return ++calls > 20 ? 0 : 4096; }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(40, 100'000);
  auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 40), data);
  collection->Add(feeder);
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  EXPECT_GT(calls, 20u);
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
  EXPECT_EQ(messages_.Count(""), 0u);
}

TEST_P(FaultTest, FullDiskThatIsEmptiedLosesNothing) {
  std::atomic<bool> full{true};
  auto collection =
      drain_.Open(With([&](const WriteOp&) { return full ? -ENOSPC : 0; }), messages_.Handler(), nullptr);
  const std::string data = MakeRecords(40, 50'000);
  auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 40), data);
  collection->Add(feeder);
  ASSERT_TRUE(Eventually([&] { return messages_.Count("No space left") == 1; }));
  std::this_thread::sleep_for(milliseconds(300));
  full = false;
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
  EXPECT_EQ(messages_.Count("No space left"), 1u) << "one cause, one message";
}

TEST_P(FaultTest, FullDiskEndsTheCollectionOnceStagingIsFull) {
  std::atomic<bool> kept_room{false};
  // Room for a few writes, then for nothing but what was kept for the dictionary.
  std::atomic<int> blocks{4};
  Options options = With([&](const WriteOp& op) {
    if (blocks > 0) {
      --blocks;
      return 0;
    }
    if (kept_room && op.parts[0].iov_len <= 4096) return 0;
    return -ENOSPC;
  });
  options.staging_bytes = size_t{1} << 20;
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  collection->storage()->OnDiskFull([&] { kept_room = true; });
  const std::string data = MakeRecords(64, 100'000);
  auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data);
  auto other = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "g", 40), MakeRecords(40, 10));
  auto names = MakeFile(*collection, dir_.path(), "unaging.additional.hash_dic", 0);
  Ledger words;
  collection->Add(feeder);
  ASSERT_TRUE(Eventually([&] { return feeder->taken == 100'000; }))
      << "an ended file takes and counts, it does not fill the rings";
  collection->Add(other);
  ASSERT_TRUE(
      collection->Run([&] { EXPECT_TRUE(names->AppendUnit("1:word\n", 7, &words)); }, seconds(5)).ok());
  EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
  EXPECT_EQ(feeder->ledger.accepted, 100'000u);
  EXPECT_GT(feeder->ledger.lost, 0u);
  ExpectWholePrefix(dir_.path() + "/f", data, 64, feeder->ledger);
  EXPECT_EQ(other->ledger.lost, 10u) << "all files that age end together";
  EXPECT_EQ(ReadSlices(dir_.path() + "/unaging.additional.hash_dic"), "1:word\n");
  EXPECT_EQ(messages_.Count("collection ends here"), 1u);
}

TEST_P(FaultTest, NamesAreTriedAgainWhereOthersTookSomeOfTheirRoom) {
  std::atomic<bool> kept_room{false};
  std::atomic<int> taken{2};
  Options options = With([&](const WriteOp& op) {
    return kept_room && op.parts[0].iov_len <= 4096 && taken-- <= 0 ? 0 : -ENOSPC;
  });
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  collection->storage()->OnDiskFull([&] { kept_room = true; });
  auto feeder =
      std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), MakeRecords(64, 10'000));
  auto names = MakeFile(*collection, dir_.path(), "unaging.additional.hash_dic", 0);
  Ledger words;
  collection->Add(feeder);
  ASSERT_TRUE(
      collection->Run([&] { EXPECT_TRUE(names->AppendUnit("1:word\n", 7, &words)); }, seconds(5)).ok());
  EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
  EXPECT_LT(taken, 0) << "no write found its room taken";
  EXPECT_EQ(feeder->ledger.lost, 10'000u);
  EXPECT_EQ(ReadSlices(dir_.path() + "/unaging.additional.hash_dic"), "1:word\n");
}

TEST_P(FaultTest, DiskThatFillsUpKeepsWhatWasWritten) {
  std::atomic<uint64_t> room{1'003'520};  // whole sectors, for O_DIRECT; no whole records
  auto collection = drain_.Open(With([&](const WriteOp& op) {
                                  // The disk takes what fits, then nothing: the torn record must go again.
                                  if (room == 0) return -ENOSPC;
                                  const auto bytes = std::min<uint64_t>(op.parts[0].iov_len, room);
                                  room -= bytes;
                                  return static_cast<int>(bytes);
                                }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(40, 200'000);
  auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 40), data);
  collection->Add(feeder);
  EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
  // With O_DIRECT later blocks may have taken the room that an earlier one needed.
  EXPECT_GT(feeder->ledger.written, GetParam() == Options::Choice::kDirect ? 0u : 10'000u);
  EXPECT_GT(feeder->ledger.lost, 0u);
  EXPECT_EQ(feeder->ledger.accepted, 200'000u);
  ExpectWholePrefix(dir_.path() + "/f", data, 40, feeder->ledger);
}

TEST_P(FaultTest, WriteErrorIsRetriedThenEndsTheFileAtAWholeRecord) {
  std::atomic<unsigned> failures{0};
  Options options = With([&](const WriteOp& op) -> int {
    if (op.offset < 700'000) return 0;
    ++failures;
    return -EIO;
  });
  options.staging_bytes = size_t{1} << 20;  // so that what comes does not find room for long
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  const std::string data = MakeRecords(40, 60'000);
  auto file = MakeFile(*collection, dir_.path(), "f", 40);
  auto other = MakeFile(*collection, dir_.path(), "other", 40);
  auto feeder = std::make_shared<Feeder>(file, data);
  auto unharmed = std::make_shared<Feeder>(other, data.substr(0, 40 * 100));
  collection->Add(feeder);
  collection->Add(unharmed);
  ASSERT_TRUE(Eventually([&] { return messages_.Count("are lost") == 1; }));
  EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
  EXPECT_GE(failures, 4u);
  EXPECT_EQ(file->Report(dir_.path()).error, EIO);
  EXPECT_EQ(file->Report(dir_.path()).lost, feeder->ledger.lost);
  EXPECT_EQ(feeder->ledger.accepted, 60'000u) << "a failed file takes and counts, it does not fill the rings";
  EXPECT_GT(feeder->ledger.written, 0u);
  ExpectWholePrefix(dir_.path() + "/f", data, 40, feeder->ledger);
  EXPECT_TRUE(ReadSlices(dir_.path() + "/other") == data.substr(0, 40 * 100));
}

TEST_P(FaultTest, PassingErrorCostsNothing) {
  std::atomic<unsigned> failures{0};
  auto collection = drain_.Open(With([&](const WriteOp&) { return failures.fetch_add(1) < 2 ? -EIO : 0; }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(128, 20'000);
  collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 128), data));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
}

TEST_P(FaultTest, ErrorThatLastsLosesNothingWhileThereIsMemory) {
  std::atomic<unsigned> failed{0}, written{0};
  std::chrono::steady_clock::time_point first{};
  auto collection = drain_.Open(With([&](const WriteOp&) -> int {
                                  const auto now = std::chrono::steady_clock::now();
                                  if (first == std::chrono::steady_clock::time_point{}) first = now;
                                  if (now - first < milliseconds(1500)) return ++failed, -EIO;
                                  return ++written, 0;
                                }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(64, 50'000);
  collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data));
  ASSERT_TRUE(Eventually([&] { return written > 0; })) << "given up after " << failed << " tries";
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_GT(failed, 4u);
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
  EXPECT_EQ(messages_.Count("Input/output error"), 1u) << "one cause, one message";
}

TEST_P(FaultTest, FinishWaitsForADiskWithErrorsAsLongAsItsCaller) {
  // Three seconds of errors from the moment on at which it is asked to end: longer than a full disk is waited for.
  std::atomic<bool> finishing{false};
  std::atomic<unsigned> failed{0};
  std::chrono::steady_clock::time_point since{};
  auto collection = drain_.Open(With([&](const WriteOp&) -> int {
                                  const auto now = std::chrono::steady_clock::now();
                                  if (since == std::chrono::steady_clock::time_point{} || !finishing)
                                    since = now;
                                  return now - since < seconds(3) ? ++failed, -EIO : 0;
                                }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(64, 50'000);
  auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data);
  collection->Add(feeder);
  ASSERT_TRUE(Eventually([&] { return failed > 0 && feeder->taken == 50'000; }));
  finishing = true;
  EXPECT_TRUE(collection->Finish(seconds(60)).ok());
  EXPECT_EQ(feeder->ledger.lost, 0u);
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
  EXPECT_EQ(messages_.Count("are lost"), 0u);
}

TEST_P(FaultTest, ProgramThatIsShortOfDescriptorsForAWhileLosesNothing) {
  Options options = Plain();
  options.flush_interval = milliseconds(20);
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string data = MakeRecords(64, 50'000);
  collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data));
  EXPECT_TRUE(Eventually([&] { return messages_.Count("Too many open files") == 1; }));
  std::this_thread::sleep_for(milliseconds(1000));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
  EXPECT_EQ(messages_.Count("are lost"), 0u);
}

TEST_P(FaultTest, StagingHoldsWhatItPromisesWhileNothingIsWritten) {
  constexpr size_t kStaging = size_t{8} << 20;
  constexpr size_t kSizes[] = {40, 64, 96, 128, 256, 40};
  std::atomic<bool> stalled{false};
  Options options = With([&](const WriteOp&) { return stalled ? FaultWriter::kHold : 0; });
  options.staging_bytes = kStaging;
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  std::vector<std::shared_ptr<trace::RecordFile>> files;
  for (size_t i = 0; i < std::size(kSizes); ++i)
    files.push_back(MakeFile(*collection, dir_.path(), fmt::format("f{}", i), kSizes[i]));
  // Something of each is on the disk, so blocks are part-filled and slices begun when the disk stops.
  std::vector<std::string> expected(std::size(kSizes));
  const auto add = [&](size_t i, size_t bytes) {
    const std::string data = MakeRecords(kSizes[i], bytes / kSizes[i], expected[i].size() / kSizes[i] + 1);
    expected[i] += data;
    auto feeder = std::make_shared<Feeder>(files[i], data);
    collection->Add(feeder);
    return std::pair(feeder, data.size() / kSizes[i]);
  };
  for (size_t i = 0; i < std::size(kSizes); ++i) add(i, 1'900'000);
  ASSERT_TRUE(collection->Flush(seconds(30)).ok());
  stalled = true;
  const uint64_t promised = StagingHolds(kStaging, std::size(kSizes), size_t{2} << 20);
  ASSERT_GT(promised, kStaging / 4);
  // Half of it into one file, the rest into all.
  std::vector<std::pair<std::shared_ptr<Feeder>, size_t>> fed;
  fed.push_back(add(0, promised / 2));
  for (size_t i = 1; i < std::size(kSizes); ++i) fed.push_back(add(i, promised / 10));
  for (const auto& [feeder, count] : fed)
    EXPECT_TRUE(Eventually([&, &f = feeder, &n = count] { return f->taken == n; }, seconds(20)));
  for (const auto& [feeder, count] : fed)
    EXPECT_EQ(feeder->blocked_count, 0u) << "staging held less than promised";
  // And not without end: what finds no room stays where it is.
  auto [more, count] = add(1, 2 * kStaging);
  EXPECT_TRUE(Eventually([&, &f = more] { return f->blocked_count > 0; }));
  EXPECT_LT(more->taken, count);
  stalled = false;
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  for (size_t i = 0; i < std::size(kSizes); ++i)
    EXPECT_TRUE(ReadSlices(fmt::format("{}/f{}", dir_.path(), i)) == expected[i]) << i;
}

TEST(PwritevWriterTest, WriteThatHangsDoesNotKeepSourcesFromBeingVisited) {
  TempDir dir;
  Drain drain;
  std::atomic<bool> stalled{true};
  std::atomic<unsigned> hung{0};
  Options options;
  options.path = Options::Choice::kPwritev;
  options.flush_interval = milliseconds(20);
  std::unique_ptr<DiskThread> thread;
  options.wrap_writer = [&](std::unique_ptr<Writer>) {
    thread = std::make_unique<DiskThread>(nullptr);
    return MakePwritevWriter(thread.get(), [&](int fd, const iovec* parts, int count, off_t offset) {
      if (stalled) ++hung;
      while (stalled) std::this_thread::sleep_for(milliseconds(1));
      return pwritev(fd, parts, count, offset);
    });
  };
  auto collection = drain.Open(options, nullptr, nullptr);
  auto file = MakeFile(*collection, dir.path(), "f", 64);
  const std::string first = MakeRecords(64, 5000), second = MakeRecords(64, 100'000, 5001);
  auto earlier = std::make_shared<Feeder>(file, first);
  collection->Add(earlier);
  ASSERT_TRUE(Eventually([&] { return hung == 1 && earlier->taken == 5000; }));
  // The ring of the second would overflow now if nobody came.
  auto feeder = std::make_shared<Feeder>(file, second);
  collection->Add(feeder);
  EXPECT_TRUE(Eventually([&] { return feeder->taken == 100'000; })) << "staging was not used";
  EXPECT_EQ(hung, 1u);
  stalled = false;
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_TRUE(ReadSlices(dir.path() + "/f") == first + second);
}

TEST_P(FaultTest, WritesThatFailTogetherAreOneTry) {
  // With O_DIRECT a dozen blocks are under way at once.
  std::chrono::steady_clock::time_point first{};
  auto collection = drain_.Open(With([&](const WriteOp&) {
                                  const auto now = std::chrono::steady_clock::now();
                                  if (first == std::chrono::steady_clock::time_point{}) first = now;
                                  return now - first < milliseconds(40) ? -EIO : 0;
                                }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(64, 50'000);
  collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data, 50'000));
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
}

TEST_P(FaultTest, RemovedDirectoryIsNoticedAndNamedOnce) {
  Options options = Plain();
  options.flush_interval = milliseconds(20);
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  const std::string data = MakeRecords(64, 1000);
  auto first = MakeFile(*collection, dir_.path(), "f", 64);
  auto second = MakeFile(*collection, dir_.path(), "g", 64);
  collection->Add(std::make_shared<Feeder>(first, data));
  ASSERT_TRUE(collection->Flush(seconds(20)).ok());
  std::filesystem::remove_all(dir_.path());
  auto later = std::make_shared<Feeder>(first, data);
  auto other = std::make_shared<Feeder>(second, data);
  collection->Add(later);
  collection->Add(other);
  EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
  EXPECT_EQ(later->ledger.lost, 1000u);
  EXPECT_EQ(other->ledger.lost, 1000u);
  EXPECT_EQ(first->Report("").error, ENOENT);
  EXPECT_EQ(messages_.Count("No such file"), 1u);
}

TEST_P(FaultTest, RetryThatHangsDoesNotKeepTheDrainAwake) {
  std::atomic<int> state{-EIO};
  std::atomic<unsigned> held{0};
  auto drain = std::make_unique<Drain>();
  auto collection = drain->Open(With([&](const WriteOp&) -> int {
                                  if (state == FaultWriter::kHold) ++held;
                                  return state;
                                }),
                                messages_.Handler(), nullptr);
  const std::string data = MakeRecords(64, 10'000);
  collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data));
  ASSERT_TRUE(Eventually([&] { return messages_.Count("Input/output error") == 1; }));
  state = FaultWriter::kHold;
  ASSERT_TRUE(Eventually([&] { return held > 0; })) << "it was not tried again";
  std::this_thread::sleep_for(milliseconds(500));  // past the time of the next try
  const auto rests = [&] {
    const auto begin = std::chrono::steady_clock::now();
    const uint64_t before = collection->cost().wakeups;
    std::this_thread::sleep_for(milliseconds(400));
    const auto passed = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(collection->cost().wakeups - before, static_cast<uint64_t>(passed / milliseconds(1)))
        << "wakes more than once a millisecond";
  };
  rests();
  // Nor what is left of it when nobody waits any more.
  EXPECT_EQ(collection->Finish(milliseconds(100)).kind, ErrorKind::kTimeout);
  auto other = drain->Open({}, nullptr, nullptr);
  std::swap(collection, other);
  rests();
  state = 0;
  EXPECT_TRUE(collection->Finish(seconds(30)).ok());
}

TEST_P(FaultTest, WriteThatNeverEndsDoesNotHoldTheCaller) {
  auto drain = std::make_unique<Drain>();
  auto collection =
      drain->Open(With([](const WriteOp&) { return FaultWriter::kHold; }), messages_.Handler(), nullptr);
  auto feeder =
      std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), MakeRecords(64, 10'000));
  collection->Add(feeder);
  ASSERT_TRUE(Eventually([&] { return feeder->taken == 10'000; }));
  EXPECT_EQ(collection->Flush(milliseconds(200)).kind, ErrorKind::kTimeout);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(collection->Finish(seconds(1)).kind, ErrorKind::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20));
  collection.reset();
  // The thread is still there, waiting for the write; it dies with the process. That is what is promised. So its drain
  // has to live as long.
  static auto& waiting = *new std::vector<std::unique_ptr<Drain>>;
  waiting.push_back(std::move(drain));
}

TEST_P(FaultTest, WriteThatFailsAtOnceAndIsRetriedAtOnceDoesNotKeepSourcesFromBeingVisited) {
  std::atomic<bool> interrupted{true};
  auto collection =
      drain_.Open(With([&](const WriteOp&) { return interrupted ? -EINTR : 0; }), nullptr, nullptr);
  const std::string data = MakeRecords(64, 10'000), later = MakeRecords(64, 10'000);
  auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data);
  collection->Add(feeder);
  ASSERT_TRUE(Eventually([&] { return feeder->taken == 10'000; }));
  auto other = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "g", 64), later);
  collection->Add(other);
  EXPECT_TRUE(Eventually([&] { return other->taken == 10'000; })) << "the drain only takes writes back";
  interrupted = false;
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
  EXPECT_TRUE(ReadSlices(dir_.path() + "/g") == later);
}

TEST_P(FaultTest, FileSizeLimitOfTheProgramNeitherKillsItNorTearsARecord) {
  // In a child, because the limit and SIGXFSZ belong to a whole process.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{500'003, 500'003};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto collection = Drain::Process().Open(Plain(), messages_.Handler(), nullptr);
    const std::string data = MakeRecords(40, 60'000);
    auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 40), data);
    collection->Add(feeder);
    const bool told = collection->Finish(seconds(30)).kind == ErrorKind::kIo;
    const std::string kept = ReadSlices(dir_.path() + "/f");
    const bool whole = kept.size() % 40 == 0 && data.compare(0, kept.size(), kept) == 0 &&
                       kept.size() / 40 == feeder->ledger.written && feeder->ledger.lost > 0;
    _exit(told && whole ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(FaultTest, SmallFileSystemFillsUp) {
  // A real full disk. Needs the right to mount; without it the injected faults above have to do.
  TempDir mount_point;
  if (mount("tmpfs", mount_point.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "no right to mount a small file system: " << std::strerror(errno);
  }
  {
    auto collection = drain_.Open(Plain(), messages_.Handler(), nullptr);
    const std::string data = MakeRecords(96, 60'000);
    auto feeder = std::make_shared<Feeder>(MakeFile(*collection, mount_point.path(), "f", 96), data);
    collection->Add(feeder);
    EXPECT_EQ(collection->Finish(seconds(30)).kind, ErrorKind::kIo);
    EXPECT_GT(feeder->ledger.written, GetParam() == Options::Choice::kDirect ? 0u : 5000u);
    EXPECT_GT(feeder->ledger.lost, 5000u);
    ExpectWholePrefix(mount_point.path() + "/f", data, 96, feeder->ledger);
    EXPECT_GE(messages_.Count("No space left"), 1u);
  }
  umount2(mount_point.path().c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace npuprof::drain
