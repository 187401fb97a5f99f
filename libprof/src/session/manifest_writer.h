// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "drain/drain.h"
#include "session/session.h"

namespace npuprof {

/// Whether a failure was for want of room.
bool MeansDiskIsFull(const Status& status);

/// Kept free of the disk for metadata and the manifest of 64 devices.
inline constexpr size_t kReserveBytes = 512 << 10;

/// Replaces the manifest once a second, so that a run that is killed still tells what it kept. The session is described on
/// the drain thread; text and file are made where a slow disk holds up nobody.
class Session::ManifestWriter final : public drain::Source {
 public:
  explicit ManifestWriter(Session& session) : session_(session) {}
  std::chrono::nanoseconds Interval() const override { return std::chrono::seconds(1); }
  bool Periodic() const override { return true; }
  drain::Progress Poll(const drain::Pass& pass) override;

  /// Waits until a manifest that tells of what is true now is there, at most about @p patience; false if there is none
  /// then. Not on the drain thread.
  bool Tell(std::chrono::milliseconds patience);
  /// Grows whenever one was written. Not on the drain thread.
  uint64_t written() const;

 private:
  /// @return the number of the wish
  uint64_t Ask();
  void Write();
  void Written(uint64_t wish, const Status& status);

  Session& session_;
  // Drain thread only.
  std::chrono::steady_clock::time_point rated_at_{};
  drain::Cost rated_;
  uint64_t asked_ = 0;
  bool writing_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t written_ = 0;  // newest wish that was fulfilled; guarded by mutex_
};

}  // namespace npuprof
