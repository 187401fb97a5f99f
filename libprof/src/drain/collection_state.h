// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drain/drain.h"
#include "drain/staged_file.h"

namespace npuprof::drain {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A source and when to visit it.
struct SourceEntry {
  std::shared_ptr<Source> source;
  std::chrono::nanoseconds longest{};   // its Interval()
  std::chrono::nanoseconds interval{};  // what pressure made of it
  bool periodic = false;
  int wake_fd = -1;
  SteadyTime due{};
  bool ready = false;    // its descriptor is readable
  bool leaving = false;  // is to go once it is dry
  Progress last;
};

/// A function that waits to run on the drain thread.
struct Task {
  enum class Phase { kWaiting, kRunning, kDone };
  std::function<void()> run;
  Phase phase = Phase::kWaiting;
};

/// The drain's side of a Collection.
class CollectionState {
 public:
  CollectionState(std::shared_ptr<Drain::Impl> drain, MessageHandler handler);

  /// A new output, attached to this collection. Any thread.
  std::shared_ptr<StagedFile> NewFile(std::string path, size_t record_size, size_t slice_bytes, bool ages);
  /// Passes @p text on, once per @p key. Drain thread only.
  void Say(Severity severity, const std::string& key, const std::string& text);

  /// Set before the first file is made.
  std::shared_ptr<Storage> storage;

  const std::shared_ptr<Drain::Impl> drain;
  const unsigned generation;

  enum class Step { kOpen, kDraining, kWriting, kDone };

  // Guarded by the drain's mutex.
  std::vector<std::shared_ptr<Source>> new_sources, removed_sources, leaving_sources;
  std::vector<std::shared_ptr<StagedFile>> new_files;
  std::deque<std::shared_ptr<Task>> tasks;
  unsigned flushes_asked = 0, flushes_done = 0;
  bool finish_asked = false;
  SteadyTime finish_deadline{}, give_up_at{};
  bool abandoned = false;  // nobody waits any more: touch nothing of theirs
  bool in_pass = false;    // the drain thread may be inside a source
  bool done = false;
  bool file_failed = false;
  Cost base, final_cost;

  // Drain thread only.
  std::vector<SourceEntry> sources;
  std::vector<std::shared_ptr<StagedFile>> files;
  Step step = Step::kOpen;
  unsigned calls = 0;       // of Collection::Call(), not ended
  unsigned flush_goal = 0;  // flush that is being written, 0 if none
  unsigned flush_seen = 0;  // newest flush asked for at the start of this pass
  bool finish_seen = false;
  SteadyTime deadline_seen{}, give_up_seen{};

 private:
  MessageHandler handler_;
  std::set<std::string> said_;
};

}  // namespace npuprof::drain
