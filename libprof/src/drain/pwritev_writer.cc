// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <deque>

#include "drain/writer.h"

namespace npuprof::drain {
namespace {

// The write happens in Kick() and not in Submit(), so that a slow disk holds up the drain thread between
// visits to sources and never inside one.
class PwritevWriter final : public Writer {
 public:
  bool Submit(WriteOp* op) override {
    queued_.push_back(op);
    return true;
  }

  void Kick() override {
    while (!queued_.empty()) {
      WriteOp* op = queued_.front();
      queued_.pop_front();
      ssize_t n;
      do {
        n = pwritev(op->fd, op->parts, static_cast<int>(op->part_count), static_cast<off_t>(op->offset));
      } while (n < 0 && errno == EINTR);
      op->result = n < 0 ? -errno : static_cast<int>(n);
      done_.push_back(op);
    }
  }

  WriteOp* Reap() override {
    if (done_.empty()) return nullptr;
    WriteOp* op = done_.front();
    done_.pop_front();
    return op;
  }

  int PollFd() const override { return -1; }
  unsigned in_flight() const override { return static_cast<unsigned>(queued_.size() + done_.size()); }

 private:
  std::deque<WriteOp*> queued_, done_;
};

}  // namespace

std::unique_ptr<Writer> MakePwritevWriter() {
  return std::make_unique<PwritevWriter>();
}

}  // namespace npuprof::drain
