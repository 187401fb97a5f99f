// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/ops/model_file.h"

namespace npusim::ops {
namespace {

constexpr Cores kCores{24, 48};

Operator MatMul(int64_t m, int64_t k, int64_t n, int dtype = 1) {
  Operator op;
  op.name = "mm";
  op.type = "MatMulV2";
  op.inputs.resize(2);
  op.outputs.resize(1);
  op.inputs[0].shape = {m, k};
  op.inputs[1].shape = {k, n};
  op.outputs[0].shape = {m, n};
  for (auto* t : {&op.inputs[0], &op.inputs[1], &op.outputs[0]}) t->dtype = dtype;
  return op;
}

std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(Ops, MatMulCountsMacsAndUniqueBytes) {
  const Plan p = PlanOperator(MatMul(1024, 512, 2048), kCores);
  EXPECT_EQ(p.task_type, NPUSIM_OP_AI_CORE);
  EXPECT_EQ(p.work.macs_fp16, 1024ull * 512 * 2048);
  EXPECT_EQ(p.work.macs_int8, 0u);
  EXPECT_EQ(p.work.write_bytes, 2ull * 1024 * 2048);
  const double from_memory =
      static_cast<double>(p.work.read_bytes + p.work.write_bytes) * (1 - p.work.l2_hit_ppm / 1e6);
  const double unique = 2.0 * (1024 * 512 + 512 * 2048 + 1024 * 2048);
  EXPECT_NEAR(from_memory, unique, unique * 1e-5);
  EXPECT_EQ(p.block_dim, 24u);
}

TEST(Ops, Int8MatMulUsesTheInt8Cube) {
  const Plan p = PlanOperator(MatMul(64, 64, 64, 2), kCores);
  EXPECT_EQ(p.work.macs_int8, 64ull * 64 * 64);
  EXPECT_EQ(p.work.macs_fp16, 0u);
}

TEST(Ops, BlocksNeverExceedCoresNorTiles) {
  EXPECT_EQ(PlanOperator(MatMul(16, 4096, 16), kCores).block_dim, 1u);
  EXPECT_EQ(PlanOperator(MatMul(32, 64, 32), kCores).block_dim, 4u);
  EXPECT_EQ(PlanOperator(MatMul(8192, 64, 8192), Cores{8, 16}).block_dim, 8u);
}

TEST(Ops, TransposedInputsSwapDimensions) {
  Operator op = MatMul(10, 20, 30);
  op.inputs[0].shape = {20, 10};
  op.attrs["transpose_x1"] = {1};
  EXPECT_EQ(PlanOperator(op, kCores).work.macs_fp16, 6000u);
}

TEST(Ops, InnerDimensionsThatDifferAreNamed) {
  Operator op = MatMul(10, 20, 30);
  op.inputs[1].shape = {21, 30};
  const std::string message = MessageOf([&] { PlanOperator(op, kCores); });
  EXPECT_NE(message.find("mm (MatMulV2)"), std::string::npos) << message;
  EXPECT_NE(message.find("20 and 21"), std::string::npos) << message;
}

TEST(Ops, GroupedConvolutionDividesTheWork) {
  Operator op;
  op.name = "c";
  op.type = "Conv2D";
  op.inputs.resize(2);
  op.outputs.resize(1);
  op.inputs[0].shape = {1, 64, 56, 56};
  op.inputs[1].shape = {128, 16, 3, 3};
  op.outputs[0].shape = {1, 128, 28, 28};
  op.attrs = {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"groups", {4}}};
  EXPECT_EQ(PlanOperator(op, kCores).work.macs_fp16, 28ull * 28 * 128 * 16 * 9);
  op.outputs[0].shape = {1, 128, 29, 28};
  EXPECT_NE(MessageOf([&] { PlanOperator(op, kCores); }).find("height 29"), std::string::npos);
}

TEST(Ops, AttentionIsMixedAndCountsBothProducts) {
  Operator op;
  op.name = "fa";
  op.type = "FlashAttentionScore";
  op.inputs.resize(3);
  op.outputs.resize(1);
  for (auto& t : op.inputs) t.shape = {2, 8, 1024, 64};
  op.outputs[0].shape = {2, 8, 1024, 64};
  const Plan p = PlanOperator(op, kCores);
  EXPECT_EQ(p.task_type, NPUSIM_OP_MIX_AIC);
  EXPECT_EQ(p.mix_ratio, 2u);
  EXPECT_EQ(p.work.macs_fp16, 2ull * 8 * 1024 * 1024 * 64 * 2);
  EXPECT_GT(p.work.vec_fp32, 0u);
}

TEST(Ops, ElementwiseWorkFollowsTheDataType) {
  Operator op;
  op.name = "add";
  op.type = "Add";
  op.inputs.resize(2);
  op.outputs.resize(1);
  for (auto* t : {&op.inputs[0], &op.inputs[1], &op.outputs[0]}) {
    t->shape = {1000};
    t->dtype = 0;
  }
  Plan p = PlanOperator(op, kCores);
  EXPECT_EQ(p.work.vec_fp32, 1000u);
  EXPECT_EQ(p.work.read_bytes, 8000u);
  EXPECT_EQ(p.work.write_bytes, 4000u);
  EXPECT_EQ(p.block_dim, 2u);
  for (auto* t : {&op.inputs[0], &op.inputs[1], &op.outputs[0]}) t->dtype = 3;
  EXPECT_EQ(PlanOperator(op, kCores).work.vec_int32, 1000u);
}

TEST(Ops, EmbeddingReadsOnlyTheRowsItTakes) {
  Operator op;
  op.name = "g";
  op.type = "GatherV2";
  op.inputs.resize(2);
  op.outputs.resize(1);
  op.inputs[0].shape = {50257, 768};
  op.inputs[1].shape = {4};
  op.inputs[1].dtype = 3;
  op.outputs[0].shape = {4, 768};
  EXPECT_EQ(PlanOperator(op, kCores).work.read_bytes, 4u * 768 * 2 + 16);
}

TEST(Ops, UnknownTypeNamesOperatorAndAllowedTypes) {
  Operator op = MatMul(1, 1, 1);
  op.type = "Warp";
  const std::string message = MessageOf([&] { PlanOperator(op, kCores); });
  EXPECT_NE(message.find("mm"), std::string::npos);
  EXPECT_NE(message.find("Warp"), std::string::npos);
  EXPECT_NE(message.find("Conv2D"), std::string::npos);
  EXPECT_FALSE(KnownType("Warp"));
  EXPECT_TRUE(KnownType("Conv2D"));
}

constexpr char kOneOp[] =
    R"({"format":1,"name":"m","work_bytes":1,"weight_bytes":0,"inputs":[],"outputs":[],"ops":[
  {"name":"r","type":"%s","inputs":[{"dtype":"%s","format":"ND","shape":[4]}],
   "outputs":[{"dtype":"FLOAT","format":"ND","shape":[4]}]}]})";

std::string OneOp(const char* type, const char* dtype) {
  char text[1024];
  snprintf(text, sizeof text, kOneOp, type, dtype);
  return text;
}

TEST(ModelFile, FaultsNameFileOperatorAndValue) {
  auto message = [](const std::string& text) {
    return MessageOf([&] { ParseModel(text, "file.json", kCores); });
  };
  EXPECT_EQ(message(OneOp("Relu", "FLOAT")), "");
  for (const char* part : {"file.json", "operator r", "Warp", "allowed are Abs, Add"})
    EXPECT_NE(message(OneOp("Warp", "FLOAT")).find(part), std::string::npos) << part;
  EXPECT_NE(message(OneOp("Relu", "FLOAT17")).find("FLOAT17"), std::string::npos);
  EXPECT_NE(message("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(message("IMOD\x01").find("compiled models (.om) cannot be run"), std::string::npos);
  EXPECT_NE(message("[]").find("file.json"), std::string::npos);
  EXPECT_NE(message("{\"format\":2}").find("format 2"), std::string::npos);
  EXPECT_NE(message("{\"format\":1}").find("\"name\" is missing"), std::string::npos);
}

}  // namespace
}  // namespace npusim::ops
