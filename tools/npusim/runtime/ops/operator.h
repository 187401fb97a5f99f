// SPDX-License-Identifier: Apache-2.0
// Operators as the runtime sees them: type, tensors, attributes, and what they cost.
#ifndef NPUSIM_RUNTIME_OPS_OPERATOR_H
#define NPUSIM_RUNTIME_OPS_OPERATOR_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/npusim_model.h"
#include "npusim/npusim.h"

namespace npusim::ops {

// An operator that cannot be: unknown type, shapes that contradict each other. what() is one sentence.
class OperatorError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The type itself is not known; callers answer with another code.
class UnknownType : public OperatorError {
 public:
  using OperatorError::OperatorError;
};

struct Tensor {
  std::string name;             // only of model inputs and outputs
  int dtype = 1;                // aclDataType
  int format = 2;               // aclFormat
  std::vector<int64_t> shape;   // as it lies in memory
  std::vector<int64_t> origin;  // true shape; empty = shape
  bool weight = false;

  const std::vector<int64_t>& True() const { return origin.empty() ? shape : origin; }
  uint64_t Elements() const;      // of the true shape
  uint64_t Bytes() const;         // of the true shape
  uint64_t StorageBytes() const;  // as it lies in memory
};

struct Operator {
  std::string name;
  std::string type;
  bool is_static = true;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::map<std::string, std::vector<int64_t>> attrs;

  // Element @p index of attribute @p key, or @p fallback if there is none.
  int64_t Attr(const std::string& key, size_t index, int64_t fallback) const;
};

// Cores that tiling may use.
struct Cores {
  uint32_t cube = 24;
  uint32_t vector = 48;
};

// How an operator runs.
struct Plan {
  npusimTaskType task_type = NPUSIM_OP_AI_CORE;
  uint32_t block_dim = 1;
  uint32_t mix_ratio = 0;    // vector blocks per cube block of MIX operators
  uint64_t duration_ns = 0;  // AI CPU only
  npusim_work work = {};
};

// Throws UnknownType (naming the known types) or OperatorError (naming the operator and the contradiction).
Plan PlanOperator(const Operator& op, const Cores& cores);

// Whether PlanOperator() knows @p type; all names, sorted and joined by ", ".
bool KnownType(const std::string& type);
std::string KnownTypes();

// Bits of one element; 0 for types that have no size.
unsigned DTypeBits(int acl_dtype);
// Number of a data type or format by its name in model files; -1000 if unknown.
int DTypeByName(const std::string& name);
int FormatByName(const std::string& name);

}  // namespace npusim::ops

#endif  // NPUSIM_RUNTIME_OPS_OPERATOR_H
