// SPDX-License-Identifier: Apache-2.0
#include "host/queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "host/clock.h"
#include "profiling/aprof_pub.h"

namespace npuprof::host {
namespace {

// Each test has a set of its own, but the epoch and the thread's queue are the process's; so tests run on threads
// that end with them and use the one set.
constexpr size_t kSegments = 8;

MsprofApi Call(uint64_t number) {
  MsprofApi api = {};
  api.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  api.level = MSPROF_REPORT_ACL_LEVEL;
  api.itemId = number;
  return api;
}

MsprofAdditionalInfo Additional(uint16_t level, uint32_t type) {
  MsprofAdditionalInfo info = {};
  info.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  info.level = level;
  info.type = type;
  return info;
}

class QueueTest : public testing::Test {
 protected:
  QueueSet& set() { return QueueSet::Process(); }

  void TearDown() override { set().Leave(&reader_); }

  void Open() {
    set().Leave(&reader_);
    ASSERT_TRUE(set().Open(kSegments, &reader_));
  }
  void Close() { set().Close(&reader_); }

  // Everything that is readable now.
  template <typename Visit>
  void ConsumeAll(Reader& reader, Visit&& visit) {
    std::lock_guard<std::mutex> lock(set().consumer());
    for (size_t i = 0; i < set().used(); ++i) {
      size_t budget = SIZE_MAX;
      ASSERT_TRUE(set().Consume(i, reader, &budget, [&](const Entry& entry) {
        visit(entry);
        return true;
      }));
    }
  }
  template <typename Visit>
  void ConsumeAll(Visit&& visit) {
    ConsumeAll(reader_, visit);
  }
  uint64_t Lost(LossCause wanted) { return Lost(reader_, wanted); }
  uint64_t Lost(const Reader& reader, LossCause wanted) {
    std::lock_guard<std::mutex> lock(set().consumer());
    set().CollectLosses();
    uint64_t sum = 0;
    for (const auto& [kind, count] : reader.lost()) {
      if (std::get<3>(kind) == static_cast<unsigned>(wanted)) sum += count;
    }
    return sum;
  }
  static void OnThread(const std::function<void()>& body) { std::thread(body).join(); }

