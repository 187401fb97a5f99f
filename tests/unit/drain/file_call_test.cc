// SPDX-License-Identifier: Apache-2.0
// Calls to the disk other than writes of records, that do not end or fail: they cost what they are about, and nobody waits.
#include <gtest/gtest.h>

#include <thread>

#include "drain/disk_thread.h"
#include "drain/staging_pool.h"
#include "fault_support.h"

namespace npuprof::drain {
namespace {

// The disk does not answer one call of a kind, and no write that comes after. What staging promises finds room meanwhile, the
// drain answers, and all is on disk afterwards.
class FileCallTest : public FaultTest {
 protected:
  static constexpr size_t kStaging = size_t{8} << 20;
  static constexpr size_t kCount = 40'000;  // of 64 bytes: more than a slice

  /// @p provoke  makes the drain call; the feeder has what comes before
  void HangsAt(FileCall kind, const std::function<void(Collection&)>& provoke = nullptr) {
    Options options = With([this](const WriteOp&) { return hung_ > 0 && stalled_ ? FaultWriter::kHold : 0; });
    options.staging_bytes = kStaging;
    options.before_file_call = [this, kind](FileCall call) {
      if (call != kind || !stalled_) return 0;
      ++hung_;
      while (stalled_) std::this_thread::sleep_for(milliseconds(1));
      return 0;
    };
    auto collection = drain_.Open(options, messages_.Handler(), nullptr);
    auto file = MakeFile(*collection, dir_.path(), "f", 64);
    const std::string data = MakeRecords(64, kCount);
    auto feeder = std::make_shared<Feeder>(file, data);
    collection->Add(feeder);
    if (provoke) {
      ASSERT_TRUE(collection->Flush(seconds(30)).ok());
      stalled_ = true;
      provoke(*collection);
    }
    EXPECT_TRUE(Eventually([&] { return hung_ == 1; })) << "the call was not made";
    EXPECT_TRUE(collection->Run([] {}, seconds(30)).ok()) << "the drain thread waits for the disk";
    // What comes now is of a device that starts only after the disk stopped.
    const uint64_t promised = StagingHolds(kStaging, 2, size_t{2} << 20) - (provoke ? 0 : data.size());
    const std::string later = MakeRecords(64, promised / 64, kCount + 1);
    auto second = MakeFile(*collection, dir_.path(), "g", 64);
    auto other = std::make_shared<Feeder>(second, later);
    collection->Add(other);
    EXPECT_TRUE(Eventually([&] { return other->taken == promised / 64; })) << "staging was not used";
    EXPECT_EQ(other->blocked_count, 0u) << "staging held less than promised";
    // And what does not fit stays where it is, to be counted there.
    auto rest =
        std::make_shared<Feeder>(second, MakeRecords(64, 2 * kStaging / 64, kCount + 1 + promised / 64));
    collection->Add(rest);
    EXPECT_TRUE(Eventually([&] { return rest->blocked_count > 0; }));
    EXPECT_LT(rest->taken, 2 * kStaging / 64);
    EXPECT_EQ(hung_, 1u);
    stalled_ = false;
    ASSERT_TRUE(collection->Finish(seconds(60)).ok());
    EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
    EXPECT_TRUE(ReadSlices(dir_.path() + "/g") ==
                later + MakeRecords(64, 2 * kStaging / 64, kCount + 1 + promised / 64));
    EXPECT_EQ(other->ledger.lost + rest->ledger.lost + feeder->ledger.lost, 0u);
    EXPECT_EQ(messages_.Count(""), 0u);
  }

