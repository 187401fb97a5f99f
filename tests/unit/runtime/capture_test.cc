// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "acl/acl.h"
#include "events.h"
#include "npusim/npusim.h"
#include "recorder.h"

namespace {

class Capture : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&a_), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&b_), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&source_, 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&target_, 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(source_, 4, 0, 4), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(target_, 4, 0, 4), ACL_SUCCESS);
    Recorder::Get().Clear();
  }
  void TearDown() override {
    Recorder::Get().Stop();
    events_.Clear();
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }
  static uint64_t Kernels() {
    npusimDeviceTotals t{};
    npusimTotals(0, &t, sizeof t);
    return t.kernelsEnded;
  }
  static void Kernel(aclrtStream s, const char* name) {
    ASSERT_EQ(npusimLaunch(s, name, "K", NPUSIM_OP_AI_CORE, 2, 1000, 1), ACL_SUCCESS);
  }
  // Two kernels and a copy, captured.
  aclmdlRI Simple() {
    aclmdlRI graph = nullptr;
    EXPECT_EQ(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
    Kernel(a_, "first");
    EXPECT_EQ(aclrtMemcpyAsync(target_, 4, source_, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, a_), ACL_SUCCESS);
    Kernel(a_, "second");
    EXPECT_EQ(aclmdlRICaptureEnd(a_, &graph), ACL_SUCCESS);
    return graph;
  }

  aclrtStream a_ = nullptr, b_ = nullptr;
  Events events_;
  void *source_ = nullptr, *target_ = nullptr;
};

TEST_F(Capture, NothingRunsWhileCapturingAndEverythingOnEachReplay) {
  const uint64_t before = Kernels();
  aclmdlRI graph = Simple();
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(Kernels(), before);
  for (int value = 1; value <= 20; value++) {
    ASSERT_EQ(aclrtMemset(source_, 4, value, 4), ACL_SUCCESS);
    ASSERT_EQ(aclmdlRIExecuteAsync(graph, b_), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(b_), ACL_SUCCESS);
    ASSERT_EQ(*static_cast<char*>(target_), value) << "the copy acts on today's bytes";
  }
  EXPECT_EQ(Kernels() - before, 40u);
  EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(graph), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(Capture, ReplayKeepsItsPlaceInTheStream) {
  aclmdlRI graph = Simple();
  aclrtEvent before, after;
  ASSERT_EQ(aclrtCreateEvent(&before), ACL_SUCCESS);
  events_.Own(before);
  ASSERT_EQ(aclrtCreateEvent(&after), ACL_SUCCESS);
  events_.Own(after);
  ASSERT_EQ(npusimLaunch(b_, "long", "K", NPUSIM_OP_AI_CORE, 1, 18'000'000, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(source_, 4, 9, 4, b_), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRIExecuteAsync(graph, b_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(source_, 4, 1, 4, b_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(b_), ACL_SUCCESS);
  EXPECT_EQ(*static_cast<char*>(target_), 9) << "after the tasks before it, before those behind it";
  EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
}

TEST_F(Capture, ForkedStreamsJoinAndReplayInOrder) {
  aclrtEvent fork, join;
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&fork), ACL_SUCCESS);
  events_.Own(fork);
  ASSERT_EQ(aclrtCreateEvent(&join), ACL_SUCCESS);
  events_.Own(join);
  ASSERT_EQ(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  Kernel(a_, "a1");
  ASSERT_EQ(aclrtRecordEvent(fork, a_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(b_, fork), ACL_SUCCESS);
  aclmdlRICaptureStatus status;
  ASSERT_EQ(aclmdlRICaptureGetInfo(b_, &status, nullptr), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  Kernel(b_, "b1");
  ASSERT_EQ(aclrtMemsetAsync(source_, 4, 5, 4, b_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(a_, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
  ASSERT_EQ(aclrtRecordEvent(join, b_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(a_, join), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(target_, 4, source_, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, a_), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureEnd(a_, &graph), ACL_SUCCESS);
  const uint64_t before = Kernels();
  for (int i = 0; i < 3; i++) ASSERT_EQ(aclmdlRIExecuteAsync(graph, a_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(a_), ACL_SUCCESS);
  EXPECT_EQ(Kernels() - before, 6u);
  EXPECT_EQ(*static_cast<char*>(target_), 5);
}

TEST_F(Capture, RefusalsHaveTheirCodes) {
  aclmdlRI graph = nullptr;
  aclrtEvent outside;
  ASSERT_EQ(aclrtCreateEvent(&outside), ACL_SUCCESS);
  events_.Own(outside);
  ASSERT_EQ(aclrtRecordEvent(outside, b_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureEnd(a_, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  EXPECT_EQ(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclmdlRICaptureBegin(a_, static_cast<aclmdlRICaptureMode>(7)), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRICaptureBegin(a_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(aclrtSynchronizeStream(a_), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(aclrtStreamWaitEvent(a_, outside), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
  EXPECT_EQ(aclrtDestroyStream(a_), ACL_ERROR_RT_STREAM_CAPTURED);
  ASSERT_EQ(aclmdlRICaptureEnd(a_, &graph), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIExecuteAsync(graph, a_), ACL_SUCCESS) << "an empty graph";
}

TEST_F(Capture, TasksAreTrackedOnceAndReplaysReuseTheirIds) {
  Recorder& r = Recorder::Get();
  r.Start(PROF_TASK_TIME | PROF_TASK_TIME_L1);
  aclmdlRI graph = Simple();
  for (int i = 0; i < 3; i++) ASSERT_EQ(aclmdlRIExecuteAsync(graph, b_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(b_), ACL_SUCCESS);
  int kernels = 0;
  for (const auto& c : r.Compacts("task_track"))
    kernels += c.data.runtimeTrack.taskType == MSPROF_RTS_TASK_KERNEL_AICORE;
  EXPECT_EQ(kernels, 2);
  EXPECT_EQ(r.Compacts("node_basic_info").size(), 2u);
  const auto begin = r.Compacts("capture_stream_info");
  ASSERT_EQ(begin.size(), 1u);
  EXPECT_EQ(begin[0].data.captureStreamInfo.captureStatus, 0);
  int32_t id = 0;
  ASSERT_EQ(aclrtStreamGetId(a_, &id), ACL_SUCCESS);
  EXPECT_EQ(begin[0].data.captureStreamInfo.originalStreamId, id);
  EXPECT_NE(begin[0].data.captureStreamInfo.modelStreamId, id);
  ASSERT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
  EXPECT_EQ(r.Compacts("capture_stream_info").back().data.captureStreamInfo.captureStatus, 1);
}

TEST_F(Capture, GraphsCapturedBeforeASessionAreDescribedToIt) {
  aclmdlRI graph = Simple();
  Recorder& r = Recorder::Get();
  EXPECT_TRUE(r.Compacts("task_track").empty());
  r.Start(PROF_TASK_TIME | PROF_TASK_TIME_L1);
  EXPECT_EQ(r.Compacts("capture_stream_info").size(), 1u);
  const auto nodes = r.Compacts("node_basic_info");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(r.Text(nodes[0].data.nodeBasicInfo.opName), "first");
  EXPECT_EQ(r.Text(nodes[1].data.nodeBasicInfo.opName), "second");
  EXPECT_EQ(r.Compacts("task_track").size(), 5u) << "wait, kernel, copy, kernel, record";
  EXPECT_EQ(r.Compacts("memcpy_info").size(), 1u);
  EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
}

}  // namespace
