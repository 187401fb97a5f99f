// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

namespace npuprof {

/// Held by the one thread that begins or ends something. Unlike a mutex it knows when its holder is inside a callback of
/// the program: that may be waiting for the very thread which waits here, so such waits have an end.
class ControlLock {
 public:
  using Clock = std::chrono::steady_clock;

  bool try_lock() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (held_) return false;
    held_ = true;
    return true;
  }
  void lock() {
    std::unique_lock<std::mutex> lock(mutex_);
    free_.wait(lock, [&] { return !held_; });
    held_ = true;
  }
  /// False once the holder has been inside callbacks for @p patience.
  bool LockUnlessInCallback(Clock::duration patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (held_) {
      if (calling_ && Clock::now() - calling_since_ >= patience) return false;
      if (calling_) {
        free_.wait_until(lock, calling_since_ + patience);
      } else {
        free_.wait(lock);
      }
    }
    held_ = true;
    return true;
  }
  void unlock() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      held_ = false;
    }
    free_.notify_all();
  }

  /// While one lives its holder is inside callbacks.
  class Calling {
   public:
    explicit Calling(ControlLock& lock) : lock_(lock) { Set(true); }
    ~Calling() { Set(false); }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    void Set(bool calling) {
      {
        const std::lock_guard<std::mutex> lock(lock_.mutex_);
        lock_.calling_ = calling;
        lock_.calling_since_ = Clock::now();
      }
      lock_.free_.notify_all();  // who waits without an end must look at the clock now
    }
    ControlLock& lock_;
  };

  /// In a forked child, where its holder does not exist.
  void RenewInChild() { new (this) ControlLock; }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool held_ = false;
  bool calling_ = false;
  Clock::time_point calling_since_{};
};

}  // namespace npuprof
