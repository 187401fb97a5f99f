// SPDX-License-Identifier: Apache-2.0
// How the drain treats sources, and how collections begin and end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "drain/fault_writer.h"
#include "support.h"

namespace npuprof::drain {
namespace {

/// Counts visits and does what the test says.
class Probe final : public Source {
 public:
  explicit Probe(std::function<Progress(const Pass&)> poll) : poll_(std::move(poll)) {}
  Progress Poll(const Pass& pass) override {
    ++visits;
    if (pass.final) ++finals;
    return poll_ ? poll_(pass) : Progress{};
  }
  std::chrono::nanoseconds Interval() const override { return interval; }
  bool Periodic() const override { return periodic; }
  int WakeFd() const override { return wake_fd; }

  std::atomic<unsigned> visits{0}, finals{0};
  std::chrono::nanoseconds interval = std::chrono::hours(1);
  bool periodic = false;
  int wake_fd = -1;

 private:
  std::function<Progress(const Pass&)> poll_;
};

TEST(Drain, ThreadLivesExactlyAsLongAsACollection) {
  Drain drain;
  EXPECT_FALSE(drain.running());
  for (int round = 0; round < 3; ++round) {
    auto first = drain.Open(Options{}, nullptr, nullptr);
    auto second = drain.Open(Options{}, nullptr, nullptr);
    EXPECT_TRUE(drain.running());
    EXPECT_TRUE(first->Finish(seconds(20)).ok());
    EXPECT_TRUE(drain.running());
    EXPECT_TRUE(second->Finish(seconds(20)).ok());
    EXPECT_FALSE(drain.running());
  }
}

TEST(Drain, AVisitMayAskForPathReasonAndCost) {
  Drain drain;
  Options options;
  options.path = Options::Choice::kPwritev;
  auto collection = drain.Open(options, nullptr, nullptr);
  std::atomic<bool> answered{false};
  auto probe = std::make_shared<Probe>([&](const Pass&) {
    answered = collection->path() == Path::kPwritev && !collection->reason().empty() &&
               collection->cost().wakeups > 0;
    return Progress{};
  });
  probe->interval = milliseconds(10);  // the first visit may come before a wake-up was counted
  collection->Add(probe);
  EXPECT_TRUE(Eventually([&] { return answered.load(); }));
  EXPECT_TRUE(collection->Finish(seconds(20)).ok());
}

TEST(Drain, ReadableDescriptorBringsAVisitAtOnce) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  auto probe = std::make_shared<Probe>(nullptr);
  probe->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  collection->Add(probe);
  ASSERT_TRUE(Eventually([&] { return probe->visits == 1; }));
  for (unsigned round = 2; round < 5; ++round) {
    const uint64_t one = 1;
    ASSERT_EQ(write(probe->wake_fd, &one, sizeof one), 8);
    ASSERT_TRUE(Eventually([&] { return probe->visits == round; }));
  }
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  EXPECT_EQ(probe->visits, 5u) << "one visit per wake-up and the final one";
  EXPECT_EQ(probe->finals, 1u);
  close(probe->wake_fd);
}

TEST(Drain, PressureShortensTheIntervalAndCalmLengthensIt) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  std::atomic<unsigned> pressure{90};
  auto busy = std::make_shared<Probe>([&](const Pass&) { return Progress{false, false, pressure}; });
  auto calm = std::make_shared<Probe>([](const Pass&) { return Progress{}; });
  busy->interval = calm->interval = milliseconds(200);
  collection->Add(busy);
  collection->Add(calm);
  ASSERT_TRUE(Eventually([&] { return busy->visits > 100; }));
  EXPECT_LT(calm->visits * 5, busy->visits);
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
}

TEST(Drain, PeriodicSourceIsVisitedOnMultiplesOfItsPeriod) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  std::vector<std::chrono::steady_clock::time_point> times;
  auto sampler = std::make_shared<Probe>([&](const Pass& pass) {
    times.push_back(pass.now);
    return Progress{};
  });
  auto noise = std::make_shared<Probe>([](const Pass&) { return Progress{false, false, 100}; });
  sampler->interval = milliseconds(50);
  sampler->periodic = true;
  noise->interval = milliseconds(50);
  collection->Add(sampler);
  collection->Add(noise);
  ASSERT_TRUE(Eventually([&] { return sampler->visits >= 10; }));
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  // Late visits happen on a busy machine, early ones never do; and lateness does not add up.
  for (size_t i = 1; i < 10; ++i) EXPECT_GE(times[i] - times[0], milliseconds(50 * i - 50));
  EXPECT_GT(noise->visits, sampler->visits);
}

TEST(Drain, FinishVisitsUntilTheSourceIsEmpty) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  unsigned left = 50;
  auto probe = std::make_shared<Probe>([&](const Pass& pass) {
    if (pass.final && left > 0) --left;
    return Progress{pass.final && left > 0, false, 0};
  });
  collection->Add(probe);
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  EXPECT_EQ(left, 0u);
}

TEST(Drain, RemovedSourceIsNotVisitedAgain) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  auto probe = std::make_shared<Probe>([](const Pass&) { return Progress{true, false, 0}; });
  collection->Add(probe);
  ASSERT_TRUE(Eventually([&] { return probe->visits > 10; }));
  ASSERT_TRUE(collection->Remove(probe).ok());
  const unsigned visits = probe->visits;
  auto later = std::make_shared<Probe>(nullptr);
  collection->Add(later);
  ASSERT_TRUE(Eventually([&] { return later->visits > 0; }));
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  EXPECT_EQ(probe->visits, visits);
  EXPECT_EQ(probe.use_count(), 1);
}

