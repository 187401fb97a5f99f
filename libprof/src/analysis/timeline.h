// SPDX-License-Identifier: Apache-2.0
// msprof_<ts>.json: the layers CANN and Ascend Hardware as an array of trace events.
#pragma once

#include <cstdint>
#include <filesystem>
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

/// Events are written as they come: first all devices, then the host's calls, whose flows need the devices.
class Timeline {
 public:
  Timeline(const std::filesystem::path& path, uint64_t pid, uint32_t apis, StringPool* pool);

  void BeginDevice(int device, bool simulated);
  void AddTask(const TaskView& view, HostTrace* host);
  void AddSteps(const std::vector<Step>& steps);

  void BeginHost();
  void AddApi(const Api& api, HostTrace* host);

  /// Events so far, metadata included.
  uint64_t events() const { return events_; }
  void Commit();

 private:
  enum Layer { kCann = 7, kHardware = 14 };
  static constexpr unsigned kHostSlot = 31;

  uint64_t Pid(Layer layer, unsigned slot) const {
    return pid_ << 10 | static_cast<uint64_t>(layer) << 5 | slot;
  }
  void Event(const std::string& body);
  void Process(uint64_t pid, const char* name, const std::string& label, Layer layer);
  void Thread(uint64_t pid, uint64_t tid, const std::string& name);
  const std::string& Quoted(uint32_t text);

  OutputFile file_;
  uint64_t pid_;
  StringPool* pool_;
  std::vector<bool> linked_;  ///< connections that a task shows as flow
  std::vector<std::string> quoted_;
  std::set<uint64_t> threads_;  ///< of the current process
  uint64_t process_ = 0;
  uint64_t events_ = 0;
};

}  // namespace npuprof::analysis
