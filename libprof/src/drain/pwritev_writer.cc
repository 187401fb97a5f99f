// SPDX-License-Identifier: Apache-2.0
#include <sys/uio.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <utility>

#include "drain/disk_thread.h"
#include "drain/writer.h"

namespace npuprof::drain {
namespace {

class PwritevWriter final : public Writer {
 public:
  PwritevWriter(DiskThread* thread, PwritevCall call) : thread_(thread), call_(std::move(call)) {}

  bool Submit(WriteOp* op) override {
    submitted_.push_back(op);
    return true;
  }

  void Kick() override {
    for (; !submitted_.empty(); submitted_.pop_front()) {
      WriteOp* op = submitted_.front();
      thread_->PostWrite([this, op] { Write(op); });
      ++pending_;
    }
  }

  WriteOp* Reap() override {
    std::lock_guard lock(mutex_);
    if (done_.empty()) return nullptr;
    WriteOp* op = done_.front();
    done_.pop_front();
    --pending_;
    return op;
  }

  int PollFd() const override { return -1; }
  bool Calls() const override { return thread_->works(); }
  unsigned in_flight() const override { return static_cast<unsigned>(submitted_.size() + pending_); }

 private:
  void Write(WriteOp* op) {
    ssize_t n;
    do {
      n = call_(op->fd, op->parts, static_cast<int>(op->part_count), static_cast<off_t>(op->offset));
    } while (n < 0 && errno == EINTR);
    op->result = n < 0 ? -errno : static_cast<int>(n);
    std::lock_guard lock(mutex_);
    done_.push_back(op);
  }

  DiskThread* const thread_;
  const PwritevCall call_;
  std::deque<WriteOp*> submitted_;  // not kicked yet
  size_t pending_ = 0;              // kicked and not reaped

  std::mutex mutex_;
  std::deque<WriteOp*> done_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Writer> MakePwritevWriter(DiskThread* thread, PwritevCall call) {
  return std::make_unique<PwritevWriter>(thread, std::move(call));
}

}  // namespace npuprof::drain