  Reader reader_;
};

TEST_F(QueueTest, RecordsComeOutOnceInOrderAcrossSegments) {
  Open();
  // Two segments' worth, consumed while they come.
  constexpr uint64_t kCount = 3 * Segment::kBytes / 48;
  uint64_t expected = 0;
  auto consume = [&] {
    ConsumeAll([&](const Entry& entry) {
      MsprofApi api;
      ASSERT_EQ(entry.size, sizeof(api));
      std::memcpy(&api, entry.record(), sizeof(api));
      ASSERT_EQ(api.itemId, expected);
      ++expected;
    });
  };
  OnThread([&] {
    for (uint64_t i = 0; i < kCount; ++i) {
      const MsprofApi api = Call(i);
      ASSERT_TRUE(set().Report(RecordClass::kApiEvent, true, &api));
      if (i % 1000 == 999) consume();
    }
  });
  Close();
  consume();
  EXPECT_EQ(expected, kCount);
  EXPECT_EQ(Lost(LossCause::kRingFull), 0u);
}

TEST_F(QueueTest, AFullPoolDropsTheNewAndCountsExactly) {
  Open();
  constexpr uint64_t kCount =
      2 * kSegments * Segment::kBytes / (sizeof(Entry) + sizeof(MsprofAdditionalInfo));
  uint64_t kept = 0, refused = 0;
  const uint64_t before = Cycles();
  OnThread([&] {
    const auto info = Additional(MSPROF_REPORT_NODE_LEVEL, 1);
    for (uint64_t i = 0; i < kCount; ++i)
      (set().Report(RecordClass::kAdditional, true, &info) ? kept : refused)++;
  });
  Close();
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(kept + refused, kCount);
  EXPECT_EQ(Lost(LossCause::kRingFull), refused);
  ASSERT_EQ(reader_.lost().size(), 1u);
  EXPECT_EQ(reader_.lost().begin()->first, Reader::Kind(RecordClass::kAdditional, MSPROF_REPORT_NODE_LEVEL,
                                                        1u, static_cast<unsigned>(LossCause::kRingFull)));
  ASSERT_EQ(reader_.places().size(), 1u);
  const Reader::Place& place = reader_.places().begin()->second;
  EXPECT_EQ(place.count, refused);
  EXPECT_GE(place.first, before);
  EXPECT_LT(place.first, place.last);
  EXPECT_LE(place.last, Cycles());
  uint64_t consumed = 0;
  ConsumeAll([&](const Entry&) { ++consumed; });
  EXPECT_EQ(consumed, kept);
}

TEST_F(QueueTest, OneThreadCannotTakeTheLastQuarterOfThePool) {
  Open();
  OnThread([&] {
    const auto info = Additional(MSPROF_REPORT_NODE_LEVEL, 1);
    while (set().Report(RecordClass::kAdditional, true, &info)) {
    }
  });
  bool kept = false;
  std::thread first([&] {
    // Holds the queue of the greedy thread, so that the next one needs a segment of its own.
    const MsprofApi api = Call(1);
    set().Report(RecordClass::kApiEvent, true, &api);
    std::thread([&] { kept = set().Report(RecordClass::kApiEvent, true, &api); }).join();
  });
  first.join();
  Close();
  EXPECT_TRUE(kept);
  ConsumeAll([](const Entry&) {});
}

// The handler's report comes at any place of a report of the same thread; each is kept whole or counted.
std::atomic<uint64_t> g_handler_kept{0};
std::atomic<uint64_t> g_handler_tried{0};
void ReportInHandler(int) {
  const MsprofApi api = Call(1'000'000'000);
  g_handler_tried.fetch_add(1);
  if (QueueSet::Process().Report(RecordClass::kApiEvent, true, &api)) g_handler_kept.fetch_add(1);
}

TEST_F(QueueTest, AReportInsideAReportIsDroppedAndCountedNothingIsTorn) {
  Open();
  struct sigaction action = {};
  action.sa_handler = ReportInHandler;
  struct sigaction old;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  std::atomic<bool> stop{false};
  uint64_t main_kept = 0, consumed_main = 0, consumed_handler = 0;
  std::atomic<pthread_t> target{};
  std::atomic<bool> ready{false};
  std::thread reporter([&] {
    target = pthread_self();
    ready = true;
    uint64_t i = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const MsprofApi api = Call(i);
      if (set().Report(RecordClass::kApiEvent, true, &api)) {
        ++main_kept;
        ++i;
      }
    }
  });
  while (!ready) std::this_thread::yield();
  uint64_t next = 0;
  auto consume = [&] {
    ConsumeAll([&](const Entry& entry) {
      MsprofApi api;
      std::memcpy(&api, entry.record(), sizeof(api));
      if (api.itemId == 1'000'000'000) {
        ++consumed_handler;
      } else {
        ASSERT_EQ(api.itemId, next++);
        ++consumed_main;
      }
    });
  };
  for (int i = 0; i < 3000; ++i) {
    pthread_kill(target, SIGUSR1);
    consume();
  }
  stop = true;
  reporter.join();
  Close();
  consume();
  sigaction(SIGUSR1, &old, nullptr);
  EXPECT_EQ(consumed_main, main_kept);
  EXPECT_EQ(consumed_handler, g_handler_kept);
  EXPECT_GT(g_handler_tried, 0u);
  // A handler's report is lost because it nested, or, like any other, because the pool was full.
  EXPECT_LE(Lost(LossCause::kNested), g_handler_tried - g_handler_kept);
}

TEST_F(QueueTest, QueuesOfEndedThreadsAreUsedAgain) {
  Open();
  const MsprofApi api = Call(7);
  OnThread([&] { set().Report(RecordClass::kApiEvent, true, &api); });
  const size_t used = set().used();
  for (int i = 0; i < 100; ++i) {
    OnThread([&] { ASSERT_TRUE(set().Report(RecordClass::kApiEvent, true, &api)); });
  }
  EXPECT_EQ(set().used(), used);
  Close();
  uint64_t consumed = 0;
  ConsumeAll([&](const Entry&) { ++consumed; });
  EXPECT_EQ(consumed, 101u);
}

TEST_F(QueueTest, WhatAnEarlierCollectionLeftIsNotSeenByTheNext) {
  Open();
  const MsprofApi api = Call(7);
  OnThread([&] { set().Report(RecordClass::kApiEvent, true, &api); });
  Close();
  EXPECT_FALSE(QueueSet::Collecting());
  Open();
  uint64_t consumed = 0;
  ConsumeAll([&](const Entry&) { ++consumed; });
  EXPECT_EQ(consumed, 0u);
  Close();
}

// What a reader gets: numbers of calls in the order in which they came.
class Numbers {
 public:
  void operator()(const Entry& entry) {
    MsprofApi api;
    std::memcpy(&api, entry.record(), sizeof(api));
    found.push_back(api.itemId);
  }
  std::vector<uint64_t> found;
};

std::vector<uint64_t> Range(uint64_t first, uint64_t end) {
  std::vector<uint64_t> all(end - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST_F(QueueTest, EachOfTwoReadersGetsWhatWasReportedWhileItWasOpen) {
  // All together are more than two segments, so that readers at different places hold different ones.
  constexpr uint64_t kPart = Segment::kBytes / 64;
  Reader second;
  Numbers of_first, of_second;
  Open();
  OnThread([&] {
    const auto report = [&](uint64_t first) {
      for (uint64_t i = first; i < first + kPart; ++i) {
        const MsprofApi api = Call(i);
        ASSERT_TRUE(set().Report(RecordClass::kApiEvent, true, &api));
      }
    };
    report(0);
    ASSERT_TRUE(set().Open(kSegments, &second));
    report(kPart);
    ConsumeAll(second, of_second);  // ahead of the other
    Close();
    report(2 * kPart);
    EXPECT_TRUE(QueueSet::Collecting());
    ConsumeAll(of_first);
    set().Leave(&reader_);
    set().Close(&second);
    EXPECT_FALSE(QueueSet::Collecting());
    report(3 * kPart);
    ConsumeAll(second, of_second);
  });
  EXPECT_EQ(of_first.found, Range(0, 2 * kPart));
  EXPECT_EQ(of_second.found, Range(kPart, 3 * kPart));
  EXPECT_EQ(Lost(second, LossCause::kRingFull), 0u);
  set().Leave(&second);
}

TEST_F(QueueTest, SegmentsGoWhenTheSlowestReaderIsThroughOrLeaves) {
  Reader slow;
  Open();
  ASSERT_TRUE(set().Open(kSegments, &slow));
  const size_t free = set().pool().free();
  uint64_t reported = 0;
  OnThread([&] {
    for (; set().pool().free() + 2 > free; ++reported) {
      const MsprofApi api = Call(reported);
      ASSERT_TRUE(set().Report(RecordClass::kApiEvent, true, &api));
    }
  });
  Numbers all;
  ConsumeAll(all);
  EXPECT_EQ(all.found, Range(0, reported));
  EXPECT_LT(set().pool().free() + 1, free) << "the other has read nothing yet";
  set().Leave(&slow);
  EXPECT_GE(set().pool().free() + 1, free);
  Close();
}

// A window that ended would otherwise go on through it for as long as others report.
TEST_F(QueueTest, WhatOthersReportAfterItsEndHoldsUpNoReaderAndIsNotKeptForIt) {
  Reader second;
  Numbers of_ended, of_second;
  Open();
  ASSERT_TRUE(set().Open(kSegments, &second));
  const size_t free = set().pool().free();
  uint64_t reported = 0;
  OnThread([&] {
    const auto report = [&] {
      const MsprofApi api = Call(reported++);
      ASSERT_TRUE(set().Report(RecordClass::kApiEvent, true, &api));
    };
    while (reported < 10) report();
    Close();
    while (set().pool().free() + 2 > free) report();
  });
  constexpr size_t kBudget = Segment::kBytes / 2;
  {
    std::lock_guard<std::mutex> lock(set().consumer());
    size_t budget = kBudget;
    for (size_t i = 0; i < set().used(); ++i) {
      EXPECT_TRUE(set().Consume(i, reader_, &budget, [&](const Entry& entry) {
        of_ended(entry);
        return true;
      }));
    }
    EXPECT_EQ(budget, kBudget - 10 * (sizeof(Entry) + sizeof(MsprofApi)));
  }
  EXPECT_EQ(of_ended.found, Range(0, 10));
  ConsumeAll(second, of_second);
  EXPECT_EQ(of_second.found, Range(0, reported));
  EXPECT_GE(set().pool().free() + 1, free);
  ConsumeAll(of_ended);
  EXPECT_EQ(of_ended.found, Range(0, 10)) << "it is through";
  set().Leave(&second);
}

TEST_F(QueueTest, LossesAreCountedForThoseThatWereOpen) {
  Open();
  Reader second;
  uint64_t early = 0, late = 0;
  OnThread([&] {
    const auto info = Additional(MSPROF_REPORT_NODE_LEVEL, 1);
    while (set().Report(RecordClass::kAdditional, true, &info)) {
    }
    for (early = 1; early < 10; ++early) set().Report(RecordClass::kAdditional, true, &info);
    ASSERT_TRUE(set().Open(kSegments, &second));
    for (late = 0; late < 20; ++late) set().Report(RecordClass::kAdditional, true, &info);
    Close();
    for (int after = 0; after < 40; ++after) set().Report(RecordClass::kAdditional, true, &info);
  });
  EXPECT_EQ(Lost(LossCause::kRingFull), early + late);
  EXPECT_EQ(Lost(second, LossCause::kRingFull), late + 40);
  set().Leave(&second);
}

TEST_F(QueueTest, NoReportIsUnderWayAfterClose) {
  // Threads report without pause while collections open and close: what Report() said it kept is exactly what can
  // be consumed after Close().
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> kept{0};
  std::vector<std::thread> threads;
  std::atomic<int> phase{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const MsprofApi api = Call(1);
      while (!stop.load(std::memory_order_relaxed)) {
        if (!QueueSet::Collecting()) {
          std::this_thread::yield();
          continue;
        }
        // 0 epochs make Report() succeed without keeping anything, so only the consumer's count is compared below.
        set().Report(RecordClass::kApiEvent, true, &api);
        kept.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    Open();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Close();
    uint64_t first = 0, second = 0;
    ConsumeAll([&](const Entry&) { ++first; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ConsumeAll([&](const Entry&) { ++second; });
    EXPECT_EQ(second, 0u) << "a record of round " << i << " came after Close()";
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_GT(kept, 0u);
}

TEST_F(QueueTest, MoreKindsThanTheTableHoldsAreCountedByClass) {
  LossTable table;
  for (uint32_t type = 0; type < 1000; ++type) {
    table.Count(RecordClass::kCompact, 5000, type, LossCause::kNoRing);
  }
  uint64_t sum = 0;
  table.ForEach([&](RecordClass record_class, uint16_t, uint32_t, unsigned cause, uint64_t count) {
    EXPECT_EQ(record_class, RecordClass::kCompact);
    EXPECT_STREQ(LossCauseName(cause), "no_ring");
    sum += count;
  });
  EXPECT_EQ(sum, 1000u);
}

TEST_F(QueueTest, DroppedRecordsHaveAPlaceInTimeByThreadAndCause) {
  const auto owned = std::make_unique<LossPlaces>();
  LossPlaces& places = *owned;
  places.Note(7, LossCause::kRingFull, 200);
  places.Note(7, LossCause::kRingFull, 100);
  places.Note(7, LossCause::kRingFull, 150);
  places.Note(7, LossCause::kNested, 120);
  places.Note(8, LossCause::kRingFull, 50);
  std::map<std::pair<uint32_t, unsigned>, std::array<uint64_t, 3>> found;
  const auto collect = [&] {
    found.clear();
    places.ForEach([&](uint32_t thread, unsigned cause, uint64_t count, uint64_t first, uint64_t last) {
      EXPECT_TRUE((found.insert({{thread, cause}, {count, first, last}}).second));
    });
  };
  collect();
  EXPECT_EQ(found, (std::map<std::pair<uint32_t, unsigned>, std::array<uint64_t, 3>>{
                       {{7, 0}, {3, 100, 200}}, {{7, 1}, {1, 120, 120}}, {{8, 0}, {1, 50, 50}}}));
  places.Clear();
  collect();
  EXPECT_TRUE(found.empty());
  // More threads than there are rows are counted together, and none is lost.
  uint64_t sum = 0;
  for (uint32_t thread = 0; thread < 5000; ++thread) places.Note(thread, LossCause::kNoRing, thread + 1);
  collect();
  for (const auto& [key, row] : found) sum += row[0];
  EXPECT_EQ(sum, 5000u);
  EXPECT_TRUE(found.contains({LossPlaces::kOthers, 2}));
  EXPECT_GT(found.size(), 1000u);
}

TEST_F(QueueTest, AForkedChildStartsEmptyAndMayCollectItself) {
  Open();
  const MsprofApi api = Call(7);
  ASSERT_TRUE(set().Report(RecordClass::kApiEvent, true, &api));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    set().ResetInChild();
    if (QueueSet::Collecting() || set().used() != 0) _exit(1);
    Reader own;
    if (!set().Open(kSegments, &own)) _exit(2);
    if (!set().Report(RecordClass::kApiEvent, true, &api)) _exit(3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Close();
  uint64_t consumed = 0;
  ConsumeAll([&](const Entry&) { ++consumed; });
  EXPECT_EQ(consumed, 1u);
}

}  // namespace
}  // namespace npuprof::host
