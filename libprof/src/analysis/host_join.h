// SPDX-License-Identifier: Apache-2.0
// Reads the host's record files and ties tasks to operators by thread and time.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/host_trace.h"
#include "analysis/record_reader.h"

namespace npuprof::analysis {

/// Lives while HostTrace::Load runs; what it holds beyond the trace is freed with it. A record is kept as 16
/// to 32 bytes, what repeats from launch to launch (shapes, sizes) once.
class HostJoin {
 public:
  HostJoin(HostTrace* trace, const SliceIndex& index, std::function<void(uint64_t)> progress)
      : trace_(trace),
        index_(index),
        progress_(std::move(progress)),
        tensor_pool_(trace->space_),
        context_pool_(trace->space_),
        launches_(trace->space_),
        calls_(trace->space_),
        nodes_(trace->space_),
        tensors_(trace->space_),
        contexts_(trace->space_),
        copies_(trace->space_) {}
  void Run();

 private:
  struct Interval {
    uint64_t begin, end;
    uint32_t thread;
    uint32_t number;         // connection
    uint32_t operators = 0;  // set launched here
    uint32_t name = 0;       // of the operator if it is one
  };
  struct Ref {
    uint64_t key;  // time, later index of the launch
    uint32_t thread;
    uint32_t name;     // operator
    uint32_t payload;  // index into one of the pools below
  };
  struct CopyRef {
    uint64_t time;
    uint32_t thread;
    uint32_t copy;
  };
  struct NodeInfo {
    uint32_t task_type, type, block_num, mix_block_num, hf32, is_static;
    auto operator<=>(const NodeInfo&) const = default;
  };

  void ReadApis();
  void ReadNodes();
  void ReadTensors();
  void ReadContexts();
  void ReadCopies();
  void ReadTracks();
  void ReadCaptures();
  void AddMissingLaunches();
  void ResolveLaunches();
  void ResolveTracks();
  using Range = std::pair<const Ref*, const Ref*>;
  uint32_t InternSet(Range nodes, Range tensors, Range contexts);
  Operator Describe(const Ref& node, Range tensors, Range contexts);

  /// Calls `visit` for each record of {aging, unaging}.<form>.<kind> whose level is known.
  void ForEach(
      const char* form, const char* kind, const RecordFormat& format,
      const std::function<void(const uint8_t*, uint32_t thread, bool is_static, RecordReader*)>& visit);
  uint32_t ThreadIndex(uint32_t id);

  HostTrace* trace_;
  const SliceIndex& index_;
  std::function<void(uint64_t)> progress_;
  std::unordered_map<uint32_t, uint32_t> thread_ids_;
  std::map<NodeInfo, uint32_t> node_ids_;
  std::vector<NodeInfo> node_infos_;
  StringPool tensor_pool_, context_pool_;
  std::map<std::pair<uint64_t, uint16_t>, uint32_t> copy_ids_;
  std::unordered_map<std::string, uint32_t> set_ids_;
  std::string set_key_;
  // Of all threads; see Run() for their order.
  SpillVector<Interval> launches_, calls_;
  SpillVector<Ref> nodes_, tensors_, contexts_;
  SpillVector<CopyRef> copies_;
};

}  // namespace npuprof::analysis
