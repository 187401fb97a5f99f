// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace npuprof {

/// A mutex that a thread can ask whether it holds it itself. A fork from a signal handler must know: it would wait for
/// itself.
class OwnedMutex {
 public:
  void lock() {
    mutex_.lock();
    owner_.store(Self(), std::memory_order_relaxed);
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    owner_.store(Self(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }
  /// Held before and after. False if @p condition does not hold after @p patience.
  template <typename Duration, typename Condition>
  bool WaitFor(std::condition_variable& changed, Duration patience, Condition&& condition) {
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    owner_.store(nullptr, std::memory_order_relaxed);
    const bool held = changed.wait_for(lock, patience, condition);
    owner_.store(Self(), std::memory_order_relaxed);
    lock.release();
    return held;
  }
  bool IsMine() const { return owner_.load(std::memory_order_relaxed) == Self(); }

 private:
  // Initial-exec: reading its address never allocates.
  __attribute__((tls_model("initial-exec"))) static thread_local char t_self;
  static const void* Self() { return &t_self; }

  std::mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
};

inline thread_local char OwnedMutex::t_self = 0;

}  // namespace npuprof
