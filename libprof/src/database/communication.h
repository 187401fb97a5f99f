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
#include "analysis/string_pool.h"
#include "analysis/task_view.h"

namespace npuprof::database {

/// One task of a collective as it was announced. Names are StringPool ids.
struct Transfer {
  uint64_t group = 0;  ///< hash
  uint64_t notify = UINT64_MAX, bytes = 0;
  uint32_t name = 0;
  uint32_t local_rank = 0, remote_rank = 0, ranks = 0, plane = 0;
  uint32_t data_type = 0, link_type = 0, transport_type = 0, rdma_type = 0;
};

struct Collective {
  int device = 0;
  uint32_t name = 0, connection = 0, first_track = 0;
  std::string label;  ///< name, end of the group's number, place within the group, iteration
  uint64_t group = 0;
  int64_t start_ns = 0, end_ns = 0;
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
};

class Communication {
 public:
  using Progress = std::function<void(uint64_t)>;
  /// Reads what the host has on record. Before the first task.
  void LoadHost(const analysis::SliceIndex& index, analysis::HostTrace* host,
                const analysis::StringPool& pool, analysis::Diagnostics* diagnostics,
                const Progress& progress);
  /// Reads what a device has on record. Before its first task.
  void LoadDevice(int device, const analysis::Slices& aicpu, analysis::HostTrace* host,
                  analysis::Diagnostics* diagnostics, const Progress& progress);
  /// Each task of a device, in order of start.
  void Add(const analysis::TaskView& view, analysis::HostTrace* host, uint64_t task);

  /// Whether tasks on the stream carry collectives that the device issues by itself.
  bool IssuesCollectives(uint16_t stream) const { return issuing_.contains(stream); }
  const std::vector<Collective>& collectives() const { return collectives_; }
  const std::vector<CollectiveTask>& tasks() const { return tasks_; }

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

  void ReadTransfers(const analysis::SliceIndex& index, analysis::HostTrace* host, Threads* threads,
                     analysis::Diagnostics* diagnostics, const Progress& progress);
  void ReadDescriptions(const analysis::SliceIndex& index, analysis::HostTrace* host, Threads* threads,
                        analysis::Diagnostics* diagnostics, const Progress& progress);
  size_t CollectiveOf(const analysis::TaskView& view, const analysis::Operator& op,
                      const analysis::StringPool& pool);
  void AddIssued(const analysis::TaskView& view, uint64_t task);
  static uint32_t Ids(uint16_t stream, uint16_t task) { return static_cast<uint32_t>(stream) << 16 | task; }

  const analysis::StringPool* pool_ = nullptr;
  std::unordered_map<uint32_t, Launch> launches_;  // by connection
  std::set<uint16_t> issuing_;
  std::unordered_map<uint32_t, Issued> issued_;  // of the current device, by Ids()
  std::map<uint16_t, MainStream> mains_;         // of the current device
  int issued_device_ = -1;
  std::map<std::tuple<int, uint32_t, uint32_t>, size_t> latest_;  // device, connection, name
  std::map<std::pair<int, uint64_t>, size_t> latest_of_group_, places_;
  std::map<std::pair<size_t, uint16_t>, uint32_t> planes_;  // of collectives with issued tasks, by stream
  std::vector<Collective> collectives_;
  std::vector<CollectiveTask> tasks_;
};

}  // namespace npuprof::database
