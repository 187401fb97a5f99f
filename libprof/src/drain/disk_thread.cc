// SPDX-License-Identifier: Apache-2.0
#include "drain/disk_thread.h"

#include <time.h>

#include <new>
#include <utility>

namespace npuprof::drain {
namespace {

constinit thread_local int t_fault = 0;

}  // namespace

int DiskThread::Fault() {
  return t_fault;
}

DiskThread::DiskThread(Call finished, std::function<int(FileCall)> before)
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
      t_fault = before_(kind);
      call();
      t_fault = 0;
    };
  }
  std::list<Job> job;
  job.push_back({std::move(call), std::move(then)});
  ++pending_;
  Add(std::move(job));
}

void DiskThread::PostWrite(Call call) {
  std::list<Job> job;
  job.push_back({std::move(call), nullptr});
  Add(std::move(job));
}

void DiskThread::Add(std::list<Job> job) {
  if (!threaded_) return Do(std::move(job));
  {
    std::lock_guard lock(mutex_);
    queued_.splice(queued_.end(), job);
  }
  changed_.notify_one();
}

bool DiskThread::Reap() {
  std::list<Job> job;
  {
    std::lock_guard lock(mutex_);
    if (done_.empty()) return false;
    job.splice(job.end(), done_, done_.begin());
  }
  --pending_;
  job.front().then();
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
    std::list<Job> job;
    job.splice(job.end(), queued_, queued_.begin());
    lock.unlock();
    Do(std::move(job));
    timespec cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    cpu_ns_.store(static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec),
                  std::memory_order_relaxed);
    lock.lock();
  }
}

void DiskThread::Do(std::list<Job> job) {
  try {
    job.front().call();
  } catch (const std::bad_alloc&) {
    // An exception that leaves a thread ends the program. What the call did not say it did, it did not do.
  }
  job.front().call = nullptr;  // what it holds on to ends here
  if (job.front().then) {
    std::lock_guard lock(mutex_);
    done_.splice(done_.end(), job);
  }
  if (finished_) finished_();
}

}  // namespace npuprof::drain
