// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/uio.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "drain/writer.h"

namespace npuprof::drain {
namespace {

// A write to a disk that does not answer takes as long as the disk likes. Meanwhile sources have to be visited, so a thread
// of its own writes.
class PwritevWriter final : public Writer {
 public:
  PwritevWriter(std::function<void()> finished, PwritevCall call)
      : finished_(std::move(finished)), call_(std::move(call)) {
    threaded_ = pthread_create(&thread_, nullptr, Entry, this) == 0;
  }
  ~PwritevWriter() override {
    if (!threaded_) return;
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    pthread_join(thread_, nullptr);
  }

  bool Submit(WriteOp* op) override {
    submitted_.push_back(op);
    return true;
  }

  void Kick() override {
    if (!threaded_) {
      for (; !submitted_.empty(); submitted_.pop_front()) {
        Write(submitted_.front());
        done_.push_back(submitted_.front());
      }
      return;
    }
    if (submitted_.empty()) return;
    {
      std::lock_guard lock(mutex_);
      queued_.insert(queued_.end(), submitted_.begin(), submitted_.end());
      pending_ += submitted_.size();
    }
    submitted_.clear();
    changed_.notify_one();
  }

  WriteOp* Reap() override {
    std::lock_guard lock(mutex_);
    if (done_.empty()) return nullptr;
    WriteOp* op = done_.front();
    done_.pop_front();
    if (threaded_) --pending_;
    return op;
  }

  int PollFd() const override { return -1; }
  bool Calls() const override { return threaded_; }
  unsigned in_flight() const override {
    return static_cast<unsigned>(submitted_.size() + (threaded_ ? pending_ : done_.size()));
  }
  uint64_t cpu_ns() const override { return cpu_ns_.load(std::memory_order_relaxed); }

 private:
  static void* Entry(void* self) {
    pthread_setname_np(pthread_self(), "npuprof-writer");
    static_cast<PwritevWriter*>(self)->Run();
    return nullptr;
  }

  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stop_ || !queued_.empty(); });
      if (queued_.empty()) return;
      WriteOp* op = queued_.front();
      queued_.pop_front();
      lock.unlock();
      Write(op);
      timespec cpu{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
      cpu_ns_.store(static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec),
                    std::memory_order_relaxed);
      lock.lock();
      done_.push_back(op);
      lock.unlock();
      if (finished_) finished_();
      lock.lock();
    }
  }

  void Write(WriteOp* op) {
    ssize_t n;
    do {
      n = call_(op->fd, op->parts, static_cast<int>(op->part_count), static_cast<off_t>(op->offset));
    } while (n < 0 && errno == EINTR);
    op->result = n < 0 ? -errno : static_cast<int>(n);
  }

  const std::function<void()> finished_;
  const PwritevCall call_;
  pthread_t thread_ = {};
  bool threaded_ = false;
  std::deque<WriteOp*> submitted_;  // not kicked yet
  size_t pending_ = 0;              // kicked and not reaped
  std::atomic<uint64_t> cpu_ns_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<WriteOp*> queued_, done_;
  bool stop_ = false;
};

}  // namespace

std::unique_ptr<Writer> MakePwritevWriter(std::function<void()> finished, PwritevCall call) {
  return std::make_unique<PwritevWriter>(std::move(finished), std::move(call));
}

}  // namespace npuprof::drain