TEST(Drain, DrySourceIsLetGoThoughTheDiskDoesNotAnswer) {
  TempDir dir;
  Drain drain;
  std::atomic<bool> stalled{true};
  Options options;
  options.staging_bytes = size_t{8} << 20;
  options.wrap_writer = [&](std::unique_ptr<Writer> inner) {
    return std::make_unique<FaultWriter>(std::move(inner),
                                         [&](const WriteOp&) { return stalled ? FaultWriter::kHold : 0; });
  };
  auto collection = drain.Open(options, nullptr, nullptr);
  const std::string data = MakeRecords(64, 50'000);
  auto file = MakeFile(*collection, dir.path(), "f", 64);
  auto feeder = std::make_shared<Feeder>(file, data);
  collection->Add(feeder);
  EXPECT_TRUE(collection->RemoveDry(feeder, seconds(30)).ok());
  EXPECT_EQ(feeder->taken, 50'000u) << "it was let go before it was dry";
  EXPECT_EQ(feeder.use_count(), 1) << "it may be visited again";
  EXPECT_EQ(feeder->ledger.written, 0u);
  EXPECT_TRUE(collection->RemoveDry(feeder, seconds(30)).ok()) << "it is gone already";
  // One that staging has no room for stays.
  auto more = std::make_shared<Feeder>(file, MakeRecords(64, 200'000));
  collection->Add(more);
  ASSERT_TRUE(Eventually([&] { return more->blocked_count > 0; }));
  EXPECT_EQ(collection->RemoveDry(more, milliseconds(50)).kind, ErrorKind::kTimeout);
  stalled = false;
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  EXPECT_EQ(feeder->ledger.written, 50'000u);
  EXPECT_EQ(more->ledger.written, 200'000u);
}

TEST(Drain, TwoCollectionsShareTheThreadAndEndApart) {
  TempDir dir;
  Drain drain;
  auto first = drain.Open(Options{}, nullptr, nullptr);
  auto second = drain.Open(Options{}, nullptr, nullptr);
  const std::string data = MakeRecords(64, 30'000);
  auto a = std::make_shared<Feeder>(MakeFile(*first, dir.path(), "a", 64), data);
  auto b = std::make_shared<Feeder>(MakeFile(*second, dir.path(), "b", 64), data);
  first->Add(a);
  second->Add(b);
  ASSERT_TRUE(first->Finish(seconds(20)).ok());
  EXPECT_TRUE(ReadSlices(dir.path() + "/a") == data);
  ASSERT_TRUE(second->Finish(seconds(20)).ok());
  EXPECT_TRUE(ReadSlices(dir.path() + "/b") == data);
}

TEST(Drain, RunHappensOnTheDrainThread) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  char name[16] = {};
  ASSERT_TRUE(
      collection->Run([&] { pthread_getname_np(pthread_self(), name, sizeof name); }, seconds(20)).ok());
  EXPECT_STREQ(name, "npuprof-drain");
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
  bool ran = false;
  ASSERT_TRUE(collection->Run([&] { ran = true; }, seconds(1)).ok());
  EXPECT_TRUE(ran) << "after Finish() any thread may read, so the caller itself runs it";
}

TEST(Drain, CostCountsOnlyOneCollection) {
  TempDir dir;
  Drain drain;
  for (int round = 0; round < 2; ++round) {
    auto collection = drain.Open(Options{}, nullptr, nullptr);
    collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir.path(), fmt::format("f{}", round), 64),
                                             MakeRecords(64, 10'000)));
    ASSERT_TRUE(collection->Finish(seconds(20)).ok());
    EXPECT_EQ(collection->cost().bytes_written, 640'000u);
    EXPECT_GT(collection->cost().cpu_ns, 0u);
    EXPECT_GT(collection->cost().wakeups, 0u);
  }
}

TEST(Drain, IdleCollectionHardlyWakes) {
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  auto probe = std::make_shared<Probe>(nullptr);
  collection->Add(probe);
  ASSERT_TRUE(Eventually([&] { return probe->visits == 1; }));
  const uint64_t before = collection->cost().wakeups;
  std::this_thread::sleep_for(seconds(2));
  EXPECT_LE(collection->cost().wakeups - before, 4u);
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
}

// As the node of a device that was pulled out, or of a session that stopped: poll() says so each time it is asked.
TEST(Drain, ADescriptorThatHungUpWakesOnce) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Drain drain;
  auto collection = drain.Open(Options{}, nullptr, nullptr);
  auto probe = std::make_shared<Probe>(nullptr);
  probe->wake_fd = ends[0];
  collection->Add(probe);
  ASSERT_TRUE(Eventually([&] { return probe->visits == 1; }));
  close(ends[1]);
  ASSERT_TRUE(Eventually([&] { return probe->visits > 1; })) << "nobody looked why";
  const uint64_t before = collection->cost().wakeups;
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_LE(collection->cost().wakeups - before, 4u);
  EXPECT_TRUE(collection->Finish(seconds(20)).ok());
  close(ends[0]);
}

}  // namespace
}  // namespace npuprof::drain
