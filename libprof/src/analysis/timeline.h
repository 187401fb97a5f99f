// SPDX-License-Identifier: Apache-2.0
// The timeline: tasks of devices, calls and marks of the host, and counters, for the files of every format.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/api_reader.h"
#include "analysis/communication.h"
#include "analysis/dictionary.h"
#include "analysis/host_trace.h"
#include "analysis/overlap.h"
#include "analysis/step_trace.h"
#include "analysis/task_view.h"
#include "analysis/timeline_writer.h"

namespace npuprof::analysis {

/// Events are written as they come: first all devices, then counters and marks, then the host's calls, whose flows need
/// the devices.
class Timeline {
 public:
  /// By the published place among the others.
  enum Layer {
    kFramework = 6,
    kCann = 7,
    kCpuUsage = 9,
    kMemoryUsage = 10,
    kNetworkUsage = 11,
    kHardware = 14,
    kCoreFrequency = 15,
    kCommunication = 16,
    kNpuMemory = 17,
    kAccelerators = 19,
    kHccs = 20,
    kNic = 21,
    kRoce = 22,
    kPcie = 23,
    kHbm = 24,
    kSocInfo = 25,
    kChipTransfer = 26,
    kLlc = 27,
    kSio = 28,
    kQos = 29,
    kOverlap = 31,
  };

  Timeline(uint64_t pid, uint32_t apis, const StringPool* pool);
  /// Before the first event.
  void Add(std::unique_ptr<TimelineWriter> writer) { writers_.push_back(std::move(writer)); }

  void BeginDevice(int device, bool simulated);
  void AddTask(const TaskView& view, const HostTrace& host);
  void AddSteps(const std::vector<Step>& steps);
  /// Collectives of the device, and the tasks that `communication` keeps, which are those of this device alone.
  void AddCollectives(int device, bool simulated, const Communication& communication, HostTrace* host);
  /// `collectives` are those of the device.
  void AddOverlap(int device, bool simulated, const Overlap& overlap,
                  const std::vector<const Collective*>& collectives);

  /// Introduces a layer of counters, of the host without a device. Returns its process.
  uint64_t BeginCounters(Layer layer, std::optional<int> device, bool simulated);
  void Counter(uint64_t process, std::string_view name, int64_t wall_ns, std::span<const TimelineArg> values);

  /// Marks and ranges of the program; `process` is its name.
  void BeginMarks(const std::string& process);
  /// With a number the mark has a part on a device, and a flow leads there.
  void AddMark(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns,
               std::span<const TimelineArg> args, std::optional<uint64_t> number);
  void AddDeviceMark(int device, bool simulated, uint16_t stream, uint16_t task, std::string_view name,
                     int64_t begin_ns, int64_t end_ns, uint64_t number);

  void BeginHost();
  /// In the order of the records, which are written when a call ends.
  void AddApi(const Api& api, HostTrace* host);
  void EndHost(HostTrace* host);

  /// Events so far, metadata included.
  uint64_t events() const;
  /// Those that Commit() leaves if nothing comes before it.
  std::vector<std::filesystem::path> files() const;
  void Commit();

 private:
  static constexpr unsigned kHostSlot = 31;
  using Writers = std::vector<std::unique_ptr<TimelineWriter>>;

  uint64_t Pid(Layer layer, unsigned slot) const {
    return pid_ << 10 | static_cast<uint64_t>(layer) << 5 | slot;
  }
  void Process(uint64_t pid, std::string_view name, std::string_view label, Layer layer);
  void Thread(uint64_t pid, uint64_t tid, std::string_view prefix, int64_t number,
              std::string_view suffix = {});
  /// A thread of the current process.
  void Thread(uint64_t pid, uint64_t tid, const std::string& name);
  static std::string DeviceLabel(int device, bool simulated);
  /// The end of the flow that begins at a call of the host.
  static TimelineFlow FlowFromHost(uint32_t connection);
  /// Whether there is a call for the connection, which then shows the begin of a flow.
  bool Link(uint32_t connection);
  void Slice(const TimelineSlice& slice);
  void ShowApi(const Api& api, HostTrace* host, bool nested);

  uint64_t pid_;
  const StringPool* pool_;
  Writers writers_;
  std::vector<bool> linked_;    ///< connections that a task shows as flow
  std::vector<Api> held_back_;  ///< for writers that want calls in the order of their begin
  std::set<uint64_t> threads_;  ///< of the current process
  uint64_t process_ = 0;
  uint64_t next_communication_thread_ = 0;  ///< numbered on over all devices
  std::optional<uint64_t> last_thread_;
  std::map<int, std::set<uint64_t>> mark_threads_;  ///< introduced for marks, by device
};

}  // namespace npuprof::analysis
