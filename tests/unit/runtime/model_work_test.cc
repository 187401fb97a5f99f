// SPDX-License-Identifier: Apache-2.0
// The work of the shipped models against figures published for the architectures, not against the lists.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/ops/model_file.h"

namespace npusim::ops {
namespace {

ModelFile Load(const std::string& name) {
  std::ifstream in(std::string(MODELS_DIR "/") + name);
  std::stringstream text;
  text << in.rdbuf();
  return ParseModel(text.str(), name, Cores{});
}

double Macs(const ModelFile& m) {
  double n = 0;
  for (const Plan& p : m.plans) n += static_cast<double>(p.work.macs_fp16);
  return n;
}

uint64_t WeightElements(const ModelFile& m, const std::string& type) {
  uint64_t n = 0;
  for (const Operator& op : m.ops)
    for (const Tensor& t : op.inputs)
      if (t.weight && (type.empty() || op.type == type)) n += t.Elements();
  return n;
}

TEST(ModelWork, ResNet50Batch1IsThePublished4_1GMacWithin2Percent) {
  // torchvision's model card of ResNet-50 (IMAGENET1K weights): 4.09 GFLOPS counted as multiply-accumulates;
  // commonly quoted as 2 x 4.1 GMAC.
  EXPECT_NEAR(2 * Macs(Load("resnet50_b1.json")), 2 * 4.1e9, 0.02 * 2 * 4.1e9);
}

TEST(ModelWork, ResNet50ConvolutionsAndClassifierHoldThePublishedParameters) {
  // 25,557,032 parameters (same source) are weights and biases; of 53 batch norms with 26,560 channels one of
  // the two vectors is the bias the folded convolution keeps.
  EXPECT_EQ(WeightElements(Load("resnet50_b1.json"), ""), 25'557'032u - 26'560u);
}

TEST(ModelWork, ResNet50Batch32IsExactly32TimesBatch1) {
  EXPECT_EQ(Macs(Load("resnet50_b32.json")), 32 * Macs(Load("resnet50_b1.json")));
}

TEST(ModelWork, BertBaseIsThePublished22_5GFlopWithin2Percent) {
  // TinyBERT (Jiao et al. 2020, arXiv:1909.10351), table 1: BERT-base 22.5 billion FLOPs at sequence 128.
  EXPECT_NEAR(2 * Macs(Load("bert_base_s128.json")), 22.5e9, 0.02 * 22.5e9);
}

TEST(ModelWork, BertBaseHoldsThePublishedParameters) {
  // 109,482,240 parameters of bert-base-uncased; of 512 position rows a sequence of 128 reads 128.
  EXPECT_EQ(WeightElements(Load("bert_base_s128.json"), ""), 109'482'240u - (512u - 128u) * 768u);
}

TEST(ModelWork, Gpt2DecodeIsTwoFlopPerMatrixParameterPlusAttentionWithin2Percent) {
  // 124,439,808 parameters (GPT-2 small as released). Every one except positions (1024 x 768), biases and norms
  // is multiplied once per token; the tied embedding serves as the output layer. Attention adds for each of 12
  // layers 2 x 768 per token of the cache (512).
  const double vectors = 12 * (2304 + 768 + 3072 + 768 + 4 * 768) + 2 * 768;
  const double expected = 124'439'808.0 - 1024 * 768 - vectors + 12 * 2.0 * 768 * 512;
  EXPECT_NEAR(2 * Macs(Load("gpt2_decode.json")), 2 * expected, 0.02 * 2 * expected);
}

TEST(ModelWork, EveryLayerIsThere) {
  auto count = [](const ModelFile& m, const std::string& type) {
    return std::count_if(m.ops.begin(), m.ops.end(), [&](const Operator& op) { return op.type == type; });
  };
  EXPECT_EQ(count(Load("resnet50_b1.json"), "Conv2D"), 53);
  EXPECT_EQ(count(Load("bert_base_s128.json"), "SoftmaxV2"), 12);
  EXPECT_EQ(count(Load("bert_base_s128.json"), "LayerNormV3"), 25);
  EXPECT_EQ(count(Load("gpt2_decode.json"), "IncreFlashAttention"), 12);
  EXPECT_EQ(count(Load("gpt2_decode.json"), "MatMulV2"), 49);
}

TEST(ModelWork, NoOperatorMovesLessThanItsTensorsOrClaimsMoreHitsThanTraffic) {
  for (const char* name : {"resnet50_b1.json", "resnet50_b32.json", "bert_base_s128.json"}) {
    const ModelFile m = Load(name);
    for (size_t i = 0; i < m.ops.size(); i++) {
      const Operator& op = m.ops[i];
      const npusim_work& w = m.plans[i].work;
      EXPECT_LE(w.l2_hit_ppm, 1'000'000u) << op.name;
      if (op.type == "GatherV2" || op.type == "StridedSliceD") continue;  // read a part only
      uint64_t in = 0, out = 0;
      for (const Tensor& t : op.inputs) in += t.Bytes();
      for (const Tensor& t : op.outputs) out += t.Bytes();
      EXPECT_GE(w.read_bytes, in) << op.name;
      EXPECT_EQ(w.write_bytes, out) << op.name;
    }
  }
}

}  // namespace
}  // namespace npusim::ops
