// SPDX-License-Identifier: Apache-2.0
#include <sys/uio.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

#include "drain/disk_thread.h"
#include "drain/writer.h"

namespace npuprof::drain {
namespace {

class PwritevWriter final : public Writer {
 public:
  PwritevWriter(DiskThread* thread, PwritevCall call) : thread_(thread), call_(std::move(call)) {}

  bool Submit(WriteOp* op) override {
    submitted_.Push(op);
    ++pending_;
    return true;
  }

  void Kick() override {
    while (!submitted_.empty()) {
      WriteOp* op = submitted_.Pop();
      try {
        thread_->PostWrite([this, op] { Write(op); });
      } catch (const std::bad_alloc&) {
        Done(op, -ENOMEM);  // to be tried again
      }
    }
  }

  WriteOp* Reap() override {
    std::lock_guard lock(mutex_);
    WriteOp* op = done_.Pop();
    if (op != nullptr) --pending_;
    return op;
  }

  int PollFd() const override { return -1; }
  bool Calls() const override { return thread_->works(); }
  unsigned in_flight() const override { return static_cast<unsigned>(pending_); }

 private:
  void Write(WriteOp* op) {
    ssize_t n;
    do {
      n = call_(op->fd, op->parts, static_cast<int>(op->part_count), static_cast<off_t>(op->offset));
    } while (n < 0 && errno == EINTR);
    Done(op, n < 0 ? -errno : static_cast<int>(n));
  }
  void Done(WriteOp* op, int result) {
    op->result = result;
    std::lock_guard lock(mutex_);
    done_.Push(op);
  }

  DiskThread* const thread_;
  const PwritevCall call_;
  WriteQueue submitted_;  // not kicked yet
  size_t pending_ = 0;    // not reaped

  std::mutex mutex_;
  WriteQueue done_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Writer> MakePwritevWriter(DiskThread* thread, PwritevCall call) {
  return std::make_unique<PwritevWriter>(thread, std::move(call));
}

}  // namespace npuprof::drain
