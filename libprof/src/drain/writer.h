// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace npuprof::drain {

class DiskThread;

/// One write of up to kMaxParts pieces of memory to one place in one file. Belongs to the writer from
/// Submit() until Reap() gives it back.
struct WriteOp {
  static constexpr unsigned kMaxParts = 8;
  int fd = -1;
  uint64_t offset = 0;
  iovec parts[kMaxParts] = {};
  unsigned part_count = 0;
  int result = 0;           ///< bytes written, or a negative errno
  void* owner = nullptr;    ///< free for the submitter
  WriteOp* next = nullptr;  ///< free for the writer
};

/// Ops one after the other, without memory of its own: none may be left when a write ends.
class WriteQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  void Push(WriteOp* op) {
    op->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = op;
    last_ = op;
  }
  WriteOp* front() const { return first_; }
  WriteOp* Pop() {
    WriteOp* op = first_;
    if (op != nullptr) first_ = op->next;
    return op;
  }

 private:
  WriteOp *first_ = nullptr, *last_ = nullptr;
};

/// Brings bytes to disk. One thread at a time.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Takes @p op, which is written from the next Kick() on. @return false if the queue is full: Kick, Reap, retry
  virtual bool Submit(WriteOp* op) = 0;
  /// Lets everything submitted begin.
  virtual void Kick() = 0;
  /// A finished op with its result, or null.
  virtual WriteOp* Reap() = 0;
  /// Readable when Reap() has something, or -1.
  virtual int PollFd() const = 0;
  /// Without PollFd(): true if the writer calls whoever waits when Reap() has something, false if ops are always finished
  /// after Kick().
  virtual bool Calls() const { return false; }
  /// Ops submitted and not reaped.
  virtual unsigned in_flight() const = 0;
};

/// As pwritev(2).
using PwritevCall = std::function<ssize_t(int fd, const iovec* parts, int part_count, off_t offset)>;

/// Writes with pwritev on @p thread, which outlives the writer; where that does not work, in Kick().
/// @param call  what writes; for tests
std::unique_ptr<Writer> MakePwritevWriter(DiskThread* thread, PwritevCall call = pwritev);

/// Writes through an io_uring whose kernel workers are limited to one of each kind. If @p base is set and
/// the limit on locked memory allows it, that memory is registered for O_DIRECT writes.
/// @param why  set when null is returned (io_uring is not allowed or too old), or when memory could not be
///             registered
std::unique_ptr<Writer> MakeUringWriter(std::byte* base, size_t bytes, std::string* why);

}  // namespace npuprof::drain
