// SPDX-License-Identifier: Apache-2.0
// The files on disk behind a StagedFile: opened with their slice, and finished with it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

bool StagedFile::OpenSliceFile(Slice* slice, Clock::time_point now) {
  const std::string path = SlicePath(*slice);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const auto open_guarded = [&](int how) {
    const FdChange opening;
    const int opened = open(path.c_str(), how, 0640);
    if (opened >= 0) GuardFd(opened);
    return opened;
  };
  int fd = -1;
  if (station_->direct) {
    fd = open_guarded(flags | O_DIRECT);
    if (fd < 0 && errno == EINVAL) {
      message_(
          Severity::kInfo, "no-direct",
          fmt::format("the file system of {} does not take O_DIRECT, its files go through the page cache",
                      path));
    }
  }
  if (fd < 0) fd = open_guarded(flags);
  if (fd < 0) {
    Trouble(errno, now);
    return false;
  }
  // The full size from the start spares the file system an extension per write; cut again in FinishSlice().
  if (station_->direct && ftruncate(fd, static_cast<off_t>(WholeBlocks(slice->limit))) != 0) {
    message_(Severity::kInfo, "no-preset",
             fmt::format("{} could not be given its size: {}", path, std::strerror(errno)));
  }
  slice->fd = fd;
  struct stat st;
  if (fstat(fd, &st) == 0) {
    slice->device = st.st_dev;
    slice->inode = st.st_ino;
  }
  ++slices_;
  return true;
}

bool StagedFile::TakeRoom(Slice* slice, uint64_t end, Clock::time_point now) {
  waiting_ = false;
  const uint64_t most = WholeBlocks(end) * (grows_ahead_ ? 2 : 1) + kAround;
  if (most <= slice->charged) return true;
  switch (storage_->Take(most - slice->charged, ages_)) {
    case Storage::Verdict::kGo:
      slice->charged = most;
      return true;
    case Storage::Verdict::kWait:
      waiting_ = true;
      retry_at_ = now + kRoomRetry;
      return false;
    case Storage::Verdict::kExhausted:
      Pump(now);  // ends the file
      return false;
  }
  return false;
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

void StagedFile::FinishSlice(Slice* slice, bool mark_done) {
  const std::string path = SlicePath(*slice);
  if (slice->fd >= 0 && StillOurs(slice) && CloseSlice(slice, path) && mark_done)
    LeaveNote(path, slice->bytes);
  if (slice->charged == 0) return;  // never written
  struct stat st;
  const uint64_t taken = lstat(path.c_str(), &st) == 0 ? Allocated(st) + kNoteBytes : 0;
  storage_->Correct(slice->charged, taken, ages_);
  SliceEntry entry{slice->bytes, slice->records, slice->cut ? std::nullopt : std::optional(slice->crc)};
  storage_->Finish({path, entry, slice->generation, taken, ages_, aged_});
}

bool StagedFile::CloseSlice(Slice* slice, const std::string& path) {
  bool whole = true;
  if (station_->direct) whole = ftruncate(slice->fd, static_cast<off_t>(slice->bytes)) == 0;
  {
    const FdChange closing;
    UnguardFd(slice->fd);
    whole = close(slice->fd) == 0 && whole;
  }
  slice->fd = -1;
  if (!whole) {
    message_(Severity::kError, "cut",
             fmt::format("{} could not be finished: {}", path, std::strerror(errno)));
  }
  return whole;
}

void StagedFile::LeaveNote(const std::string& path, uint64_t bytes) {
  const std::string text = fmt::format("filesize:{}\nstarttime:0\nendtime  :0\n", bytes);
  const std::string done = path + ".done";
  const int error = WriteNote(done, text);
  if (error == 0) return;
  if (error == ENOSPC || error == EDQUOT) {
    storage_->LeaveNote(done, text);
    return;
  }
  message_(Severity::kWarning, "done",
           fmt::format("{} could not be written ({}); the records beside it are whole", done,
                       std::strerror(error)));
}

}  // namespace npuprof::drain
