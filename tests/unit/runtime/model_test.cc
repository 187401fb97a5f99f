// SPDX-License-Identifier: Apache-2.0
// Models and single operators on the device.
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_matmul.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "acl/acl.h"
#include "npusim/npusim.h"

namespace {

npusimDeviceTotals Totals() {
  npusimDeviceTotals t{};
  EXPECT_EQ(npusimTotals(0, &t, sizeof t), 0);
  return t;
}

class Model : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS); }
  void TearDown() override { EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS); }

  // Buffers of one side of a model.
  static aclmdlDataset* Dataset(size_t count, size_t (*size)(aclmdlDesc*, size_t), aclmdlDesc* desc) {
    aclmdlDataset* set = aclmdlCreateDataset();
    for (size_t i = 0; i < count; i++) {
      void* p = nullptr;
      EXPECT_EQ(aclrtMalloc(&p, size(desc, i), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      EXPECT_EQ(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(p, size(desc, i))), ACL_SUCCESS);
    }
    return set;
  }
  static void Destroy(aclmdlDataset* set) {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(set); i++) {
      aclDataBuffer* b = aclmdlGetDatasetBuffer(set, i);
      EXPECT_EQ(aclrtFree(aclGetDataBufferAddr(b)), ACL_SUCCESS);
      aclDestroyDataBuffer(b);
    }
    aclmdlDestroyDataset(set);
  }
  static npusimDeviceTotals Execute(const char* file) {
    uint32_t model = 0;
    EXPECT_EQ(aclmdlLoadFromFile(file, &model), ACL_SUCCESS);
    aclmdlDesc* desc = aclmdlCreateDesc();
    EXPECT_EQ(aclmdlGetDesc(desc, model), ACL_SUCCESS);
    aclmdlDataset* in = Dataset(aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex, desc);
    aclmdlDataset* out = Dataset(aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex, desc);
    const auto before = Totals();
    EXPECT_EQ(aclmdlExecute(model, in, out), ACL_SUCCESS);
    auto after = Totals();
    after.cubeMacs -= before.cubeMacs;
    after.kernelsEnded -= before.kernelsEnded;
    Destroy(in);
    Destroy(out);
    aclmdlDestroyDesc(desc);
    EXPECT_EQ(aclmdlUnload(model), ACL_SUCCESS);
    return after;
  }
  // Cycles that an operator takes on all cores together. Exact, whatever the load of the machine.
  static double CyclesOf(const char* type, std::vector<std::vector<int64_t>> in, std::vector<int64_t> out) {
    static char byte;
    std::vector<aclTensorDesc*> descs;
    std::vector<aclDataBuffer*> buffers;
    for (const auto& shape : in) {
      descs.push_back(
          aclCreateTensorDesc(ACL_FLOAT16, static_cast<int>(shape.size()), shape.data(), ACL_FORMAT_ND));
      buffers.push_back(
          aclCreateDataBuffer(&byte, aclGetTensorDescSize(descs.back())));  // kernels touch nothing
    }
    aclTensorDesc* y =
        aclCreateTensorDesc(ACL_FLOAT16, static_cast<int>(out.size()), out.data(), ACL_FORMAT_ND);
    aclDataBuffer* yb = aclCreateDataBuffer(&byte, aclGetTensorDescSize(y));
    const auto before = Totals();
    EXPECT_EQ(aclopExecuteV2(type, static_cast<int>(in.size()), descs.data(), buffers.data(), 1, &y, &yb,
                             nullptr, nullptr),
              ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    const auto after = Totals();
    for (auto* d : descs) aclDestroyTensorDesc(d);
    for (auto* b : buffers) aclDestroyDataBuffer(b);
    aclDestroyTensorDesc(y);
    aclDestroyDataBuffer(yb);
    return static_cast<double>(after.aicCycles + after.aivCycles - before.aicCycles - before.aivCycles);
  }
};

TEST_F(Model, ResNet50Executes4_1GMacOnTheDevice) {
  const auto t = Execute(MODELS_DIR "/resnet50_b1.json");
  EXPECT_NEAR(static_cast<double>(t.cubeMacs), 4.1e9, 0.02 * 4.1e9);
  EXPECT_EQ(t.kernelsEnded, 91u);
}

