// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

namespace npuprof {
extern const char* const kA2Table;

namespace {

TEST(Metrics, A2HasTheGroupsOfTheInterfaceAndNoOthers) {
  const ChipTable& table = A2();
  EXPECT_EQ(table.chip, 5);
  EXPECT_EQ(table.counters, 8u);
  for (int id : {0, 1, 2, 3, 4, 5, 6, 8}) EXPECT_NE(table.Find(id), nullptr) << id;
  for (int id : {-1, 7, 9, 0xff}) EXPECT_EQ(table.Find(id), nullptr) << id;
  EXPECT_EQ(table.groups.size(), 8u);
}

TEST(Metrics, PipeUtilizationCountsTheExtendedListOnCubeCores) {
  const MetricGroup* group = A2().Find("PipeUtilization");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->cube.name, "PipeUtilizationExct");
  EXPECT_EQ(JoinEvents(group->cube.events), "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55");
  EXPECT_EQ(group->vector.name, "PipeUtilization");
  EXPECT_EQ(JoinEvents(group->vector.events), "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55");
  EXPECT_EQ(A2().Find("PipeUtilizationExct"), group);
}

TEST(Metrics, CubeOperationsWeighHalfAndByteMultiplications) {
  for (const Metric& metric : A2().Find(0)->metrics) {
    if (metric.name != "cube_fops") continue;
    ASSERT_EQ(metric.terms.size(), 2u);
    EXPECT_EQ(metric.terms[0].event, 0x49);
    EXPECT_EQ(metric.terms[0].factor, 16 * 16 * 16 * 2);
    EXPECT_EQ(metric.terms[1].event, 0x4a);
    EXPECT_EQ(metric.terms[1].factor, 16 * 16 * 32 * 2);
    return;
  }
  FAIL() << "cube_fops is missing";
}

constexpr const char* kTable = R"({"chip":5,"name":"T","counters":2,"clock_mhz":50,"core_mhz":1800,
 "l2_cache_task_events":[],"smmu_events":[],"events":{"0x1":"one","0x2":"two"},
 "groups":[{"id":1,"name":"G","cube":{"name":"G","events":[%C]},"vector":{"name":"G","events":["0x1"]},
 "metrics":[{"name":"m","unit":"ratio","terms":[{"event":"0x2","factor":1}],"per":"%P","cores":["cube"]}]}]})";

std::string Table(const std::string& cube, const std::string& per) {
  std::string text = kTable;
  text.replace(text.find("%C"), 2, cube);
  text.replace(text.find("%P"), 2, per);
  return text;
}

std::string Complaint(const std::string& text) {
  try {
    ParseChipTable(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Metrics, AWrongTableIsRefusedWithItsFault) {
  EXPECT_EQ(Complaint(Table(R"("0x1","0x2")", "cycles")), "");
  EXPECT_EQ(Complaint(Table(R"("0x1")", "cycles")), "m needs 0x2, which G does not count");
  EXPECT_EQ(Complaint(Table(R"("0x1","0x2","0x1")", "cycles")), "G lists 3 events; 1 to 2 are possible");
  EXPECT_EQ(Complaint(Table(R"("0x2","0x2")", "cycles")), "G lists an event twice");
  EXPECT_EQ(Complaint(Table(R"("0x2","0x3")", "cycles")), "G lists 0x3, which is not among the events");
  EXPECT_EQ(Complaint(Table(R"("0x2")", "event:0x1")), "m is divided by 0x1, which G does not count");
  EXPECT_NE(Complaint(Table(R"("0x2")", "weeks")), "");
  EXPECT_NE(Complaint("{"), "");
}

TEST(Metrics, EventListsSurviveTextAndBack) {
  EXPECT_EQ(SplitEvents("0x8,0x50a"), (std::vector<uint16_t>{0x8, 0x50a}));
  EXPECT_EQ(SplitEvents(""), std::vector<uint16_t>{});
  EXPECT_EQ(SplitEvents("8"), std::nullopt);
  EXPECT_EQ(SplitEvents("0x10000"), std::nullopt);
  EXPECT_EQ(SplitEvents("0x"), std::nullopt);
  EXPECT_EQ(SplitEvents("0x8,,0x9"), std::nullopt);
}

// In a child of its own: takes all memory, gives `pieces` KiB back, and loads the table.
int LoadWithAlmostNoMemory(size_t pieces) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const rlimit limit{64 << 20, 64 << 20};
    setrlimit(RLIMIT_AS, &limit);
    std::vector<void*> taken;
    taken.reserve(1 << 20);
    for (size_t size = 1024; size >= 16; size /= 2) {
      while (void* piece = std::malloc(size)) {
        if (size == 1024 && taken.size() < taken.capacity()) taken.push_back(piece);
      }
    }
    for (size_t i = 0; i < pieces && !taken.empty(); ++i) {
      std::free(taken.back());
      taken.pop_back();
    }
    try {
      _exit(ParseChipTable(kA2Table).chip == 5 ? 5 : 1);
    } catch (const std::bad_alloc&) {
      _exit(0);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Metrics, MemoryThatIsTooShortForTheTableIsAnExceptionAndNoEnd) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the memory of a program under a sanitizer cannot be limited";
#endif
  EXPECT_EQ(LoadWithAlmostNoMemory(0), 0);
  bool loaded = false;
  for (size_t pieces = 4; pieces <= 4096; pieces *= 2) {
    const int status = LoadWithAlmostNoMemory(pieces);
    loaded = WIFEXITED(status) && WEXITSTATUS(status) == 5;
    EXPECT_TRUE(status == 0 || loaded) << pieces << " KiB left: wait status " << status;
  }
  EXPECT_TRUE(loaded) << "a few MiB are enough";
}

}  // namespace
}  // namespace npuprof
