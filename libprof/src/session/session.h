// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/device_file.h"
#include "drain/drain.h"
#include "host/clock.h"
#include "host/host_source.h"
#include "host/samplers.h"
#include "session/config.h"
#include "session/device_collector.h"
#include "session/keeping.h"
#include "session/kept_room.h"
#include "session/messages.h"
#include "session/mstx.h"
#include "session/plan.h"
#include "session/record_tap.h"
#include "session/result.h"
#include "trace/directory.h"
#include "trace/manifest.h"
#include "trace/metadata.h"
#include "trace/reserve.h"

namespace npuprof {

/// One PROF directory being filled, from its creation to its completion. One control thread at a time (the manager's
/// lock); the drain thread works for it meanwhile.
class Session {
 public:
  struct Request {
    std::string output;  ///< directory in which PROF_* is made
    std::string job;     ///< name of the job, "": the environment decides
    unsigned index = 1;  ///< number of the run in the process
    Wanted wanted;
    const Settings* settings = nullptr;
    std::set<uint32_t> open_devices;  ///< devices the program has open now
    std::string previous;             ///< name of the directory that this one goes on from; "" if none
    std::vector<std::string> notes;   ///< for the manifest
    uint64_t previous_end_ns = 0;     ///< its closing_ns(), for Open()
    uint64_t marks_from = 0;          ///< its marks_from()
    RecordTap* tap = nullptr;         ///< sees all records, and outlives the session
    /// Called once host records are accepted and before devices start.
    std::function<std::vector<std::string>(const Session&)> start_components;
    /// Called if a start that got that far fails after all.
    std::function<std::vector<std::string>(const Session&)> stop_components;
  };

  /// Makes everything ready that takes time, but collects nothing; on failure nothing is left on disk. kInvalidFile,
  /// kInvalidParam or kFailure. Open() or Discard() follows.
  static Result Prepare(const Request& request, std::unique_ptr<Session>* out);
  /// Opens the window of a prepared session, with the functions, notes and open devices of @p request. On failure nothing is
  /// left on disk, and the object is of no use any more.
  Result Open(const Request& request);
  /// A prepared session that nobody opened: nothing is left on disk.
  void Discard();
  ~Session();

  bool Lists(uint32_t id) const;
  /// More devices for the list; those that are open start. @return of the worst device
  Result AddDevices(const std::vector<uint32_t>& devices, const std::set<uint32_t>& open_devices);
  /// The program opened or closes a device.
  Result DeviceOpened(uint32_t id);
  /// Waits until records of what has ended are taken up.
  void Settle();
  void DeviceClosed(uint32_t id);

  /// What follows a stop.
  enum class Then { kNothing, kNextDirectory };
  /// Ends the windows of the devices. Before the components are stopped: what is launched while they are told would
  /// otherwise be a task of which no host record gives the name. Tasks that run may end as long as nobody waits to go on;
  /// of others that start meanwhile nothing is recorded.
  void StopDevices(Then then = Then::kNothing);
  /// False if the disk takes nothing now. Waits less than a second to find out; only where the next directory is to begin.
  bool DiskAnswers();
  /// Stops devices and host, completes the directory. The components have been stopped before.
  Result Stop(Then then = Then::kNothing);

  uint64_t data_types() const { return wanted_.data_types; }
  const Wanted& wanted() const { return wanted_; }
  const Keeping& keeping() const { return keeping_; }
  std::string name() const { return directory_.name(); }
  /// What the directory takes on disk.
  uint64_t used_bytes() const;
  /// CLOCK_MONOTONIC_RAW of the begin of the window.
  uint64_t begin_ns() const { return begin_.monotonic_raw_ns; }
  /// CLOCK_MONOTONIC_RAW when stopping began: of tasks that start later nothing is recorded, though the window ends later.
  uint64_t closing_ns() const { return stop_begin_ns_; }
  /// host::Cycles() at the begin of the window, of the first directory if this one goes on from another: ranges of marks that
  /// began before are none of it.
  uint64_t marks_from() const { return marks_from_; }
  /// Sentences about ranges of marks of a window that ends, which began at @p marks_from, and are not ended themselves. They are
  /// forgotten, unless another window with marks runs.
  static std::vector<std::string> OpenRanges(uint64_t marks_from);
  const std::vector<uint32_t>& devices() const { return wanted_.devices; }
  const std::string& path() const { return directory_.path(); }
  /// Text of the host's sample.json.
  std::string SampleText() const;

