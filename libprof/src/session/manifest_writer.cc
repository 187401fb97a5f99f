// SPDX-License-Identifier: Apache-2.0
#include "session/manifest_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "drain/storage.h"

namespace npuprof {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

}  // namespace

bool MeansDiskIsFull(const Status& status) {
  return !status.ok() && (status.error == ENOSPC || status.error == EDQUOT);
}

drain::Progress Session::ManifestWriter::Poll(const drain::Pass& pass) {
  if (pass.final) return {};  // the complete one follows
  const auto now = std::chrono::steady_clock::now();
  const drain::Cost cost = session_.collection_->cost();
  const double passed = std::chrono::duration<double>(now - rated_at_).count();
  // What comes, whether it can be written or not. While staging is full that is not seen: the last rate holds.
  if (rated_at_ != SteadyTime{} && passed > 0 && cost.starved == rated_.starved) {
    session_.bytes_per_second_ =
        static_cast<uint64_t>(static_cast<double>(cost.bytes_staged - rated_.bytes_staged) / passed);
  }
  rated_at_ = now;
  rated_ = cost;
  Ask();
  return {};
}

bool Session::ManifestWriter::Tell(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  uint64_t wish = 0;
  if (!session_.collection_->Run([&] { wish = Ask(); }, patience).ok()) return false;
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return written_ >= wish; });
}

uint64_t Session::ManifestWriter::written() const {
  std::lock_guard lock(mutex_);
  return written_;
}

uint64_t Session::ManifestWriter::Ask() {
  ++asked_;
  if (!writing_) Write();
  return asked_;
}

void Session::ManifestWriter::Write() {
  const auto manifest = std::make_shared<const trace::Manifest>(session_.Describe());
  const auto status = std::make_shared<Status>(
      Status::Fail(ErrorKind::kIo, "the manifest is not written: there is no memory for its text", ENOMEM));
  session_.collection_->Call(
      drain::FileCall::kManifest,
      [manifest, status, kept = session_.kept_, directory = session_.directory_,
       storage = session_.collection_->storage()] {
        if (const int fault = drain::DiskThread::Fault(); fault != 0) {
          *status = Status::Fail(
              ErrorKind::kIo,
              fmt::format("{}/manifest.json could not be written: {}", directory.own(), std::strerror(fault)),
              fault);
          return;
        }
        std::lock_guard<std::mutex> lock(kept->mutex);
        *status = trace::WriteManifest(directory, *manifest);
        if (MeansDiskIsFull(*status)) {
          // There is room that was kept for the end; the end still needs it.
          kept->end.Release();
          *status = trace::WriteManifest(directory, *manifest);
          static_cast<void>(kept->end.Take(directory.own(), kReserveBytes));
        }
        storage->MeasureRest();
      },
      [this, status, wish = asked_] { Written(wish, *status); });
  writing_ = true;
}

void Session::ManifestWriter::Written(uint64_t wish, const Status& status) {
  writing_ = false;
  if (!status.ok()) session_.Complain(status);
  {
    std::lock_guard lock(mutex_);
    written_ = wish;
  }
  changed_.notify_all();
  if (asked_ > wish) Write();
}

}  // namespace npuprof