TEST_F(Model, BertAndGpt2Execute) {
  EXPECT_NEAR(static_cast<double>(Execute(MODELS_DIR "/bert_base_s128.json").cubeMacs), 22.5e9 / 2,
              0.02 * 22.5e9 / 2);
  EXPECT_GT(Execute(MODELS_DIR "/gpt2_decode.json").cubeMacs, 100'000'000u);
}

TEST_F(Model, DescriptionTellsNamesShapesAndTypes) {
  uint32_t model = 0;
  ASSERT_EQ(aclmdlLoadFromFile(MODELS_DIR "/resnet50_b32.json", &model), ACL_SUCCESS);
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDesc(desc, model), ACL_SUCCESS);
  ASSERT_EQ(aclmdlGetNumInputs(desc), 1u);
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc, 0), "image");
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 32u * 3 * 224 * 224 * 2);
  EXPECT_EQ(aclmdlGetInputDataType(desc, 0), ACL_FLOAT16);
  EXPECT_EQ(aclmdlGetInputFormat(desc, 0), ACL_FORMAT_NCHW);
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetOutputDims(desc, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dimCount, 2u);
  EXPECT_EQ(dims.dims[1], 1000);
  EXPECT_EQ(aclmdlGetInputDims(desc, 1, &dims), ACL_ERROR_INVALID_PARAM);
  size_t index = 9;
  EXPECT_EQ(aclmdlGetOutputIndexByName(desc, "logits", &index), ACL_SUCCESS);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(aclmdlGetOutputIndexByName(desc, "nothing", &index), ACL_ERROR_INVALID_PARAM);
  aclmdlDestroyDesc(desc);
}

TEST_F(Model, RefusalsHaveTheirCodesAndNameTheFault) {
  uint32_t model = 0;
  EXPECT_EQ(aclmdlLoadFromFile("/no/such/model.json", &model), ACL_ERROR_INVALID_FILE);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("/no/such/model.json cannot be read: No such file"),
            std::string::npos);
  EXPECT_EQ(aclmdlLoadFromFile("/", &model), ACL_ERROR_INVALID_FILE);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("model / cannot be read"), std::string::npos);
  EXPECT_EQ(aclmdlLoadFromFile(nullptr, &model), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlLoadFromMem("{}", 2, &model), ACL_ERROR_PARSE_MODEL);
  EXPECT_EQ(aclmdlUnload(4711), ACL_ERROR_INVALID_MODEL_ID);
  ASSERT_EQ(aclmdlLoadFromFile(MODELS_DIR "/resnet50_b1.json", &model), ACL_SUCCESS);
  aclmdlDataset* empty = aclmdlCreateDataset();
  EXPECT_EQ(aclmdlExecute(model, empty, empty), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_EQ(aclmdlExecute(4711, empty, empty), ACL_ERROR_INVALID_MODEL_ID);
  EXPECT_EQ(aclmdlExecute(model, nullptr, empty), ACL_ERROR_INVALID_PARAM);
  char byte;
  aclDataBuffer* small = aclCreateDataBuffer(&byte, 1);
  aclmdlAddDatasetBuffer(empty, small);
  EXPECT_EQ(aclmdlExecute(model, empty, empty), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("needs 301056 bytes"), std::string::npos);
  aclmdlDestroyDataset(empty);
  aclDestroyDataBuffer(small);
}

