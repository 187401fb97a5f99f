// SPDX-License-Identifier: Apache-2.0
// The files on disk behind a StagedFile: opened with their slice, and finished with it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "drain/fork_guard.h"
#include "drain/staged_file.h"

namespace npuprof::drain {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kNoteBytes = kBlock;            // a .done
constexpr uint64_t kAround = kNoteBytes + kBlock;  // and what a file system keeps about a file
constexpr std::chrono::milliseconds kRoomRetry{5};

uint64_t WholeBlocks(uint64_t bytes) {
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

uint64_t Allocated(const struct stat& st) {
  return static_cast<uint64_t>(st.st_blocks) * 512;
}

}  // namespace

std::string StagedFile::SlicePath(const Slice& slice) const {
  return fmt::format("{}.slice_{}", path_, slice.index);
}

void StagedFile::Call(FileCall kind, std::function<void()> call, std::function<void()> then) {
  station_->disk->Post(kind, std::move(call), [self = shared_from_this(), then = std::move(then)] {
    --self->calls_;
    then();
  });
  ++calls_;
}

/// How an open ended.
struct StagedFile::Opened {
  int fd = -1;
  int error = ENOMEM;  // until the call was made
  bool through_cache = false;
  int unset = 0;  // why it has not got its size
  struct stat st = {};

  void Open(const std::string& path, bool direct, uint64_t size);
};

void StagedFile::Opened::Open(const std::string& path, bool direct, uint64_t size) {
  error = DiskThread::Fault();
  if (error != 0) return;
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const auto open_guarded = [&](int how) {
    const FdChange opening;
    fd = open(path.c_str(), how, 0640);
    error = fd < 0 ? errno : 0;
    if (fd >= 0) GuardFd(fd);
  };
  if (direct) open_guarded(flags | O_DIRECT);
  through_cache = direct && fd < 0 && error == EINVAL;
  if (fd < 0) open_guarded(flags);
  if (fd < 0) return;
  // The full size from the start spares the file system an extension per write; cut again in FinishSlice().
  if (direct && ftruncate(fd, static_cast<off_t>(size)) != 0) unset = errno;
  static_cast<void>(fstat(fd, &st));
}

void StagedFile::OpenSliceFile(const std::shared_ptr<Slice>& slice) {
  if (slice->opening) return;
  const auto opened = std::make_shared<Opened>();
  Call(
      FileCall::kOpen,
      [opened, path = SlicePath(*slice), direct = station_->direct, size = WholeBlocks(slice->limit)] {
        opened->Open(path, direct, size);
      },
      [this, slice, opened] { SliceOpened(slice.get(), *opened); });
  slice->opening = true;
}

void StagedFile::SliceOpened(Slice* slice, const Opened& opened) {
  const Clock::time_point now = Clock::now();
  slice->opening = false;
  slice->fd = opened.fd;
  slice->device = opened.st.st_dev;
  slice->inode = opened.st.st_ino;
  if (opened.fd < 0) {
    Trouble(opened.error, now);
    return Pump(now);
  }
  ++slices_;
  slice->begun = true;
  if (ages_) storage_->Begun();
  if (opened.through_cache) {
    message_(Severity::kInfo, "no-direct",
             fmt::format("the file system of {} does not take O_DIRECT, its files go through the page cache",
                         SlicePath(*slice)));
  }
  if (opened.unset != 0) {
    message_(
        Severity::kInfo, "no-preset",
        fmt::format("{} could not be given its size: {}", SlicePath(*slice), std::strerror(opened.unset)));
  }
  Pump(now);
}

bool StagedFile::TakeRoom(Slice* slice, uint64_t end, Clock::time_point now) {
  const uint64_t most = WholeBlocks(end) * (grows_ahead_ ? 2 : 1) + kAround;
  const auto verdict =
      most <= slice->charged ? Storage::Verdict::kGo : storage_->Take(most - slice->charged, ages_);
  SetWaiting(verdict == Storage::Verdict::kWait);
  switch (verdict) {
    case Storage::Verdict::kGo:
      slice->charged = std::max(slice->charged, most);
      return true;
    case Storage::Verdict::kWait:
      retry_at_ = now + kRoomRetry;
      return false;
    case Storage::Verdict::kExhausted:
      Pump(now);  // ends the file
      return false;
  }
  return false;
}

void StagedFile::SetWaiting(bool waiting) {
  if (waiting_ == waiting) return;
  waiting_ = waiting;
  if (ages_) storage_->Waits(waiting);
}

bool StagedFile::StillOurs(Slice* slice) {
  struct stat st;
  if (fstat(slice->fd, &st) == 0 && st.st_dev == slice->device && st.st_ino == slice->inode) {
    const uint64_t taken = Allocated(st) + kAround;
    if (taken > slice->charged) {
      if (Allocated(st) > WholeBlocks(static_cast<uint64_t>(st.st_size)) + kAround) grows_ahead_ = true;
      storage_->Correct(slice->charged, taken, ages_);
      slice->charged = taken;
    }
    return true;
  }
  UnguardFd(slice->fd);
  slice->fd = -1;
  return false;
}

/// How a slice ended.
struct StagedFile::Ended {
  int fd = -1;
  std::string path, text;  // of the .done
  bool cut = false, mark_done = false;
  off_t bytes = 0;
  int error = 0, note_error = 0;
  uint64_t taken = 0;

