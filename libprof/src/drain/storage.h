// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drain/disk_thread.h"
#include "drain/slice_list.h"

namespace npuprof::drain {

/// What one record file has lost to the storage limit. Shared by the file and its slices on disk.
struct Aged {
  uint64_t records = 0, bytes = 0;
  unsigned slices = 0;
};

/// Writes a .done. @return errno, and then there is none
int WriteNote(const std::string& path, const std::string& text);

/// What a directory takes on disk, and the limit on it.
///
/// Everything below the root counts, in allocated blocks: directories, metadata, slices and their .done. Space is
/// taken before it is written and corrected when the file system has said what it took, so that a watcher never sees
/// more than the limit. Where there is no room the oldest data goes:
///
///     generation      1          2          3          4 (open)
///     stars_soc     [s0 s1]    [s2 s3]    [s4 s5]    [s6 ...
///     api_event     [s0   ]    [s1   ]    [s2   ]    [s3 ...
///                   removed ──▶ next
///
/// All files that age cut their slices when a generation closes, at a sixteenth of the limit, and a generation is
/// removed as a whole: so what belongs together goes together. Dictionaries and other data that do not age are never
/// removed. Where they leave less than a quarter of the limit, slices and generations shrink with what is left; where they
/// leave no room for what has been begun, the collection ends.
///
/// Drain thread, except used_bytes() and MeasureRest(). What the disk may hold up is left to another one; until it is done
/// there, the space is taken.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  /// Has a call made where it holds up nobody, then goes on on the drain thread.
  using Calls = std::function<void(FileCall, std::function<void()> call, std::function<void()> then)>;

  /// @p root  directory that counts, "" for none
  /// @p limit  bytes; 0 for none
  /// @p calls  empty: they are made at once
  Storage(std::string root, uint64_t limit, Calls calls = nullptr);

  /// What a finished slice was.
  struct Finished {
    std::string path;  ///< with the slice suffix
    SliceEntry entry;
    unsigned generation = 0;
    uint64_t charged = 0;  ///< bytes of the disk, with its .done
    bool ages = false;
    std::shared_ptr<Aged> aged;
  };

  enum class Verdict {
    kGo,         ///< the bytes are taken
    kWait,       ///< something has to be finished first; ask again in some milliseconds
    kExhausted,  ///< what never ages has used up the limit; nothing is written any more
  };
  /// Takes @p bytes for a slice that is being written, making room if needed.
  Verdict Take(uint64_t bytes, bool ages);
  /// A slice that ages was opened. Finish() or Drop() follows.
  void Begun() { ++begun_; }
  /// A file begins or ceases to wait for room for its slice, which ages.
  void Waits(bool waits) { waiting_ = waits ? waiting_ + 1 : waiting_ - 1; }
  /// A slice that is being written takes so many bytes after all.
  void Correct(uint64_t before, uint64_t after, bool ages);
  /// A slice is finished; what it takes stays taken. It may be removed soon.
  void Finish(Finished slice);
  /// A slice that took @p charged was removed unfinished.
  void Drop(uint64_t charged, bool ages);

  /// A file gets its first record, or its last.
  void FileOpened() { ++files_; }
  void FileClosed() { --files_; }
  /// Largest slice for now: @p wanted, or less where many files share a small limit, or what is left of it.
  uint64_t SliceBytes(uint64_t wanted, bool ages) const;
  /// Bytes of a file that ages were staged.
  void Staged(uint64_t bytes);
  unsigned generation() const { return generation_; }

  bool exhausted() const { return exhausted_; }
  /// The file system has no room left and memory is full of what waits for it: collection ends. Files that age end where
  /// they are. @p error: ENOSPC or EDQUOT
  void DiskIsFull(int error);
  /// What DiskIsFull() was told, 0 while there is room.
  int disk_full() const { return disk_full_; }
  /// The room that was kept for what readers cannot do without is there.
  bool kept_room_given() const { return kept_room_given_; }
  /// Nothing that was asked of the disk is left.
  bool idle() const { return pending_ == 0; }
  /// A .done that found no room.
  void LeaveNote(std::string path, std::string text) { notes_.push_back({std::move(path), std::move(text)}); }
  /// Writes what found no room before, once there is some. After Collection::Finish(). @return how much still found none
  unsigned WriteLeftOver();
  /// Called at DiskIsFull(), to give back room that was kept for what readers cannot do without.
  void OnDiskFull(std::function<void()> call) { on_disk_full_ = std::move(call); }
  /// "200 MB"
  std::string LimitText() const;

  const std::string& root() const { return root_; }
  uint64_t limit() const { return limit_; }
  uint64_t used_bytes() const { return slices_.load() + rest_.load(); }
  /// All that was removed, and the moment from which on nothing is missing (CLOCK_MONOTONIC_RAW; 0 if nothing was).
  const Aged& aged() const { return aged_; }
  uint64_t complete_from_ns() const { return complete_from_ns_; }

  /// Counts again what is not slices: directories and small files. Any thread.
  void MeasureRest();

 private:
  struct Generation {
    unsigned number = 0;
    uint64_t closed_ns = 0;  // 0: open
    std::vector<Finished> slices;
  };

  bool Fits(uint64_t bytes) const;
  uint64_t Share() const;
  void CloseGeneration();
  bool RemoveOldest();
  void Remove(std::vector<Finished> slices);
  void Removed(const std::vector<Finished>& slices);
  void Call(FileCall kind, std::function<void()> call, std::function<void()> then);
  std::string Relative(const std::string& path) const;

  const std::string root_;
  const uint64_t limit_;
  const Calls calls_;
  SliceList list_;        // for whoever makes the calls
  unsigned pending_ = 0;  // calls
  unsigned removing_ = 0;
  uint64_t finished_ = 0;            // slices so far
  uint64_t closed_at_ = UINT64_MAX;  // what that was when a generation was closed for want of room
  std::atomic<uint64_t> slices_{0}, rest_{0};
  uint64_t fixed_ = 0;    // of slices: what never ages
  unsigned begun_ = 0;    // slices that age and are being written
  unsigned waiting_ = 0;  // of these: those that cannot be finished for want of room
  unsigned files_ = 0;
  unsigned generation_ = 1;
  unsigned removed_ = 0;  // newest generation that was removed
  uint64_t staged_ = 0;   // in this generation
  std::deque<Generation> generations_;
  std::map<std::string, SliceEntry> listed_;  // finished slices that are there
  unsigned stale_ =
      0;  // lines of the list that say nothing any more: slices that were removed, and their removal
  bool exhausted_ = false;
  int disk_full_ = 0;
  bool kept_room_given_ = false;
  std::function<void()> on_disk_full_;
  std::vector<std::pair<std::string, std::string>> notes_;
  Aged aged_;
  uint64_t complete_from_ns_ = 0;
};

}  // namespace npuprof::drain
