// SPDX-License-Identifier: Apache-2.0
// Model files: JSON operator lists (format: tools/npusim/models/README.md).
#ifndef NPUSIM_RUNTIME_OPS_MODEL_FILE_H
#define NPUSIM_RUNTIME_OPS_MODEL_FILE_H

#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/operator.h"

namespace npusim::ops {

struct ModelFile {
  std::string name;
  uint64_t work_bytes = 0;
  uint64_t weight_bytes = 0;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Operator> ops;
  std::vector<Plan> plans;  // one per operator
};

// A text that is no model; what() is one sentence naming the source and the fault.
class ModelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Parses, checks and plans a whole model. @p source names the text in errors. Throws ModelError.
ModelFile ParseModel(std::string_view text, const std::string& source, const Cores& cores);

}  // namespace npusim::ops

#endif  // NPUSIM_RUNTIME_OPS_MODEL_FILE_H
