// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fd_identity.h"
#include "base/last_thread.h"
#include "drain/collection_state.h"
#include "drain/disk_thread.h"

namespace npuprof::drain {

/// The thread and its loop. Each round: take up what other threads asked for, visit sources that are due,
/// take back finished writes and submit new ones, then write and sleep. Nothing in it waits for the disk: what may is
/// posted to a DiskThread. Other threads never wait for a write: a collection is only "in pass" while its sources and
/// counts are touched.
class Drain::Impl : public std::enable_shared_from_this<Drain::Impl> {
 public:
  Impl();
  ~Impl();

  Status Start(const Options& options);
  void Wake();
  /// Waits until the thread has ended if no collection is left.
  void JoinIfIdle(std::chrono::milliseconds patience);
  Cost TotalCost() const;
  /// See Collection::Call(). Drain thread.
  void Call(const std::shared_ptr<CollectionState>& collection, FileCall kind, std::function<void()> call,
            std::function<void()> then);
  /// The same for what outlives a collection that is given up.
  void Post(FileCall kind, std::function<void()> call, std::function<void()> then);

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::vector<std::shared_ptr<CollectionState>> collections;
  /// See Collection::CallAtEnd().
  struct EndCall {
    FileCall kind;
    std::function<void()> call;
    std::shared_ptr<bool> ended;
  };
  std::deque<EndCall> end_calls;
  bool running = false;
  bool joinable = false;
  bool ready = false;
  std::string failure;  // why the thread could not set itself up; "" if it could
  Path path = Path::kPwritev;
  std::string reason;

  Station station;  // drain thread; the pointer is what others hold on to

 private:
  static void* Entry(void* self);
  bool HasControl() const;
  bool SetUp();
  void MakeReady();
  void Pass();
  void Run();
  void TearDown();
  bool TakeUp();
  void TakeNewFiles();
  void PostEndCalls(std::unique_lock<std::mutex>& lock);
  void Visit(CollectionState& collection, SteadyTime now);
  void LetGo(CollectionState& collection);
  void Schedule(SourceEntry& entry, SteadyTime now);
  void Reap(SteadyTime now);
  void Write(SteadyTime now);
  void Advance(CollectionState& collection, SteadyTime now);
  void EndPass();
  /// @p began  when this round did
  void Sleep(SteadyTime began);
  template <typename F>
  void ForEachFile(F&& f);

  Options options_;
  pthread_t thread_ = {};
  int control_fd_ = -1;
  FdIdentity control_identity_;
  std::atomic<uint64_t> cpu_ns_{0}, wakeups_{0}, bytes_{0}, peak_{0}, staged_{0}, starved_{0};

  // Drain thread only.
  std::unique_ptr<StagingPool> pool_;
  std::unique_ptr<DiskThread> disk_;
  std::unique_ptr<Writer> writer_;
  std::vector<std::shared_ptr<CollectionState>> active_;
  std::vector<std::shared_ptr<StagedFile>> orphans_;  // of abandoned collections, until their writes end
  SteadyTime last_flush_{};
  LastThread last_thread_{"npuprof-drain"};
  SteadyTime next_look_{};  // at the other threads
  bool reaped_ = false;     // a write ended in this round
  bool short_of_memory_ = false;
};

}  // namespace npuprof::drain