TEST_F(Model, UnknownOperatorFailsTheLoadAndIsNamed) {
  char path[] = "/tmp/npusim-model-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << R"({"format":1,"name":"m","work_bytes":1,"weight_bytes":0,"inputs":[],"outputs":[],
    "ops":[{"name":"bad_one","type":"Warp","inputs":[],"outputs":[]}]})";
  uint32_t model = 0;
  EXPECT_EQ(aclmdlLoadFromFile(path, &model), ACL_ERROR_PARSE_MODEL);
  const std::string message = aclGetRecentErrMsg();
  for (const char* part : {"bad_one", "Warp", static_cast<const char*>(path), "Conv2D", "SoftmaxV2"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  std::remove(path);
}

TEST_F(Model, DoublingTheBatchDoublesABoundOperatorAndNotAWeightBoundOne) {
  const int64_t k = 4096;
  // Bound by the cores.
  EXPECT_NEAR(
      CyclesOf("MatMulV2", {{2 * k, k}, {k, k}}, {2 * k, k}) / CyclesOf("MatMulV2", {{k, k}, {k, k}}, {k, k}),
      2, 0.05);
  // Bound by memory.
  const int64_t n = 64 << 20;
  EXPECT_NEAR(CyclesOf("Add", {{2 * n}, {2 * n}}, {2 * n}) / CyclesOf("Add", {{n}, {n}}, {n}), 2, 0.05);
  // Bound by reading the weights once, whatever the batch.
  EXPECT_NEAR(CyclesOf("MatMulV2", {{2, k}, {k, 4 * k}}, {2, 4 * k}) /
                  CyclesOf("MatMulV2", {{1, k}, {k, 4 * k}}, {1, 4 * k}),
              1, 0.05);
}

TEST_F(Model, SingleOperatorsCheckTypeAndSizes) {
  char byte;
  const int64_t dims[] = {16, 16};
  aclTensorDesc* d = aclCreateTensorDesc(ACL_FLOAT16, 2, dims, ACL_FORMAT_ND);
  aclDataBuffer *fits = aclCreateDataBuffer(&byte, 512), *small = aclCreateDataBuffer(&byte, 511);
  EXPECT_EQ(aclopExecuteV2("Relu", 1, &d, &fits, 1, &d, &fits, nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclopExecuteV2("Warp", 1, &d, &fits, 1, &d, &fits, nullptr, nullptr), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(aclopExecuteV2("Relu", 1, &d, &small, 1, &d, &fits, nullptr, nullptr),
            ACL_ERROR_OP_INPUT_NOT_MATCH);
  EXPECT_EQ(aclopExecuteV2("Relu", 1, &d, &fits, 1, &d, &small, nullptr, nullptr),
            ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  EXPECT_EQ(aclopExecuteV2(nullptr, 1, &d, &fits, 1, &d, &fits, nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  aclDestroyTensorDesc(d);
  aclDestroyDataBuffer(fits);
  aclDestroyDataBuffer(small);
}

TEST_F(Model, TwoStageOperatorsRun) {
  const int64_t a[] = {64, 32}, b[] = {32, 16}, c[] = {64, 16};
  auto tensor = [](const int64_t* dims) {
    return aclCreateTensor(dims, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, dims, 2, nullptr);
  };
  aclTensor *x = tensor(a), *w = tensor(b), *y = tensor(c);
  uint64_t workspace = 1;
  aclOpExecutor* executor = nullptr;
  const auto before = Totals();
  ASSERT_EQ(aclnnMatmulGetWorkspaceSize(x, w, y, 0, &workspace, &executor), ACL_SUCCESS);
  EXPECT_EQ(workspace, 0u);
  ASSERT_EQ(aclnnMatmul(nullptr, 0, executor, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(Totals().cubeMacs - before.cubeMacs, 64u * 32 * 16);
  EXPECT_EQ(aclnnMatmulGetWorkspaceSize(w, x, y, 0, &workspace, &executor), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclnnAddGetWorkspaceSize(x, x, nullptr, x, &workspace, &executor), ACL_ERROR_INVALID_PARAM);
  for (auto* t : {x, w, y}) aclDestroyTensor(t);
}

TEST_F(Model, KernelsOfABinaryAreLaunchedWithTheirBlocks) {
  aclrtBinHandle binary;
  aclrtFuncHandle kernel;
  ASSERT_EQ(aclrtBinaryLoadFromFile(MODELS_DIR "/bert_base_s128.json", nullptr, &binary), ACL_SUCCESS);
  EXPECT_EQ(aclrtBinaryGetFunction(binary, "nothing", &kernel), ACL_ERROR_KERNEL_NOT_FOUND);
  ASSERT_EQ(aclrtBinaryGetFunction(binary, "pooler/Tanh", &kernel), ACL_SUCCESS);
  const uint64_t before = Totals().kernelsEnded;
  EXPECT_EQ(aclrtLaunchKernel(kernel, 8, nullptr, 0, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtLaunchKernel(kernel, 0, nullptr, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtLaunchKernel(kernel, 1, nullptr, 8, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(Totals().kernelsEnded - before, 1u);
  EXPECT_EQ(aclrtBinaryUnLoad(binary), ACL_SUCCESS);
  EXPECT_EQ(aclrtBinaryUnLoad(binary), ACL_ERROR_RT_INVALID_HANDLE);
}

}  // namespace
