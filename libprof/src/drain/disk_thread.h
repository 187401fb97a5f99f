// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>

namespace npuprof::drain {

/// Calls to the file system other than writes of records.
enum class FileCall {
  kOpen,      ///< a slice begins
  kFinish,    ///< a slice gets its size and its .done, and a line in the list
  kRemove,    ///< slices go, or room that was kept
  kManifest,  ///< the manifest is replaced
};

/// Makes the calls that take as long as the disk likes, one after the other, on a thread of its own ("npuprof-writer", with
/// the signal mask of its maker), so that the drain thread goes on visiting sources:
///
///     drain thread | visits | Post(open) | visits ... visits | Reap(): goes on with the file
///     disk thread  |        | open ......................... |
///
/// Where no thread can be made the calls are made in Post(). One thread at a time may use the object.
class DiskThread {
 public:
  using Call = std::function<void()>;
  /// @param finished  called on the thread after each call; may be empty
  /// @param before  called on the thread before each call that Post() was given; for tests that hold them up. What it returns is
  ///                Fault() in that call.
  explicit DiskThread(Call finished, std::function<int(FileCall)> before = nullptr);
  /// Waits for what was posted.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  /// False where no thread could be made.
  bool works() const { return threaded_; }
  /// Has @p call made. @p then is called in Reap(), also where there was no memory for all of @p call.
  void Post(FileCall kind, Call call, Call then);
  /// Within a call: the errno with which it is to fail, as if the disk had it; 0 outside tests.
  static int Fault();
  /// The same for a write, which nobody holds up and nobody hears of.
  void PostWrite(Call call);
  /// Goes on with one call that ended. False if none did.
  bool Reap();
  /// Nothing that Post() was given is left.
  bool idle() const { return pending_ == 0; }
  uint64_t cpu_ns() const { return cpu_ns_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    Call call, then;
  };
  static void* Entry(void* self);
  void Run();
  void Add(std::list<Job> job);
  void Do(std::list<Job> job);

  const Call finished_;
  const std::function<int(FileCall)> before_;
  pthread_t thread_ = {};
  bool threaded_ = false;
  size_t pending_ = 0;
  std::atomic<uint64_t> cpu_ns_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  // A job moves from one to the other in its node: there may be no memory when a call ends.
  std::list<Job> queued_, done_;
  bool stop_ = false;
};

}  // namespace npuprof::drain
