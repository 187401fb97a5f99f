// SPDX-License-Identifier: Apache-2.0
#include "drain/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "drain/fork_guard.h"

namespace npuprof::drain {
namespace {

// Kept free below the limit for what is written around the records: the next manifest beside the present one, a device
// that is opened, directories that grow.
constexpr uint64_t kRestRoom = 256 << 10;
// File systems may take more than they were given, which is known only afterwards.
constexpr uint64_t kMarginShare = 64;
constexpr uint64_t kGenerationShare = 16;
constexpr uint64_t kOpenShare = 8;    // all slices being written together
constexpr unsigned kFewestFiles = 8;  // more may come
constexpr uint64_t kWorkShare = 4;
constexpr uint64_t kSmallestSlice = 16 << 10;
constexpr unsigned kMostStale = 2000;

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t BlocksOf(const std::string& path, bool* directory) {
  struct stat st;
  *directory = false;
  if (lstat(path.c_str(), &st) != 0) return 0;
  *directory = S_ISDIR(st.st_mode);
  return static_cast<uint64_t>(st.st_blocks) * 512;
}

}  // namespace

int WriteNote(const std::string& path, const std::string& text) {
  const FdChange opening;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = written ? 0 : errno != 0 ? errno : ENOSPC;
  if (fd >= 0) close(fd);
  if (!written) unlink(path.c_str());  // none rather than an empty one
  return error;
}

namespace {

bool EndsWith(const std::string& path, const char* end) {
  return path.ends_with(end);
}

// Slices and their notes are in data/, and are counted as they are written.
uint64_t RestBelow(const std::string& path) {
  bool directory;
  uint64_t bytes = BlocksOf(path, &directory);
  if (!directory || EndsWith(path, "/data")) return bytes;
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return bytes;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") bytes += RestBelow(path + "/" + name);
  }
  closedir(entries);
  return bytes;
}

}  // namespace

Storage::Storage(std::string root, uint64_t limit, Calls calls)
    : root_(std::move(root)), limit_(limit), calls_(std::move(calls)), list_(root_) {
  MeasureRest();
}

void Storage::Call(FileCall kind, std::function<void()> call, std::function<void()> then) {
  if (!calls_) {
    call();
    then();
    return;
  }
  calls_(kind, std::move(call), [self = shared_from_this(), then = std::move(then)] {
    --self->pending_;
    then();
  });
  ++pending_;
}

void Storage::MeasureRest() {
  if (!root_.empty()) rest_ = RestBelow(root_);
}

std::string Storage::LimitText() const {
  return fmt::format("{} MB", limit_ / 1'000'000);
}

std::string Storage::Relative(const std::string& path) const {
  return !root_.empty() && path.starts_with(root_ + "/") ? path.substr(root_.size() + 1) : path;
}

uint64_t Storage::SliceBytes(uint64_t wanted, bool ages) const {
  if (limit_ == 0) return wanted;
  const uint64_t share = (ages ? Share() : limit_) / (kOpenShare * std::max(files_, kFewestFiles));
  return std::min(wanted, std::max(share, kSmallestSlice));
}

// Bytes of which data that ages may take its parts: the limit, or what the rest leaves of it where that is little.
uint64_t Storage::Share() const {
  const uint64_t taken = fixed_ + 3 * rest_.load() + kRestRoom + limit_ / kMarginShare;
  const uint64_t left = limit_ - std::min(taken, limit_);
  return left < limit_ / kWorkShare ? left : limit_;
}

bool Storage::Fits(uint64_t bytes) const {
  // A manifest is replaced by one that is there already when the old one goes.
  return used_bytes() + bytes + kRestRoom + 2 * rest_.load() <= limit_ - limit_ / kMarginShare;
}

void Storage::DiskIsFull(int error) {
  if (disk_full_ != 0) return;
  disk_full_ = error;
  Call(
      FileCall::kRemove,
      [call = on_disk_full_] {
        if (call) call();
      },
      [this] { kept_room_given_ = true; });
}

unsigned Storage::WriteLeftOver() {
  list_.Flush();
  std::erase_if(notes_, [](const auto& note) { return WriteNote(note.first, note.second) == 0; });
  return static_cast<unsigned>(notes_.size());
}

