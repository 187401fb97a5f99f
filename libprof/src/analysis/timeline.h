// SPDX-License-Identifier: Apache-2.0
// msprof_<ts>.json: tasks of devices, calls and marks of the host, and counters as an array of trace events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/api_reader.h"
#include "analysis/dictionary.h"
#include "analysis/host_trace.h"
#include "analysis/step_trace.h"
#include "analysis/task_view.h"
#include "analysis/text.h"

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
  };

  Timeline(const std::filesystem::path& path, uint64_t pid, uint32_t apis, StringPool* pool);

  void BeginDevice(int device, bool simulated);
  void AddTask(const TaskView& view, HostTrace* host);
  void AddSteps(const std::vector<Step>& steps);

  /// Introduces a layer of counters, of the host without a device. Returns its process.
  uint64_t BeginCounters(Layer layer, std::optional<int> device, bool simulated);
  /// `name` and `args` are JSON, `args` without braces.
  void Counter(uint64_t process, const std::string& name, int64_t wall_ns, const std::string& args);

  /// Marks and ranges of the program; `process` is its name.
  void BeginMarks(const std::string& process);
  /// `args` is JSON without braces. With a number the mark has a part on a device, and a flow leads there.
  void AddMark(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns,
               const std::string& args, std::optional<uint64_t> number);
  void AddDeviceMark(int device, bool simulated, uint16_t stream, uint16_t task, std::string_view name,
                     int64_t begin_ns, int64_t end_ns, uint64_t number);

  void BeginHost();
  void AddApi(const Api& api, HostTrace* host);

  /// Events so far, metadata included.
  uint64_t events() const { return events_; }
  void Commit();

 private:
  static constexpr unsigned kHostSlot = 31;

  uint64_t Pid(Layer layer, unsigned slot) const {
    return pid_ << 10 | static_cast<uint64_t>(layer) << 5 | slot;
  }
  void Event(const std::string& body);
  void Process(uint64_t pid, const std::string& name, const std::string& label, Layer layer);
  void Flow(uint64_t pid, uint64_t thread, const char* phase, uint64_t number, int64_t wall_ns);
  void Thread(uint64_t pid, uint64_t tid, const std::string& name);
  const std::string& Quoted(uint32_t text);

  OutputFile file_;
  uint64_t pid_;
  StringPool* pool_;
  std::vector<bool> linked_;  ///< connections that a task shows as flow
  std::vector<std::string> quoted_;
  std::set<uint64_t> threads_;  ///< of the current process
  uint64_t process_ = 0;
  std::map<int, std::set<uint64_t>> mark_threads_;  ///< introduced for marks, by device
  uint64_t events_ = 0;
};

}  // namespace npuprof::analysis