  /// A sentence for the manifest, as a warning.
  void Say(const std::string& text) { messages_.Add(drain::Severity::kWarning, text); }

  /// In a forked child: lets go of devices; the object is never used again.
  void AbandonInChild();

 private:
  class ManifestWriter;

  Session() = default;
  Result Prepare(const Request& request);
  Result OpenNow(const Request& request);
  /// Runs @p body; what it throws is a failure, of which nothing is left on disk either.
  template <typename Body>
  Result OrUndo(const Request& request, Body&& body);
  Result BeginDirectory(const Request& request);
  Status BeginWindow();
  Result StartDevices(const Request& request);
  Result StartDevice(uint32_t id);
  /// Before a device's first records can be in the files the manifest says whether it is simulated.
  void TellOfDevices();
  void Undo(const Request& request);
  void AddHostSources();
  /// The host's share of the window ends, or turns over.
  void CloseHost(Then then = Then::kNothing);
  void BeginMarks(const Request& request);
  trace::Manifest Describe() const;
  /// Says what is wrong, unless it follows from what was said already.
  void Complain(const Status& status);
  bool FollowsFromKnown(const Status& status) const;
  void NameUnseenDevices();
  void NoteStopped();
  void EndLate(const trace::Instant& end);

  // Order matters: files and sources are destroyed before the collection they belong to, which is finished then.
  Messages messages_;
  Wanted wanted_;
  Plan plan_;
  std::map<std::string, std::string> settings_;
  RecordTap* tap_ = nullptr;
  device::Backend backend_ = device::Backend::kNone;
  uint32_t task_slots_ = 0;
  uint64_t storage_limit_ = 0;
  Keeping keeping_;
  trace::ProfDirectory directory_;
  std::shared_ptr<trace::DirectoryLock> lock_ = std::make_shared<trace::DirectoryLock>();
  std::shared_ptr<KeptRoom> kept_;
  trace::HostFacts host_;
  std::string command_line_, runtime_;
  trace::Instant begin_;
  uint64_t begin_cycles_ = 0, marks_from_ = 0;
  uint64_t unkept_before_ = 0, cut_before_ = 0;  // the process's counts at the begin
  uint64_t end_monotonic_raw_ns_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t stop_begin_ns_ = 0, stop_ns_ = 0;
  std::string continues_;  // the directory before this one
  uint64_t gap_ns_ = 0;    // since its end
  std::optional<std::pair<uint64_t, uint64_t>>
      last_look_;  // at the disk, which did not answer: what it had done
  bool components_started_ = false;
  bool opened_ = false;
  bool complete_ = false;
  bool stopped_ = false;
  size_t staging_bytes_ = 0, host_ring_bytes_ = 0;
  uint64_t bytes_per_second_ = 0;

  std::unique_ptr<drain::Collection> collection_;
  std::shared_ptr<host::HostSource> host_source_;
  std::vector<std::shared_ptr<host::Sampler>> samplers_;
  std::shared_ptr<ManifestWriter> manifest_writer_;
  mutable std::mutex collectors_mutex_;  // the two below; the drain thread describes them
  std::map<uint32_t, DeviceFiles> device_files_;
  std::vector<std::unique_ptr<DeviceCollector>> collectors_;
  // The same as a chain that is whole at any moment: the child of a fork follows it, whatever another thread was doing.
  std::atomic<DeviceCollector*> newest_collector_{nullptr};
  mstx::Filter filter_;
  bool marks_ = false;  // those of the program are recorded
  bool finished_ = false;
};

}  // namespace npuprof