Storage::Verdict Storage::Take(uint64_t bytes, bool ages) {
  if (limit_ > 0) {
    if (exhausted_) return Verdict::kExhausted;
    while (!Fits(bytes)) {
      if (removing_ > 0) return Verdict::kWait;
      if (RemoveOldest()) continue;
      // Nothing can be removed, now or when what is being written is finished, for nothing can be finished.
      if (begun_ == waiting_) {
        exhausted_ = true;
        return Verdict::kExhausted;
      }
      // So that what is being written is finished and may go. Until something is, there is nothing more to close.
      if (closed_at_ != finished_) CloseGeneration();
      closed_at_ = finished_;
      return Verdict::kWait;
    }
  }
  slices_ += bytes;
  if (!ages) fixed_ += bytes;
  return Verdict::kGo;
}

void Storage::Correct(uint64_t before, uint64_t after, bool ages) {
  slices_ += after - before;
  if (!ages) fixed_ += after - before;
}

void Storage::Drop(uint64_t charged, bool ages) {
  ++finished_;
  if (ages) --begun_;
  Correct(charged, 0, ages);
}

void Storage::Staged(uint64_t bytes) {
  staged_ += bytes;
  if (limit_ > 0 && staged_ >= Share() / kGenerationShare) CloseGeneration();
}

void Storage::CloseGeneration() {
  if (generations_.empty() || generations_.back().number != generation_) {
    generations_.push_back({generation_, 0, {}});
  }
  generations_.back().closed_ns = NowNs();
  ++generation_;
  staged_ = 0;
}

void Storage::Finish(Finished slice) {
  ++finished_;
  const std::string name = Relative(slice.path);
  Call(
      FileCall::kFinish, [this, name, entry = slice.entry] { list_.Add(name, entry); }, [] {});
  if (limit_ > 0) listed_.emplace(name, slice.entry);
  if (!slice.ages) return;
  --begun_;
  if (limit_ == 0) return;  // nothing will ever be removed
  if (slice.generation <= removed_) {
    Remove({slice});
    return;
  }
  const auto later = [&](const Generation& g) { return g.number >= slice.generation; };
  auto place = std::find_if(generations_.begin(), generations_.end(), later);
  if (place == generations_.end() || place->number != slice.generation) {
    place = generations_.insert(place, {slice.generation, 0, {}});
  }
  place->slices.push_back(std::move(slice));
}

// False if nothing is left that could go.
bool Storage::RemoveOldest() {
  while (!generations_.empty()) {
    if (generations_.front().number == generation_) CloseGeneration();
    Generation oldest = std::move(generations_.front());
    generations_.pop_front();
    removed_ = oldest.number;
    complete_from_ns_ = std::max(complete_from_ns_, oldest.closed_ns);
    if (oldest.slices.empty()) continue;
    Remove(std::move(oldest.slices));
    return true;
  }
  return false;
}

void Storage::Remove(std::vector<Finished> slices) {
  std::vector<std::string> names;
  for (const Finished& slice : slices) {
    names.push_back(Relative(slice.path));
    listed_.erase(names.back());
  }
  stale_ += 2 * static_cast<unsigned>(slices.size());
  auto rewrite =
      stale_ > kMostStale ? std::make_shared<const std::map<std::string, SliceEntry>>(listed_) : nullptr;
  if (rewrite) stale_ = 0;
  const auto gone = std::make_shared<const std::vector<Finished>>(std::move(slices));
  ++removing_;
  Call(
      FileCall::kRemove,
      [this, gone, names = std::move(names), rewrite] {
        // First the note of it: whoever finds the list and no slice knows why.
        for (const std::string& name : names) list_.Aged(name);
        list_.Flush();
        for (const Finished& slice : *gone) {
          unlink(slice.path.c_str());
          unlink((slice.path + ".done").c_str());
        }
        if (rewrite) list_.Replace(*rewrite);
      },
      [this, gone] { Removed(*gone); });
}

void Storage::Removed(const std::vector<Finished>& slices) {
  --removing_;
  for (const Finished& slice : slices) {
    slices_ -= slice.charged;
    for (Aged* aged : {&aged_, slice.aged.get()}) {
      aged->records += slice.entry.records;
      aged->bytes += slice.entry.bytes;
      ++aged->slices;
    }
  }
}

}  // namespace npuprof::drain
