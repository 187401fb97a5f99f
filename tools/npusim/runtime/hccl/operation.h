// SPDX-License-Identifier: Apache-2.0
// One collective in the making: puts its tasks on the planes and reports each of them.
#ifndef NPUSIM_RUNTIME_HCCL_OPERATION_H
#define NPUSIM_RUNTIME_HCCL_OPERATION_H

#include <optional>

#include "runtime/core/rt.h"
#include "runtime/hccl/comm.h"
#include "runtime/report/reporter.h"

namespace npusim {

Switches& HcclSwitches();

class Operation {
 public:
  Operation(Collective which, Rank& rank, void* stream, uint64_t count, HcclDataType type, HcclReduceOp op);
  // Ends the collective: the record that keeps later ones behind it, then the reports.
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Tasks; after a failure the rest does nothing. Empty copies put no task.
  void CopyLocal(void* dst, const void* src, size_t bytes);
  void CopyFrom(uint32_t plane, uint32_t peer, void* dst, const void* src, size_t bytes);
  void ReduceFrom(uint32_t plane, uint32_t peer, void* dst, const void* src, size_t bytes);
  void Raise(uint32_t plane, uint32_t peer, std::vector<void*> Rank::*notify);
  void Await(uint32_t plane, uint32_t peer, std::vector<void*> Rank::*notify);
  // Planes 1 and up, @p planes in all, start behind what plane 0 holds, and plane 0 goes on behind them.
  void Fork(size_t planes);
  void Join(size_t planes);

  bool failed() const { return code_ != 0; }
  int code() const { return code_; }
  Algorithm algorithm() const { return algorithm_; }

 private:
  struct Task {
    const char* name;
    uint32_t plane;
    uint32_t remote;
    uint64_t notify;  // ~0: none
    const void* src;
    const void* dst;
    size_t bytes;
  };
  template <typename Put>
  void Run(const Task& task, Put put);
  void* StreamOf(uint32_t plane) const { return plane == 0 ? stream_ : rank_.streams[plane - 1]; }

  std::unique_lock<std::mutex> lock_;
  Rank& rank_;
  void* stream_;
  const uint64_t count_;
  const HcclDataType type_;
  const HcclReduceOp op_;
  const Algorithm algorithm_;
  const bool traced_;
  bool captured_ = false;
  int code_ = 0;
  uint64_t node_name_ = 0;
  Span acl_span_;
  std::optional<Span> launch_;
};

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_HCCL_OPERATION_H
