// SPDX-License-Identifier: Apache-2.0
// Enumerations of the published formats by name.
#pragma once

#include <cstdint>
#include <string>

namespace npuprof::analysis {

enum Level : uint16_t {
  kLevelPytorchTx = 30000,
  kLevelPta = 25000,
  kLevelMsprofTx = 20500,
  kLevelAcl = 20000,
  kLevelModel = 15000,
  kLevelNode = 10000,
  kLevelAicpu = 6000,
  kLevelHccl = 5500,
  kLevelRuntime = 5000,
};

bool IsKnownLevel(uint16_t level);
/// "acl", "model", "node", "communication", "runtime", else empty.
const char* LevelName(uint16_t level);
/// Prefix of slice names in the CANN layer: "AscendCL@", "Model@", "Node@", "Communication@", "Runtime@".
const char* LevelPrefix(uint16_t level);
/// The sub-module that the upper half of an ACL type names: "ACL_NN", "HOST_HCCL", ...
const char* AclMode(uint32_t type);

/// Task types of node_basic_info: "AI_CORE", "MIX_AIC", ...; "INVALID" if unknown.
const char* NodeTaskType(uint32_t type);
constexpr uint32_t kNodeCommunication = 9;

/// Task types of the device's scheduler: "AI_CORE", "SDMA_SQE", ...; "UNKNOWN_SQE" if unknown.
const char* SqeName(unsigned type);

/// Runtime task types that the analysis itself must know.
constexpr uint16_t kTaskMemcpyAsync = 5;
constexpr uint16_t kTaskMaintenance = 6;
constexpr uint16_t kTaskFlip = 98;
/// Name of a runtime task type for directories whose dictionary lacks it; nullptr if unknown.
const char* RuntimeTaskName(uint64_t type);
/// Whether tasks of a type of this name run operators.
bool RunsOperator(const std::string& runtime_task_name);

/// "host to device", ...; "other" if unknown.
const char* CopyDirection(uint16_t direction);

/// Parts of the device's software that take memory: "RUNTIME", ...; unknown ones are shown as their number.
std::string ModuleName(uint32_t module);

/// Data types and formats of tensors; unknown ones are shown as their number.
std::string TensorDataType(uint32_t type);
std::string TensorFormat(uint32_t format);

}  // namespace npuprof::analysis
