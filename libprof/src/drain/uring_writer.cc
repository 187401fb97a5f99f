// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <liburing.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>

#include "drain/fork_guard.h"
#include "drain/writer.h"

namespace npuprof::drain {
namespace {

constexpr unsigned kEntries = 64;

class UringWriter final : public Writer {
 public:
  static std::unique_ptr<Writer> Make(std::byte* base, size_t bytes, std::string* why) {
    auto writer = std::unique_ptr<UringWriter>(new UringWriter);
    int error;
    {
      const FdChange opening;
      error = io_uring_queue_init(kEntries, &writer->ring_, 0);
      if (error == 0) GuardFd(writer->ring_.ring_fd);
    }
    if (error < 0) {
      *why = fmt::format("io_uring is not available ({})", std::strerror(-error));
      return nullptr;
    }
    writer->open_ = true;
    writer->ring_fd_ = writer->ring_.ring_fd;
    struct stat st;
    if (fstat(writer->ring_fd_, &st) == 0) {
      writer->device_ = st.st_dev;
      writer->inode_ = st.st_ino;
    }
    // Writes that would block are handed to kernel workers, which are threads of this process; one of each
    // kind is enough, and zero would mean "leave the limit alone".
    unsigned workers[2] = {1, 1};
    error = io_uring_register_iowq_max_workers(&writer->ring_, workers);
    if (error < 0) {
      *why =
          fmt::format("io_uring of this kernel cannot limit its worker threads ({})", std::strerror(-error));
      return nullptr;
    }
    if (base != nullptr) {
      iovec whole{base, bytes};
      error = io_uring_register_buffers(&writer->ring_, &whole, 1);
      if (error < 0) {
        *why = fmt::format("staging memory could not be registered ({})", std::strerror(-error));
      } else {
        writer->base_ = base;
        writer->bytes_ = bytes;
      }
    }
    return writer;
  }

  ~UringWriter() override {
    if (!open_) return;
    struct stat st;
    const bool ours = fstat(ring_fd_, &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
    if (!ours) ring_.ring_fd = -1;  // whoever has the number now keeps it
    UnguardFd(ring_fd_);
    io_uring_queue_exit(&ring_);
  }

  bool Submit(WriteOp* op) override {
    if (in_flight_ >= kEntries) return false;
    if (lost_) {
      Refuse(op);
      ++in_flight_;
      return true;
    }
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return false;
    const iovec& first = op->parts[0];
    if (op->part_count > 1) {
      io_uring_prep_writev(sqe, op->fd, op->parts, op->part_count, op->offset);
    } else if (Registered(first)) {
      io_uring_prep_write_fixed(sqe, op->fd, first.iov_base, static_cast<unsigned>(first.iov_len), op->offset,
                                0);
    } else {
      io_uring_prep_write(sqe, op->fd, first.iov_base, static_cast<unsigned>(first.iov_len), op->offset);
    }
    io_uring_sqe_set_data(sqe, op);
    ++in_flight_;
    waiting_.push_back(op);
    return true;
  }

  void Kick() override {
    while (!waiting_.empty()) {
      const int n = io_uring_submit(&ring_);
      if (n == -EINTR) continue;
      if (n == -EBADF || n == -EOPNOTSUPP) {
        // The program closed descriptors that are not its own, this one among them: nothing goes in any more.
        lost_ = true;
        for (WriteOp* op : waiting_) Refuse(op);
        waiting_.clear();
        return;
      }
      if (n <= 0) return;  // short of memory: the next round submits the rest
      waiting_.erase(waiting_.begin(), waiting_.begin() + std::min<ptrdiff_t>(n, std::ssize(waiting_)));
    }
  }

  WriteOp* Reap() override {
    if (!refused_.empty()) {
      WriteOp* op = refused_.front();
      refused_.pop_front();
      --in_flight_;
      return op;
    }
    io_uring_cqe* cqe = nullptr;
    if (in_flight_ == 0 || io_uring_peek_cqe(&ring_, &cqe) != 0) return nullptr;
    auto* op = static_cast<WriteOp*>(io_uring_cqe_get_data(cqe));
    op->result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    --in_flight_;
    return op;
  }

  int PollFd() const override { return ring_.ring_fd; }
  unsigned in_flight() const override { return in_flight_; }

 private:
  UringWriter() = default;
  void Refuse(WriteOp* op) {
    op->result = -EBADF;
    refused_.push_back(op);
  }
  bool Registered(const iovec& part) const {
    const auto* start = static_cast<std::byte*>(part.iov_base);
    return base_ != nullptr && start >= base_ && start + part.iov_len <= base_ + bytes_;
  }

  io_uring ring_ = {};
  bool open_ = false;
  int ring_fd_ = -1;
  dev_t device_ = 0;  // with inode_: what the descriptor was opened as
  ino_t inode_ = 0;
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  unsigned in_flight_ = 0;
  std::deque<WriteOp*> waiting_;  // in the queue, not yet submitted
  std::deque<WriteOp*> refused_;  // never to be submitted
  bool lost_ = false;             // the descriptor is not ours any more
};

}  // namespace

std::unique_ptr<Writer> MakeUringWriter(std::byte* base, size_t bytes, std::string* why) {
  return UringWriter::Make(base, bytes, why);
}

}  // namespace npuprof::drain
