// SPDX-License-Identifier: Apache-2.0
#include "analysis/tensors.h"

#include "analysis/names.h"
#include "analysis/record_reader.h"

namespace npuprof::analysis {
namespace {

constexpr size_t kCount = 32, kFirst = 36, kEach = 44, kMost = 5, kDimensions = 8;

struct Side {
  std::string shapes, types, formats;
  void Add(const uint8_t* tensor) {
    if (!types.empty()) {
      shapes += ';';
      types += ';';
      formats += ';';
    }
    for (size_t i = 0; i < kDimensions; ++i) {
      const auto size = Get<uint32_t>(tensor, 12 + 4 * i);
      if (size == 0) break;
      if (i > 0) shapes += ',';
      shapes += std::to_string(size);
    }
    formats += TensorFormat(Get<uint32_t>(tensor, 4));
    types += TensorDataType(Get<uint32_t>(tensor, 8));
  }
};

}  // namespace

std::string_view TensorBytes(const uint8_t* record) {
  const auto count = Get<uint32_t>(record, kCount);
  if (count == 0 || count > kMost) return {};
  return {reinterpret_cast<const char*>(record) + kCount, kFirst - kCount + count * kEach};
}

void DescribeTensors(const std::vector<std::string_view>& parts, StringPool* pool, Operator* op) {
  Side input, output;
  for (const auto& part : parts) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(part.data());
    const auto count = Get<uint32_t>(bytes, 0);
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t* tensor = bytes + (kFirst - kCount) + i * kEach;
      (Get<uint32_t>(tensor, 0) == 1 ? output : input).Add(tensor);
    }
  }
  if (parts.empty()) return;
  op->has_tensors = true;
  // The quotes belong to the published cell.
  op->input_shapes = pool->Add("\"" + input.shapes + "\"");
  op->input_types = pool->Add(input.types);
  op->input_formats = pool->Add(input.formats);
  op->output_shapes = pool->Add("\"" + output.shapes + "\"");
  op->output_types = pool->Add(output.types);
  op->output_formats = pool->Add(output.formats);
}

}  // namespace npuprof::analysis
