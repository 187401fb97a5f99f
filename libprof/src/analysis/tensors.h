// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/dictionary.h"
#include "analysis/host_trace.h"

namespace npuprof::analysis {

/// Bytes of tensor_info that describe tensors: the count and the used entries. Empty if the count is
/// impossible.
std::string_view TensorBytes(const uint8_t* record);

/// Fills the tensor cells of `op` from one or more TensorBytes() of the same operator.
void DescribeTensors(const std::vector<std::string_view>& parts, StringPool* pool, Operator* op);

}  // namespace npuprof::analysis