  std::atomic<bool> stalled_{true};
  std::atomic<unsigned> hung_{0};
};

INSTANTIATE_TEST_SUITE_P(All, FileCallTest,
                         testing::Values(Options::Choice::kUring, Options::Choice::kDirect,
                                         Options::Choice::kPwritev),
                         [](const auto& param) { return PathLabel(param.param); });

TEST_P(FileCallTest, SliceThatIsNotOpenedDoesNotKeepSourcesFromBeingVisited) {
  HangsAt(FileCall::kOpen);
  EXPECT_TRUE(Exists(dir_.path() + "/f.slice_1.done"));
}

TEST_P(FileCallTest, SliceThatIsNotFinishedDoesNotKeepSourcesFromBeingVisited) {
  HangsAt(FileCall::kFinish);
  EXPECT_TRUE(Exists(dir_.path() + "/f.slice_0.done"));
}

TEST_P(FileCallTest, ManifestThatIsNotReplacedDoesNotKeepSourcesFromBeingVisited) {
  stalled_ = false;
  std::atomic<bool> called{false}, told{false};
  HangsAt(FileCall::kManifest, [&](Collection& collection) {
    const auto call = [&] {
      collection.Call(
          FileCall::kManifest, [&] { called = true; }, [&] { told = true; });
    };
    ASSERT_TRUE(collection.Run(call, seconds(30)).ok());
  });
  EXPECT_TRUE(called && told) << "Finish() waits for both";
}

TEST_P(FileCallTest, CallThatNeverEndsDoesNotHoldTheCaller) {
  // As WriteThatNeverEndsDoesNotHoldTheCaller: the thread waits for the call, and dies with the process.
  static auto& waiting = *new std::vector<std::unique_ptr<Drain>>;
  auto drain = std::make_unique<Drain>();
  Options options = Plain();
  options.before_file_call = [](FileCall) -> int {
    for (;;) std::this_thread::sleep_for(seconds(1));
  };
  auto collection = drain->Open(options, messages_.Handler(), nullptr);
  auto feeder =
      std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), MakeRecords(64, 10'000));
  collection->Add(feeder);
  std::atomic<bool> told{false};
  ASSERT_TRUE(collection
                  ->Run(
                      [&] {
                        collection->Call(
                            FileCall::kManifest, [] {}, [&] { told = true; });
                      },
                      seconds(30))
                  .ok());
  EXPECT_TRUE(collection->Remove(feeder, seconds(30)).ok());
  EXPECT_EQ(collection->Finish(seconds(1)).kind, ErrorKind::kTimeout);
  EXPECT_FALSE(told);
  collection.reset();
  waiting.push_back(std::move(drain));
}

TEST_P(FileCallTest, CallAtTheEndFollowsWhatTheDiskHeldUp) {
  Options options = Plain();
  options.before_file_call = [this](FileCall) {
    while (stalled_) std::this_thread::sleep_for(milliseconds(1));
    return 0;
  };
  auto collection = drain_.Open(options, messages_.Handler(), nullptr);
  collection->Add(
      std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), MakeRecords(64, 10'000)));
  std::atomic<unsigned> calls{0}, earlier{0}, end{0};
  const auto ask = [&] {
    collection->Call(
        FileCall::kManifest, [&] { earlier = ++calls; }, [] {});
  };
  ASSERT_TRUE(collection->Run(ask, seconds(30)).ok());
  ASSERT_EQ(collection->Finish(milliseconds(200)).kind, ErrorKind::kTimeout);
  EXPECT_EQ(collection
                ->CallAtEnd(
                    FileCall::kManifest, [&] { end = ++calls; }, milliseconds(50))
                .kind,
            ErrorKind::kTimeout);
  EXPECT_EQ(calls, 0u);
  collection.reset();
  stalled_ = false;
  EXPECT_TRUE(Eventually([&] { return end > 0; })) << "it is not made once the disk answers";
  EXPECT_EQ(earlier, 1u);
  EXPECT_EQ(end, 2u);
  EXPECT_TRUE(Eventually([&] { return !drain_.running(); })) << "nothing is left to do";
}

TEST_P(FileCallTest, CallAtTheEndIsMadeAtOnceWhereTheDiskAnswered) {
  stalled_ = false;
  auto collection = drain_.Open(Plain(), messages_.Handler(), nullptr);
  auto other = drain_.Open(Plain(), messages_.Handler(), nullptr);
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());
  bool beside = false, alone = false;
  EXPECT_TRUE(collection
                  ->CallAtEnd(
                      FileCall::kManifest, [&] { beside = true; }, seconds(30))
                  .ok());
  EXPECT_TRUE(beside);
  ASSERT_TRUE(other->Finish(seconds(30)).ok());
  EXPECT_TRUE(other
                  ->CallAtEnd(
                      FileCall::kManifest, [&] { alone = true; }, seconds(30))
                  .ok());
  EXPECT_TRUE(alone);
}

// The first calls of a kind fail. Two slices are written.
class FailingCallTest : public FaultTest {
 protected:
  void FailsAt(FileCall kind, unsigned times) {
    std::atomic<unsigned> failed{0};
    Options options = Plain();
    options.before_file_call = [&, kind](FileCall call) {
      if (call != kind || failed == times) return 0;
      ++failed;
      return EIO;
    };
    auto collection = drain_.Open(options, messages_.Handler(), nullptr);
    const std::string data = MakeRecords(64, 40'000);
    auto feeder = std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), "f", 64), data);
    collection->Add(feeder);
    ASSERT_TRUE(collection->Finish(seconds(60)).ok());
    EXPECT_EQ(failed, times);
    EXPECT_TRUE(ReadSlices(dir_.path() + "/f") == data);
    EXPECT_EQ(feeder->ledger.written, 40'000u);
    EXPECT_EQ(messages_.Count("Input/output error"), 1u) << "one cause, one message";
    EXPECT_EQ(messages_.Count(""), 1u);
    EXPECT_TRUE(Exists(dir_.path() + "/f.slice_1.done"));
  }
};

INSTANTIATE_TEST_SUITE_P(All, FailingCallTest,
                         testing::Values(Options::Choice::kUring, Options::Choice::kDirect,
                                         Options::Choice::kPwritev),
                         [](const auto& param) { return PathLabel(param.param); });

TEST_P(FailingCallTest, SliceThatIsOpenedOnlyAtTheThirdTryCostsNothing) {
  FailsAt(FileCall::kOpen, 2);
  EXPECT_TRUE(Exists(dir_.path() + "/f.slice_0.done"));
}

TEST_P(FailingCallTest, SliceThatIsNotFinishedCostsItsNoteAlone) {
  FailsAt(FileCall::kFinish, 1);
  EXPECT_FALSE(Exists(dir_.path() + "/f.slice_0.done"));
  EXPECT_EQ(messages_.Count("f.slice_0 could not be finished"), 1u);
}

TEST(DiskFault, CallsOfOneKindFailAlone) {
  ASSERT_EQ(setenv("NPUPROF_DISK_FAULT", "error-open=0:600000,error-manifest=0:600000", 1), 0);
  std::vector<std::string> warnings;
  DiskFault fault = DiskFaultFromEnvironment(&warnings);
  EXPECT_TRUE(warnings.empty());
  ASSERT_TRUE(fault.before_file_call);
  EXPECT_EQ(fault.before_file_call(FileCall::kOpen), EIO);
  EXPECT_EQ(fault.before_file_call(FileCall::kFinish), 0);
  EXPECT_EQ(fault.before_file_call(FileCall::kRemove), 0);
  EXPECT_EQ(fault.before_file_call(FileCall::kManifest), EIO);
  EXPECT_EQ(fault.rule(WriteOp{}), 0);
  ASSERT_EQ(setenv("NPUPROF_DISK_FAULT", "error-remove=0:1", 1), 0);
  fault = DiskFaultFromEnvironment(&warnings);
  unsetenv("NPUPROF_DISK_FAULT");
  EXPECT_FALSE(fault.before_file_call) << "nothing would fail";
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("\"error-remove=0:1\""), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace npuprof::drain
