// SPDX-License-Identifier: Apache-2.0
// Collectives and their tasks in full: what the host said of each (hccl_op_info, hccl_info) and, of collectives that a
// processor of the device issues, what the device said (aicpu.data, mc2_comm_info).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/diagnostics.h"
#include "analysis/host_trace.h"
#include "analysis/slices.h"
#include "analysis/spill.h"
#include "analysis/string_pool.h"
#include "analysis/task_view.h"

namespace npuprof::analysis {

/// One task of a collective as it was announced. Names are StringPool ids.
struct Transfer {
  uint64_t group = 0;  ///< hash
  uint64_t notify = UINT64_MAX, bytes = 0;
  uint32_t name = 0;
  uint32_t local_rank = 0, remote_rank = 0, ranks = 0, plane = 0;
  uint32_t data_type = 0, link_type = 0, transport_type = 0, rdma_type = 0;
  double estimated_us = 0;  ///< duration as the host expected it
};

struct Collective {
  int device = 0;
  uint32_t name = 0, type = 0, connection = 0, first_track = 0;
  uint32_t model = kNoModel;
  std::string label;  ///< name, end of the group's number, place within the group, iteration
  uint64_t group = 0;
  int64_t start_ns = 0, end_ns = 0;  ///< of the tasks of its master plane
  bool mastered = false;             ///< whether one of these was there
  bool relay = false, retry = false;
  uint32_t data_type = 0, algorithm = 0, ranks = 0;
  uint64_t count = 0;
};

struct CollectiveTask {
  size_t collective;
  uint64_t task;  ///< as the caller numbers tasks
  Transfer transfer;
  int64_t start_ns, duration_ns;
  bool master;
  uint16_t stream, task_id;
  uint32_t context, model;
};

class Communication {
 public:
  /// Without `keeps_tasks` it knows collectives, and not the tasks that they are made of.
  explicit Communication(SpillSpace* space, bool keeps_tasks = true)
      : keeps_tasks_(keeps_tasks), tasks_(space) {}

  using Progress = std::function<void(uint64_t)>;
  /// Reads what the host has on record. Before the first task.
  void LoadHost(const SliceIndex& index, HostTrace* host, const StringPool& pool, Diagnostics* diagnostics,
                const Progress& progress);
  /// Reads what a device has on record. Before its first task.
  void LoadDevice(int device, const Slices& aicpu, HostTrace* host, Diagnostics* diagnostics,
                  const Progress& progress);
  /// Each task of a device, in order of start.
  void Add(const TaskView& view, HostTrace* host, uint64_t task);

  /// Whether tasks on the stream carry collectives that the device issues by itself.
  bool IssuesCollectives(uint16_t stream) const { return issuing_.contains(stream); }
  const std::vector<Collective>& collectives() const { return collectives_; }
  /// Whether the operator is a part of a collective that runs as a kernel, and so no computing.
  bool Schedules(const TaskView& view, const StringPool& pool) const;
  const SpillVector<CollectiveTask>& tasks() const { return tasks_; }
  /// Frees the tasks of the devices so far.
  void ForgetTasks() { tasks_.clear(); }

 private:
  struct Description {  // hccl_op_info
    uint64_t group = 0, count = 0;
    uint32_t algorithm = 0;
    uint8_t flags = 0, data_type = 0;
  };
  struct Part {           // a call that submits one task of a collective
    uint64_t begin, end;  // host cycles
    bool slave, announced;
    Transfer transfer;
  };
  struct Launch {
    std::vector<Part> parts;  // in order
    bool described = false;
    Description description;
  };
  struct Issued {
    std::vector<Transfer> transfers;  // in order of the tasks with the ids
    size_t next = 0;
  };
  struct MainStream {
    uint16_t first = 0, last = 0;  // tasks after the first, up to the last
  };
  struct Threads;

  void ReadTransfers(const SliceIndex& index, HostTrace* host, Threads* threads, Diagnostics* diagnostics,
                     const Progress& progress);
  void ReadDescriptions(const SliceIndex& index, HostTrace* host, Threads* threads, Diagnostics* diagnostics,
                        const Progress& progress);
  size_t CollectiveOf(const TaskView& view, const Operator& op, const StringPool& pool);
  void AddIssued(const TaskView& view, uint64_t task);
  void Master(const TaskView& view, Collective* collective);
  void Keep(const TaskView& view, size_t collective, uint64_t task, const Transfer& transfer, bool master);
  static uint32_t Ids(uint16_t stream, uint16_t task) { return static_cast<uint32_t>(stream) << 16 | task; }

  bool keeps_tasks_;
  const StringPool* pool_ = nullptr;
  std::unordered_map<uint32_t, Launch> launches_;  // by connection
  std::set<uint16_t> issuing_;
  std::unordered_map<uint32_t, Issued> issued_;  // of the current device, by Ids()
  std::map<uint16_t, MainStream> mains_;         // of the current device
  int issued_device_ = -1;
  std::map<std::tuple<int, uint32_t, uint32_t>, size_t> latest_;  // device, connection, name
  std::map<std::pair<int, uint64_t>, size_t> latest_of_group_, places_;
  std::map<std::pair<size_t, uint16_t>, uint32_t> planes_;  // of collectives with issued tasks, by stream
  std::vector<Collective> collectives_;
  SpillVector<CollectiveTask> tasks_;
};

}  // namespace npuprof::analysis
