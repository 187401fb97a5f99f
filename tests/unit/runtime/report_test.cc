// SPDX-License-Identifier: Apache-2.0
// What is reported, and the rules of timing that readers depend on.
#include <gtest/gtest.h>

#include <algorithm>

#include "acl/acl.h"
#include "npusim/npusim.h"
#include "recorder.h"

namespace {

constexpr uint16_t kAcl = MSPROF_REPORT_ACL_LEVEL, kModel = MSPROF_REPORT_MODEL_LEVEL,
                   kNode = MSPROF_REPORT_NODE_LEVEL, kRuntime = MSPROF_REPORT_RUNTIME_LEVEL;

class Reports : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    Recorder::Get().Clear();
  }
  void TearDown() override {
    Recorder::Get().Stop();
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }
  // ResNet-50 once, and a copy.
  void Work() {
    uint32_t model = 0;
    void *in = nullptr, *out = nullptr;
    ASSERT_EQ(aclmdlLoadFromFile(MODELS_DIR "/resnet50_b1.json", &model), ACL_SUCCESS);
    aclmdlDesc* desc = aclmdlCreateDesc();
    ASSERT_EQ(aclmdlGetDesc(desc, model), ACL_SUCCESS);
    const size_t in_bytes = aclmdlGetInputSizeByIndex(desc, 0),
                 out_bytes = aclmdlGetOutputSizeByIndex(desc, 0);
    ASSERT_EQ(aclrtMalloc(&in, in_bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&out, out_bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    std::vector<char> image(in_bytes);
    ASSERT_EQ(aclrtMemcpyAsync(in, in_bytes, image.data(), in_bytes, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
              ACL_SUCCESS);
    aclmdlDataset *ins = aclmdlCreateDataset(), *outs = aclmdlCreateDataset();
    aclDataBuffer *ib = aclCreateDataBuffer(in, in_bytes), *ob = aclCreateDataBuffer(out, out_bytes);
    aclmdlAddDatasetBuffer(ins, ib);
    aclmdlAddDatasetBuffer(outs, ob);
    ASSERT_EQ(aclmdlExecute(model, ins, outs), ACL_SUCCESS);
    aclmdlDestroyDataset(ins);
    aclmdlDestroyDataset(outs);
    aclDestroyDataBuffer(ib);
    aclDestroyDataBuffer(ob);
    aclmdlDestroyDesc(desc);
    ASSERT_EQ(aclmdlUnload(model), ACL_SUCCESS);
    ASSERT_EQ(aclrtFree(in), ACL_SUCCESS);
    ASSERT_EQ(aclrtFree(out), ACL_SUCCESS);
  }
  static bool Inside(const MsprofApi& inner, const MsprofApi& outer) {
    return inner.threadId == outer.threadId && inner.beginTime >= outer.beginTime &&
           inner.endTime <= outer.endTime;
  }
  static bool InsideAny(uint64_t time, uint32_t thread, const std::vector<MsprofApi>& spans) {
    return std::any_of(spans.begin(), spans.end(), [&](const MsprofApi& a) {
      return a.threadId == thread && a.beginTime <= time && time <= a.endTime;
    });
  }

  Recorder& r_ = Recorder::Get();
};

constexpr uint64_t kAll = PROF_ACL_API | PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_RUNTIME_API;
constexpr size_t kOps = 53 + 16 + 16 + 6;  // convolutions, additions, activations, the rest

TEST_F(Reports, NothingWithoutASession) {
  Work();
  EXPECT_TRUE(r_.apis.empty());
  EXPECT_TRUE(r_.compacts.empty());
  EXPECT_TRUE(r_.additionals.empty());
}

TEST_F(Reports, SpansOfAllLevelsNest) {
  r_.Start(kAll);
  Work();
  const auto acl = r_.Apis(kAcl, "aclmdlExecute"), model = r_.Apis(kModel, "ModelExecute");
  const auto launches = r_.Apis(kNode, "launch"), kernels = r_.Apis(kRuntime, "KernelLaunchWithHandle");
  ASSERT_EQ(acl.size(), 1u);
  ASSERT_EQ(model.size(), 1u);
  ASSERT_EQ(launches.size(), kOps);
  ASSERT_EQ(kernels.size(), kOps);
  EXPECT_TRUE(Inside(model[0], acl[0]));
  for (size_t i = 0; i < kOps; i++) {
    EXPECT_TRUE(Inside(launches[i], model[0]));
    EXPECT_TRUE(Inside(kernels[i], launches[i]));
  }
  EXPECT_EQ(r_.Apis(kModel, "ModelLoad").size(), 1u);
  for (const auto& a : r_.apis) {
    EXPECT_LT(a.beginTime, a.endTime);
    EXPECT_NE(r_.NameOf(a.level, a.type), "") << a.level << "_" << a.type;
  }
}

TEST_F(Reports, OperatorsAreDescribedAtTheEndOfTheirLaunch) {
  r_.Start(kAll);
  Work();
  const auto launches = r_.Apis(kNode, "launch");
  const auto nodes = r_.Compacts("node_basic_info");
  ASSERT_EQ(nodes.size(), kOps);
  for (size_t i = 0; i < kOps; i++) {
    EXPECT_EQ(nodes[i].timeStamp, launches[i].endTime);
    EXPECT_EQ(nodes[i].data.nodeBasicInfo.opName, launches[i].itemId);
    EXPECT_GE(nodes[i].data.nodeBasicInfo.blockDim, 1u);
  }
  EXPECT_EQ(r_.Text(nodes[1].data.nodeBasicInfo.opName), "conv1_relu");
  EXPECT_EQ(r_.Text(nodes[1].data.nodeBasicInfo.opType), "Conv2D");
  const auto tensors = r_.Additionals("tensor_info");
  ASSERT_EQ(tensors.size(), kOps) << "none has more than five";
  MsprofTensorInfo info;
  memcpy(&info, tensors[1].data, sizeof info);
  EXPECT_EQ(tensors[1].timeStamp, launches[1].endTime);
  ASSERT_EQ(info.tensorNum, 4u);
  EXPECT_EQ(info.tensorData[0].format, 3u);
  EXPECT_EQ(info.tensorData[0].shape[2], 224u);
  EXPECT_EQ(info.tensorData[0].shape[5], 0u);
  EXPECT_EQ(info.tensorData[3].tensorType, 1u);
  for (const auto& [flag, c] : r_.compacts)
    if (r_.NameOf(c.level, c.type) == "node_basic_info") {
      EXPECT_EQ(flag, 0u) << "static operators are kept";
    }
}

TEST_F(Reports, TracksLieInRuntimeCallsAndCopiesShareTheirTime) {
  r_.Start(kAll);
  Work();
  const auto calls = r_.Apis(kRuntime, "");
  const auto tracks = r_.Compacts("task_track");
  EXPECT_EQ(tracks.size(), kOps + 1);
  for (const auto& t : tracks) EXPECT_TRUE(InsideAny(t.timeStamp, t.threadId, calls));
  const auto copies = r_.Compacts("memcpy_info");
  ASSERT_EQ(copies.size(), 1u);
  const auto track = std::find_if(tracks.begin(), tracks.end(), [](const auto& t) {
    return t.data.runtimeTrack.taskType == MSPROF_RTS_TASK_MEMCPY_ASYNC;
  });
  ASSERT_NE(track, tracks.end());
  EXPECT_EQ(copies[0].timeStamp, track->timeStamp);
  EXPECT_EQ(copies[0].threadId, track->threadId);
  EXPECT_EQ(copies[0].data.memcpyInfo.dataSize, 2u * 3 * 224 * 224);
  EXPECT_EQ(copies[0].data.memcpyInfo.memcpyDirection, 1);
}

TEST_F(Reports, TheCheapestLevelDescribesNoOperator) {
  r_.Start(PROF_TASK_TIME);
  Work();
  EXPECT_EQ(r_.Apis(kNode, "launch").size(), kOps);
  EXPECT_EQ(r_.Compacts("task_track").size(), kOps + 1);
  EXPECT_TRUE(r_.Compacts("node_basic_info").empty());
  EXPECT_TRUE(r_.Additionals("tensor_info").empty());
  EXPECT_TRUE(r_.Apis(kAcl, "").empty());
  EXPECT_TRUE(r_.Apis(kRuntime, "DevMalloc").empty()) << "calls without tasks need RUNTIME_API";
}

TEST_F(Reports, AclCallsAloneAreOneSwitch) {
  r_.Start(PROF_ACL_API);
  Work();
  EXPECT_EQ(r_.Apis(kAcl, "aclrtMemcpyAsync").size(), 1u);
  EXPECT_EQ(r_.Apis(kAcl, "").size(), r_.apis.size());
  EXPECT_TRUE(r_.compacts.empty());
}

TEST_F(Reports, MixedOperatorsCarryRatioAndContext) {
  r_.Start(kAll);
  ASSERT_EQ(npusimLaunch(nullptr, "fa", "FlashAttentionScore", NPUSIM_OP_MIX_AIC, 8, 5000, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  const auto nodes = r_.Compacts("node_basic_info");
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].data.nodeBasicInfo.blockDim, 8u | 2u << 16);
  const auto contexts = r_.Additionals("context_id_info");
  ASSERT_EQ(contexts.size(), 1u);
  MsprofContextIdInfo info;
  memcpy(&info, contexts[0].data, sizeof info);
  EXPECT_EQ(info.ctxIdNum, 1u);
  EXPECT_EQ(info.ctxIds[0], 0u);
  EXPECT_EQ(r_.Compacts("task_track").at(0).data.runtimeTrack.taskType, MSPROF_RTS_TASK_KERNEL_MIX_AIC);
}

TEST_F(Reports, ExecutionsAreMarkedAsIterationsOnlyIfAsked) {
  r_.Start(PROF_RUNTIME_API);
  Work();
  EXPECT_TRUE(r_.Apis(kRuntime, "ProfilerTraceEx").empty());
  r_.Start(PROF_RUNTIME_API | PROF_TRAINING_TRACE);
  Work();
  EXPECT_EQ(r_.Apis(kRuntime, "ProfilerTraceEx").size(), 3u) << "model begins, iteration ends, model ends";
}

TEST_F(Reports, LoadedModelsAreNamedToLaterSessions) {
  uint32_t model = 0;
  ASSERT_EQ(aclmdlLoadFromFile(MODELS_DIR "/gpt2_decode.json", &model), ACL_SUCCESS);
  EXPECT_TRUE(r_.additionals.empty());
  r_.Start(kAll);
  const auto maps = r_.Additionals("graph_id_map");
  ASSERT_EQ(maps.size(), 1u);
  MsprofGraphIdInfo info;
  memcpy(&info, maps[0].data, sizeof info);
  EXPECT_EQ(info.modelId, model);
  EXPECT_EQ(r_.Text(info.modelName), "gpt2_decode");
  r_.Stop();
  ASSERT_EQ(aclmdlUnload(model), ACL_SUCCESS);
  r_.Clear();
  r_.Start(kAll);
  EXPECT_TRUE(r_.Additionals("graph_id_map").empty());
}

}  // namespace
