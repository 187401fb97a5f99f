// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "device/converters.h"
#include "device/device_session.h"
#include "device/device_source.h"
#include "device/renderers.h"
#include "drain/drain.h"
#include "session/messages.h"
#include "session/module_memory.h"
#include "session/plan.h"
#include "session/record_tap.h"
#include "trace/directory.h"
#include "trace/manifest.h"
#include "trace/metadata.h"
#include "trace/record_file.h"

namespace npuprof {

/// The record files of one device directory. They outlive a collector, so that a device that is closed and opened
/// again goes on in the same files.
struct DeviceFiles {
  mutable std::mutex mutex;  ///< by_name: the drain thread reports on the files meanwhile
  std::map<std::string, std::unique_ptr<trace::RecordFile>> by_name;
  device::DeviceContext context;
  std::map<std::string, std::shared_ptr<device::Renderer>> renderers;  ///< their sums run on
};

/// One device in a session, from its opening to its closing. One control thread at a time, except Describe().
class DeviceCollector {
 public:
  struct Context {
    device::Backend backend;
    const Plan& plan;
    const trace::ProfDirectory& directory;
    const trace::HostFacts& host;
    trace::Instant begin;  ///< of the session
    drain::Collection& collection;
    Messages& messages;
    DeviceFiles& files;
    uint32_t task_slots;  ///< 0: the defaults
    RecordTap* tap;       ///< sees the records, or nullptr
  };

  /// Opens the device, writes its metadata and starts it; on failure nothing of it is left.
  static Status Start(const Context& context, uint32_t id, std::unique_ptr<DeviceCollector>* out);
  ~DeviceCollector();

  /// Ends the window and waits up to @p patience for the ends of its tasks; all records are in the rings then.
  void Stop(std::chrono::nanoseconds patience);
  /// After Stop() and once the records are written: what notes the end in the directory. It owns what it refers to.
  std::function<Status()> End() const;
  /// After Stop(), in a session that goes on: moves the rest into the files and gives the device back.
  void Close();

  /// Drain thread, or any thread after the collection is finished or Close().
  trace::Manifest::Device Describe() const;
  uint32_t id() const { return id_; }
  bool stopped() const { return stopped_; }
  /// Given back within a session that goes on; its end is noted already.
  bool closed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return closed_;
  }
  bool simulated() const { return description_.simulated; }

  /// In a forked child: gives back what the child holds of the device.
  void AbandonInChild() { session_.reset(); }
  DeviceCollector* before = nullptr;  ///< in the chain of the session's collectors; set once

 private:
  DeviceCollector(const Context& context, uint32_t id) : context_(context), id_(id) {}
  Status Begin();
  /// False if one may still be visited.
  bool RemoveSources();
  Status AddRings();
  Status AddBlockRings();
  Status AddSampledCores();
  Status AddTaskRings();
  Status AddUnitRings();
  Status AddMemoryUse();
  void AddModuleMemory();
  /// Has @p tap see the records, with the host's time of the device's clock.
  void ShowTo(RecordTap* tap);
  /// False, and a message, if the device lacks the channel; true with the index of the ring otherwise.
  Status AskForRing(npuprof_add_ring request, std::optional<unsigned>* ring);
  trace::RecordFile* File(const char* kind, size_t record, bool stamp, trace::Converter convert = nullptr,
                          size_t ring_record = 0);
  /// @p convert where a base is subtracted from clocks, else nothing: records are copied as they are then.
  trace::Converter Rebased(trace::Converter convert) const {
    return context_.files.context.base ? convert : nullptr;
  }
  Status AddRing(npuprof_add_ring request, const char* file, size_t file_record, bool stamp,
                 trace::Converter convert = nullptr, size_t ring_record = 0);
  struct RenderedFile {
    const char* kind;
    size_t record;  ///< 0: text
    bool stamp;
    std::function<std::shared_ptr<device::Renderer>(const device::SampleTimes& times, uint32_t device)> make;
  };
  Status AddRendered(uint32_t channel, std::chrono::nanoseconds period,
                     std::initializer_list<RenderedFile> files);
  Status WriteMetadata();
  void WriteEndBehindOthers(std::chrono::milliseconds patience);
  trace::Manifest::Device DescribeLocked() const;
  /// What stays as it is once the session is no more.
  trace::Manifest::Device DescribeSession() const;

  const Context context_;
  const uint32_t id_;
  std::unique_ptr<device::DeviceSession> session_;
  std::shared_ptr<device::DeviceSource> source_;
  std::shared_ptr<ModuleMemorySource> module_memory_;  ///< or nullptr
  struct Rendering {
    trace::RecordFile* file;
    std::shared_ptr<device::Renderer> renderer;
  };
  std::map<unsigned, trace::RecordFile*> routes_;
  std::multimap<unsigned, Rendering> renderings_;
  mutable std::mutex mutex_;  // description_ and closed_: the manifest is written while a device stops
  trace::Manifest::Device description_;  // what is known beside rings, gaps and clocks
  device::ClockBracket begin_;
  trace::Instant end_;
  bool again_ = false;
  bool added_ = false;
  bool stopped_ = false;
  bool closed_ = false;
};

}  // namespace npuprof