  void Finish();
};

void StagedFile::Ended::Finish() {
  if (fd >= 0) {
    if (cut && ftruncate(fd, bytes) != 0) error = errno;
    const FdChange closing;
    UnguardFd(fd);
    if (close(fd) != 0 && error == 0) error = errno;
    if (error == 0) error = DiskThread::Fault();
  }
  if (fd >= 0 && error == 0 && mark_done) note_error = WriteNote(path + ".done", text);
  struct stat st;
  taken = lstat(path.c_str(), &st) == 0 ? Allocated(st) + kNoteBytes : 0;
}

void StagedFile::FinishSlice(const std::shared_ptr<Slice>& slice, bool cut, bool mark_done) {
  const bool open = slice->fd >= 0 && StillOurs(slice.get());
  if (slice->charged == 0) {  // never written
    if (slice->begun) storage_->Drop(0, ages_);
    return;
  }
  const auto ended = std::make_shared<Ended>();
  ended->fd = open ? slice->fd : -1;
  ended->path = SlicePath(*slice);
  ended->text = fmt::format("filesize:{}\nstarttime:0\nendtime  :0\n", slice->bytes);
  ended->cut = cut;
  ended->mark_done = mark_done;
  ended->bytes = static_cast<off_t>(slice->bytes);
  ended->taken = slice->charged;
  Call(
      FileCall::kFinish, [ended] { ended->Finish(); },
      [this, slice, ended] { SliceFinished(slice.get(), *ended); });
  slice->fd = -1;
}

void StagedFile::SliceFinished(Slice* slice, const Ended& ended) {
  storage_->Correct(slice->charged, ended.taken, ages_);
  SliceEntry entry{slice->bytes, slice->records, slice->cut ? std::nullopt : std::optional(slice->crc)};
  storage_->Finish({ended.path, entry, slice->generation, ended.taken, ages_, aged_});
  if (ended.error != 0) {
    message_(Severity::kError, "cut",
             fmt::format("{} could not be finished: {}", ended.path, std::strerror(ended.error)));
  }
  const std::string done = ended.path + ".done";
  if (ended.note_error == ENOSPC || ended.note_error == EDQUOT) {
    storage_->LeaveNote(done, ended.text);
  } else if (ended.note_error != 0) {
    message_(Severity::kWarning, "done",
             fmt::format("{} could not be written ({}); the records beside it are whole", done,
                         std::strerror(ended.note_error)));
  }
}

void StagedFile::DropSlice(const std::shared_ptr<Slice>& slice) {
  Call(
      FileCall::kRemove,
      [fd = slice->fd, path = SlicePath(*slice)] {
        unlink(path.c_str());
        const FdChange closing;
        UnguardFd(fd);
        close(fd);
      },
      [this, charged = slice->charged] { storage_->Drop(charged, ages_); });
  slice->fd = -1;
  --slices_;
}

}  // namespace npuprof::drain
