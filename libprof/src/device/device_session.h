// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device_file.h"
#include "device/ring_reader.h"
#include "npuprof.h"

namespace npuprof::device {

/// One moment in host and device time.
struct ClockBracket {
  uint64_t host_ns = 0;   ///< CLOCK_MONOTONIC_RAW, middle of the bracket
  uint64_t device = 0;    ///< device clock
  uint64_t width_ns = 0;  ///< how far apart the two host readings lie: the error
};

/// A profiling session on one device: query, rings, start, stop. Control calls from one thread at a time;
/// rings are read by one other thread (the drain).
///
///     DeviceSession::Open(backend, 0, &session);
///     session->AddRing(MakeRing(NPUPROF_CHANNEL_TASK_LOG, 1 << 14), &index);
///     session->Map();
///     session->Start(&control);  ...read rings...  session->Stop(timeout, &control);
class DeviceSession {
 public:
  static Status Open(Backend backend, uint32_t id, std::unique_ptr<DeviceSession>* out);
  /// On a DeviceFile of one's own; for tests.
  static Status Open(std::unique_ptr<DeviceFile> file, uint32_t id, std::unique_ptr<DeviceSession>* out);

  struct Ring {
    npuprof_add_ring request;  ///< as granted: slots, events, ring index ...
    RingReader reader;
  };

  const npuprof_query& query() const { return query_; }
  bool Has(unsigned channel) const { return (query_.channels >> channel) & 1; }
  DeviceFile& file() { return *file_; }
  uint32_t id() const { return id_; }

  /// Adds a ring before Map(). @p request.size is filled in. @p ring: index into ring(); 0 is the event ring.
  Status AddRing(npuprof_add_ring request, unsigned* ring);
  /// Maps the three areas; rings can be read from here on.
  Status Map();
  /// All rings, the event ring at 0. Empty before Map().
  unsigned rings() const { return static_cast<unsigned>(rings_.size()); }
  Ring& ring(unsigned index) { return rings_[index]; }

  /// @p out: when it took effect and how many tasks were running already.
  Status Start(npuprof_control* out);
  /// Waits up to @p timeout for the ends of tasks of the window. After it every head is final.
  Status Stop(std::chrono::nanoseconds timeout, npuprof_control* out);
  /// Publishes what the device buffers.
  Status Flush();
  /// The tightest of five brackets.
  Status Clock(ClockBracket* out);
  Status Stats(npuprof_stats* out);

 private:
  Status Request(unsigned long request, void* argument, const char* what);

  std::unique_ptr<DeviceFile> file_;
  uint32_t id_ = 0;
  npuprof_query query_ = {};
  std::vector<Ring> rings_;
  bool mapped_ = false;
};

/// A request for a device-wide ring with default watermark and latency.
npuprof_add_ring MakeRing(uint32_t channel, uint32_t slots);
/// A request for a ring of one core.
npuprof_add_ring MakeCoreRing(uint32_t channel, uint32_t slots, uint32_t core_kind, uint32_t core);

/// "task_log", "task_pmu", ... as the manifest names channels; "none", "cube", "vector"; "ring_full" ...
const char* ChannelName(uint32_t channel);
const char* CoreKindName(uint32_t kind);
const char* LossCauseName(uint32_t cause);

}  // namespace npuprof::device
