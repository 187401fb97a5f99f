// SPDX-License-Identifier: Apache-2.0
#include "drain/disk_thread.h"

#include <time.h>

#include <new>
#include <utility>

namespace npuprof::drain {

DiskThread::DiskThread(Call finished, std::function<void(FileCall)> before)
    : finished_(std::move(finished)), before_(std::move(before)) {
  threaded_ = pthread_create(&thread_, nullptr, Entry, this) == 0;
}

DiskThread::~DiskThread() {
  if (!threaded_) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  pthread_join(thread_, nullptr);
}

void DiskThread::Post(FileCall kind, Call call, Call then) {
  if (before_) {
    call = [this, kind, call = std::move(call)] {
      before_(kind);
      call();
    };
  }
  ++pending_;
  try {
    Add({std::move(call), std::move(then)});
  } catch (const std::bad_alloc&) {
    --pending_;
    throw;
  }
}

void DiskThread::PostWrite(Call call) {
  Add({std::move(call), nullptr});
}

void DiskThread::Add(Job job) {
  if (!threaded_) return Do(std::move(job));
  {
    std::lock_guard lock(mutex_);
    queued_.push_back(std::move(job));
  }
  changed_.notify_one();
}

bool DiskThread::Reap() {
  Job job;
  {
    std::lock_guard lock(mutex_);
    if (done_.empty()) return false;
    job = std::move(done_.front());
    done_.pop_front();
  }
  --pending_;
  job.then();
  return true;
}

void* DiskThread::Entry(void* self) {
  pthread_setname_np(pthread_self(), "npuprof-writer");
  static_cast<DiskThread*>(self)->Run();
  return nullptr;
}

void DiskThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !queued_.empty(); });
    if (queued_.empty()) return;
    Job job = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    Do(std::move(job));
    timespec cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    cpu_ns_.store(static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec),
                  std::memory_order_relaxed);
    lock.lock();
  }
}

void DiskThread::Do(Job job) {
  try {
    job.call();
  } catch (const std::bad_alloc&) {
    // An exception that leaves a thread ends the program. What the call did not say it did, it did not do.
  }
  job.call = nullptr;  // what it holds on to ends here
  if (job.then) {
    std::lock_guard lock(mutex_);
    done_.push_back(std::move(job));
  }
  if (finished_) finished_();
}

}  // namespace npuprof::drain
