// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>

#include "acl/acl.h"
#include "events.h"
#include "npusim/npusim.h"
#include "recorder.h"

namespace {

npusimDeviceTotals Totals(uint32_t device) {
  npusimDeviceTotals t{};
  EXPECT_EQ(npusimTotals(device, &t, sizeof t), 0);
  return t;
}

class Stream : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&a_), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&b_), ACL_SUCCESS);
  }
  void TearDown() override {
    Recorder::Get().Stop();
    events_.Clear();
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }

  static void Kernel(aclrtStream stream, uint64_t cycles, uint64_t count = 1) {
    ASSERT_EQ(npusimLaunch(stream, "k", "K", NPUSIM_OP_AI_CORE, 1, cycles, count), ACL_SUCCESS);
  }

  aclrtStream a_ = nullptr, b_ = nullptr;
  Events events_;
};

TEST_F(Stream, EventMakesAnotherStreamWait) {
  aclrtEvent after_a, after_b;
  ASSERT_EQ(aclrtCreateEvent(&after_a), ACL_SUCCESS);
  events_.Own(after_a);
  ASSERT_EQ(aclrtCreateEvent(&after_b), ACL_SUCCESS);
  events_.Own(after_b);
  Kernel(a_, 18'000'000);  // 10 ms
  ASSERT_EQ(aclrtRecordEvent(after_a, a_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(b_, after_a), ACL_SUCCESS);
  Kernel(b_, 1'800'000);  // 1 ms
  ASSERT_EQ(aclrtRecordEvent(after_b, b_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeEvent(after_b), ACL_SUCCESS);
  aclrtEventRecordedStatus status;
  ASSERT_EQ(aclrtQueryEventStatus(after_a, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  float ms = 0;
  ASSERT_EQ(aclrtEventElapsedTime(&ms, after_a, after_b), ACL_SUCCESS);
  EXPECT_GE(ms, 1.0f) << "the kernel behind the wait ran after the event";
  EXPECT_EQ(aclrtEventElapsedTime(&ms, after_b, after_a), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
}

TEST_F(Stream, AForkedChildIsToldThatTheDeviceIsNotItsOwnAndWaitsForNothing) {
  aclrtEvent event;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  events_.Own(event);
  Kernel(a_, 1'800'000'000);  // runs for a second, so beyond the fork
  ASSERT_EQ(aclrtRecordEvent(event, a_), ACL_SUCCESS);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    if (npusimLaunch(b_, "k", "K", NPUSIM_OP_AI_CORE, 1, 1000, 1) == ACL_SUCCESS) _exit(1);
    const char* why = aclGetRecentErrMsg();
    if (why == nullptr || std::strstr(why, "forked") == nullptr) _exit(2);
    if (aclrtSynchronizeStream(a_) == ACL_SUCCESS) _exit(3);
    why = aclGetRecentErrMsg();
    if (why == nullptr || std::strstr(why, "forked") == nullptr) _exit(4);
    aclrtSynchronizeEvent(event);
    aclrtSynchronizeDevice();
    aclrtResetDevice(0);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a_), ACL_SUCCESS) << "the parent is not affected";
}

TEST_F(Stream, ElapsedTimeIsDeviceTimeAndFollowsTheWork) {
  aclrtEvent e[3];
  for (auto& x : e) {
    ASSERT_EQ(aclrtCreateEvent(&x), ACL_SUCCESS);
    events_.Own(x);
  }
  Kernel(a_, 360'000'000);  // 0.2 s, so that all is queued before the first event
  ASSERT_EQ(aclrtRecordEvent(e[0], a_), ACL_SUCCESS);
  Kernel(a_, 9'000'000);
  ASSERT_EQ(aclrtRecordEvent(e[1], a_), ACL_SUCCESS);
  Kernel(a_, 18'000'000);
  ASSERT_EQ(aclrtRecordEvent(e[2], a_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(a_), ACL_SUCCESS);
  float one = 0, two = 0;
  ASSERT_EQ(aclrtEventElapsedTime(&one, e[0], e[1]), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventElapsedTime(&two, e[1], e[2]), ACL_SUCCESS);
  EXPECT_NEAR(two / one, 2.0, 0.02);
}

TEST_F(Stream, StreamsRunSideBySide) {
  const auto before = Totals(0);
  Kernel(a_, 1000, 500);
  Kernel(b_, 1000, 700);
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  const auto after = Totals(0);
  EXPECT_EQ(after.kernelsEnded - before.kernelsEnded, 1200u);
  EXPECT_EQ(after.tasksStarted, after.tasksEnded);
}

TEST_F(Stream, TimeoutAndQueryTellOfABusyStream) {
  Kernel(a_, 1'800'000'000);  // 1 s
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(a_, 1), ACL_ERROR_RT_WAIT_TIMEOUT);
  EXPECT_EQ(aclrtSynchronizeStream(a_), ACL_SUCCESS);
  aclrtStreamStatus status;
  ASSERT_EQ(aclrtStreamQuery(a_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
}

TEST_F(Stream, WaitingForAnEventNeverRecordedPasses) {
  aclrtEvent e;
  ASSERT_EQ(aclrtCreateEvent(&e), ACL_SUCCESS);
  events_.Own(e);
  EXPECT_EQ(aclrtStreamWaitEvent(a_, e), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(a_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(e), ACL_SUCCESS);
}

TEST_F(Stream, RefusalsHaveTheirCodes) {
  aclrtEvent untimed, unrecorded;
  float ms;
  ASSERT_EQ(aclrtCreateEventWithFlag(&untimed, ACL_EVENT_SYNC), ACL_SUCCESS);
  events_.Own(untimed);
  ASSERT_EQ(aclrtCreateEvent(&unrecorded), ACL_SUCCESS);
  events_.Own(unrecorded);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, unrecorded, unrecorded), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, untimed, unrecorded), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  EXPECT_EQ(aclrtCreateEventWithFlag(&untimed, 0x100), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtDestroyStream(b_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(b_), ACL_ERROR_RT_PARAM_INVALID) << "destroyed";
  EXPECT_EQ(npusimLaunch(a_, "k", "K", 3, 1, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(npusimLaunch(a_, "k", "K", 0, 0, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(npusimLaunch(a_, "k", "K", 0, 65536, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(npusimLaunch(a_, "k", "K", 0, 1, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(npusimLaunch(a_, "", "K", 0, 1, 1, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(npusimTotals(99, nullptr, 0), ACL_ERROR_INVALID_PARAM);
}

TEST(Device, IdsCountsAndThreadsWithoutDevice) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  ASSERT_EQ(count, 8u);
  EXPECT_EQ(aclrtSetDevice(8), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("allowed are 0 to 7"), std::string::npos);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtResetDevice(3), ACL_ERROR_RT_INVALID_DEVICEID) << "never set";
  std::thread([] {
    int32_t id;
    aclrtStream s;
    EXPECT_EQ(aclrtGetDevice(&id), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtCreateStream(&s), ACL_ERROR_RT_CONTEXT_NULL);
  }).join();
}

TEST(Device, ProfilerIsToldOfTheFirstSetAndTheLastReset) {
  Recorder::Get().Clear();
  ASSERT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
  const std::vector<std::pair<uint32_t, bool>> expected = {{2, true}, {2, false}};
  EXPECT_EQ(Recorder::Get().devices, expected);
}

TEST(Device, ContextsHaveTheirOwnDefaultStreams) {
  aclrtContext first, second, current;
  ASSERT_EQ(aclrtCreateContext(&first, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&second, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, second);
  int32_t id1 = 0, id2 = 0;
  ASSERT_EQ(aclrtStreamGetId(nullptr, &id2), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamGetId(nullptr, &id1), ACL_SUCCESS);
  EXPECT_NE(id1, id2);
  EXPECT_EQ(aclrtDestroyContext(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(first), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyContext(second), ACL_SUCCESS);
}

TEST(Init, RepeatedCallsAreRefused) {
  EXPECT_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclInit("/no/such/file"), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS) << "a new start is allowed";
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST_F(Stream, IdsWrapWithOneFlipAndNoPairTwice) {
  int32_t id = 0;
  ASSERT_EQ(aclrtStreamGetId(a_, &id), ACL_SUCCESS);
  Recorder::Get().Clear();
  Recorder::Get().Start(PROF_TASK_TIME);
  Kernel(a_, 1, 70'000);
  ASSERT_EQ(aclrtSynchronizeStream(a_), ACL_SUCCESS);
  Recorder::Get().Stop();
  std::set<uint32_t> seen;
  std::vector<MsprofCompactInfo> flips;
  uint64_t last = 0;
  uint32_t batch = 0;
  for (const auto& c : Recorder::Get().Compacts("task_track")) {
    const auto& t = c.data.runtimeTrack;
    ASSERT_EQ(t.streamId, id);
    EXPECT_GE(c.timeStamp, last) << "times rise with ids";
    last = c.timeStamp;
    if (t.taskType == MSPROF_RTS_TASK_FLIP) {
      flips.push_back(c);
      batch++;
      EXPECT_EQ(t.taskId & 0xffff, 0u);
      EXPECT_EQ(t.taskId >> 16, batch);
      continue;
    }
    EXPECT_EQ(t.taskId >> 16, batch);
    EXPECT_TRUE(seen.insert(t.taskId).second) << t.taskId;
  }
  EXPECT_EQ(flips.size(), 1u);
  EXPECT_EQ(seen.size(), 70'000u);
}

TEST(Concurrency, ManyThreadsAndStreamsLoseNothing) {
  constexpr int kThreads = 8, kKernels = 2000;
  uint64_t before = 0, after = 0;
  for (uint32_t d = 0; d < 2; d++) before += Totals(d).kernelsEnded;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([t] {
      ASSERT_EQ(aclrtSetDevice(t % 2), ACL_SUCCESS);
      for (int round = 0; round < 10; round++) {
        aclrtStream s;
        ASSERT_EQ(aclrtCreateStream(&s), ACL_SUCCESS);
        ASSERT_EQ(npusimLaunch(s, "k", "K", NPUSIM_OP_AI_VECTOR_CORE, 4, 50, kKernels / 10), ACL_SUCCESS);
        if (round % 2 == 0) {
          ASSERT_EQ(aclrtSynchronizeStream(s), ACL_SUCCESS);
        }
        ASSERT_EQ(aclrtDestroyStream(s), ACL_SUCCESS);
      }
      ASSERT_EQ(aclrtResetDevice(t % 2), ACL_SUCCESS);
    });
  for (auto& t : threads) t.join();
  for (uint32_t d = 0; d < 2; d++) after += Totals(d).kernelsEnded;
  EXPECT_EQ(after - before, uint64_t{kThreads} * kKernels);
}

}  // namespace
