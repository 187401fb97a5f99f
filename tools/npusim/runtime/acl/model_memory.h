// SPDX-License-Identifier: Apache-2.0
// What the operators of a model take of device memory, as the profiler is told with PROF_TASK_MEMORY.
#ifndef NPUSIM_RUNTIME_ACL_MODEL_MEMORY_H
#define NPUSIM_RUNTIME_ACL_MODEL_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npusim {

// The plan of a model: the outputs of an operator live until the next one has been launched, so two places that each
// hold the largest of them are enough. Single operators work in memory of the program, and have no plan.
class ModelMemory {
 public:
  // Outputs of the next operator, in bytes.
  void Add(uint64_t output_bytes);
  // Sets where the plan lies; the model's number keeps plans apart.
  void Place(uint32_t model) { base_ = kFirst + (static_cast<uint64_t>(model) << 40); }

  uint64_t reserved() const { return 2 * largest_; }
  uint64_t bytes(size_t op) const { return bytes_[op]; }
  uint64_t address(size_t op) const { return base_ + (op % 2) * largest_; }

 private:
  static constexpr uint64_t kFirst = uint64_t{1} << 44;  // no address of this process
  std::vector<uint64_t> bytes_;
  uint64_t largest_ = 0;
  uint64_t base_ = kFirst;
};

// One execution of a model: tells of memory that its operators take and give back, in their order, if anybody wants to
// know. Use by one thread.
class MemoryTrace {
 public:
  // @param runs  the operators run now, rather than being captured
  MemoryTrace(const ModelMemory& memory, uint32_t device, bool runs);
  ~MemoryTrace();
  MemoryTrace(const MemoryTrace&) = delete;
  MemoryTrace& operator=(const MemoryTrace&) = delete;
  // Operator @p index was launched.
  void Launched(size_t index, uint64_t name);

 private:
  void Tell(size_t index, uint64_t name, bool taken);

  const ModelMemory& memory_;
  const uint32_t device_;
  const bool on_;
  uint64_t allocated_ = 0;
  size_t last_ = SIZE_MAX;
  uint64_t last_name_ = 0;
};

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_ACL_MODEL_MEMORY_H
