// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drain/disk_thread.h"
#include "drain/writer.h"

namespace npuprof::drain {

/// A disk that does not play along: answers writes by a rule instead of doing them, cuts them short, or holds them. For
/// tests, in the process (Options::wrap_writer) or from outside (NPUPROF_DISK_FAULT).
class FaultWriter final : public Writer {
 public:
  /// Returns 0 to let the write pass, a negative errno to fail it, n > 0 to write n bytes only, kHold to keep it and
  /// be asked again.
  using Rule = std::function<int(const WriteOp&)>;
  static constexpr int kHold = INT_MIN;

  /// @p blocks  a held write holds up the thread, as a plain write to a disk that does not answer would
  FaultWriter(std::unique_ptr<Writer> inner, Rule rule, bool blocks = false)
      : inner_(std::move(inner)), rule_(std::move(rule)), blocks_(blocks) {}

  bool Submit(WriteOp* op) override;
  void Kick() override;
  WriteOp* Reap() override;
  int PollFd() const override { return done_.empty() ? inner_->PollFd() : -1; }
  bool Calls() const override { return done_.empty() && inner_->Calls(); }
  unsigned in_flight() const override;

 private:
  /// False if @p op has to wait, for the rule or for room in the queue.
  bool Try(WriteOp* op);

  std::unique_ptr<Writer> inner_;
  Rule rule_;
  const bool blocks_;
  std::deque<WriteOp*> done_, held_;
};

/// What NPUPROF_DISK_FAULT asks for; empty functions if it is not set.
struct DiskFault {
  FaultWriter::Rule rule;
  std::function<int(FileCall)>
      before_file_call;  ///< waits while the disk stalls, and gives the error of the call
};

/// Reads a comma list. Times count from this call.
///   stall=<ms>:<ms>            from so long on, for so long, no write ends and no other call that changes files
///   stall-open=<ms>:<ms>       the same for calls of one kind alone; also stall-finish, stall-remove, stall-manifest
///   error=<ms>:<ms>            from so long on, for so long, writes fail with EIO
///   error-open=<ms>:<ms>       the same for calls of one kind alone; also error-finish, error-manifest
///   full=<bytes>               there is room for so many bytes
///   short=<bytes>              no write takes more bytes than that
/// Text that is not understood gives no fault and appends a sentence to @p warnings.
DiskFault DiskFaultFromEnvironment(std::vector<std::string>* warnings);

}  // namespace npuprof::drain
