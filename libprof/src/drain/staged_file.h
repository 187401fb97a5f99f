// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "drain/disk_thread.h"
#include "drain/drain.h"
#include "drain/ledger.h"
#include "drain/staging_pool.h"
#include "drain/storage.h"
#include "drain/writer.h"

namespace npuprof::drain {

/// What the files of one drain share. Drain thread only.
struct Station {
  StagingPool* pool = nullptr;
  Writer* writer = nullptr;
  DiskThread* disk = nullptr;
  bool direct = false;
  bool starved = false;  ///< a file wanted a block and found none since this was last cleared
  bool staged = false;   ///< something was staged since the last flush
  bool called = false;   ///< a call to the file system ended in this round
  uint64_t bytes_written = 0, bytes_staged = 0;
};

/// Largest unit of a file without record size.
inline constexpr size_t kMaxUnitBytes = size_t{512} << 10;
/// Largest fixed record.
inline constexpr size_t kMaxRecordBytes = 4096;

/// One logical output: a stream of records (or units) that is staged in blocks and lands in slices
/// <path>.slice_<k>, each ending on a record border. Drain thread only, except construction and, after the
/// collection finished, the counts.
///
/// Order on disk: through the page cache a file has one write in flight, made of whole records, so that
/// whatever a killed process leaves behind is a prefix. With O_DIRECT blocks are written independently and
/// the slice has its full size from the start; it is cut when it is finished.
///
/// Slices are opened and finished on the DiskThread; what comes meanwhile is staged, and the file goes on when the call ended.
class StagedFile : public std::enable_shared_from_this<StagedFile> {
 public:
  using Message = std::function<void(Severity, const std::string& key, const std::string& text)>;
  using Clock = std::chrono::steady_clock;

  /// @p path  directory and name without the slice suffix
  /// @p record_size  1 to kMaxRecordBytes, or 0 for units
  /// @p ages  its oldest slices may be removed to keep the limit of @p storage
  StagedFile(Station* station, std::shared_ptr<Storage> storage, Message message, std::string path,
             size_t record_size, size_t slice_bytes, bool ages);
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  /// Room for up to *count whole records in a row; *count becomes what there is, 0 if no memory is free.
  /// Fill it and call Commit(). Only for fixed record sizes and while !failed().
  std::byte* Reserve(size_t* count);
  void Commit(size_t count, Ledger* ledger);
  /// Stages @p size bytes as one unit that no slice border divides. @return false if there is no room now.
  bool AppendUnit(const void* data, size_t size, Ledger* ledger);
  /// Counts records that come after the file failed or was closed.
  void Refuse(size_t count, Ledger* ledger);

  /// Wants everything staged so far on disk, part-filled blocks included.
  void Flush();
  /// Submits what may be submitted now. Cheap when there is nothing to do.
  void Pump(Clock::time_point now);
  /// A write ended.
  void Completed(WriteOp* op, Clock::time_point now);
  /// Gives the open block back if all of it is on disk. @return true if a block became free
  bool ReleaseIdle();
  /// No more records: finish the last slice once it is written. Call Flush() before.
  void Close();
  /// Gives up on what is not written yet.
  void GiveUp();

  bool failed() const { return error_ != 0; }
  /// After Close(): all is written or given up, and every slice finished.
  bool closed() const { return closing_ && idle() && unfinished_.empty(); }
  /// Nothing staged and nothing in flight.
  bool idle() const { return queue_.empty() && !busy(); }
  /// Writes are under way, or calls; the file cannot end now.
  bool busy() const { return op_in_flight_ || direct_in_flight_ > 0 || calls_ > 0; }
  /// Everything before the last Flush() is on disk (or the file failed).
  bool flushed() const;
  /// Forgets ledgers and message handler: whoever owned them stopped waiting.
  void Disown();
  /// Waiting for a full or faulty disk.
  bool stalled() const { return stall_error_ != 0; }
  /// Stalled, because the disk is full: that passes only if somebody empties it.
  bool full() const;
  /// Waiting for other files to be finished, so that the limit on storage is kept.
  bool waiting() const { return waiting_; }
  /// When Pump() should be called again if stalled or waiting.
  Clock::time_point retry_at() const { return retry_at_; }
  bool touched_since_flush() const { return touched_; }

  const std::string& path() const { return path_; }
  size_t record_size() const { return record_size_; }
  /// Whole records (units) written so far, their bytes, and the slices that were made for them.
  uint64_t records() const { return records_written_; }
  uint64_t bytes() const { return settled_; }
  unsigned slices() const { return slices_; }
  uint64_t lost() const { return lost_; }
  /// Of these, what was removed to keep a limit on storage.
  const Aged& aged() const { return *aged_; }
  int error() const { return error_; }

 private:
  struct Slice {
    unsigned index = 0;
    int fd = -1;
    dev_t device = 0;  // with inode: the file that fd was opened as
    ino_t inode = 0;
    uint64_t stream = 0;  // position of its first byte in the whole stream
    uint64_t bytes = 0;   // staged for it so far
    uint64_t records = 0;
    uint64_t limit = 0;  // bytes at which it ends
    uint64_t charged = 0;
    uint32_t crc = 0;
    unsigned generation = 0;
    bool sealed = false;
    bool opening = false;
    bool begun = false;  // it was opened
    bool cut = false;    // shorter than what the sum is of
  };
  struct Opened;
  struct Ended;
  struct Segment {
    std::byte* block = nullptr;
    std::shared_ptr<Slice> slice;
    uint64_t offset = 0;   // of the block's first byte in the slice
    uint32_t fill = 0;     // bytes staged
    uint32_t written = 0;  // bytes on disk, counted from the block's start
    bool sealed = false;
    bool in_flight = false;  // O_DIRECT: its own op runs
    WriteOp op;
    uint32_t op_start = 0, op_end = 0;
  };
  // A stretch of the stream that belongs to one ledger.
  struct Mark {
    Ledger* ledger;
    uint64_t begin, end;
    uint64_t units;
  };

  bool OpenBlock();
  void OpenSlice();
  void SealBlock();
  void SealSlice();
  void SealOldSlice();
  void Sum(const void* data, size_t size);
  uint32_t BlockCapacity() const;
  void Note(Ledger* ledger, uint64_t bytes, uint64_t units);
  /// Begins to open the file of @p slice, unless that goes on already.
  void OpenSliceFile(const std::shared_ptr<Slice>& slice);
  void SliceOpened(Slice* slice, const Opened& opened);
  /// Has @p call made by the DiskThread.
  void Call(FileCall kind, std::function<void()> call, std::function<void()> then);
  /// Takes room on the disk for @p slice up to @p end. False if it has to wait or the collection ends.
  bool TakeRoom(Slice* slice, uint64_t end, Clock::time_point now);
  void SetWaiting(bool waiting);
  /// False if the program closed the descriptor of @p slice, which may mean a file of its own by now. It is let go of
  /// then.
  bool StillOurs(Slice* slice);
  /// Cuts the file of @p slice to its size, if asked to, closes it and leaves a .done beside it, if that is to be.
  void FinishSlice(const std::shared_ptr<Slice>& slice, bool cut, bool mark_done);
  void SliceFinished(Slice* slice, const Ended& ended);
  /// Removes a slice of which no record is on disk.
  void DropSlice(const std::shared_ptr<Slice>& slice);
  void Cut(Slice* slice, uint64_t bytes);
  void PumpBuffered(Clock::time_point now);
  void PumpDirect(Clock::time_point now);
  void Retire(Clock::time_point now);
  void SettleMarks(uint64_t durable);
  void Trouble(int error, Clock::time_point now);
  void Fail(int error);
  void FailIfDirectoryGone(Clock::time_point now);
  std::string SlicePath(const Slice& slice) const;

  Station* station_;
  std::shared_ptr<Storage> storage_;
  Message message_;
  std::string path_;
  size_t record_size_;
  uint64_t slice_bytes_;
  bool ages_;
  std::shared_ptr<Aged> aged_ = std::make_shared<Aged>();

  std::deque<std::shared_ptr<Segment>> queue_;  // in stream order; the last may be open
  std::shared_ptr<Slice> slice_;                // being filled
  std::deque<std::shared_ptr<Slice>> unfinished_;
  std::deque<Mark> marks_;
  WriteOp op_;  // page cache: the one write in flight
  bool op_in_flight_ = false;
  unsigned direct_in_flight_ = 0;
  unsigned calls_ = 0;  // at the DiskThread

  uint64_t stream_end_ = 0;            // bytes staged since the beginning
  uint64_t flush_target_ = 0;          // everything before this wants to be on disk
  std::byte bounce_[kMaxRecordBytes];  // O_DIRECT: a record that crosses into the next block
  bool bounced_ = false;
  std::byte tail_[4096];  // O_DIRECT: last part-filled sector of a released block
  uint32_t tail_bytes_ = 0;

  unsigned next_index_ = 0;
  uint64_t records_written_ = 0, lost_ = 0;
  uint64_t settled_ = 0;  // end of the last whole record on disk, in the stream
  unsigned slices_ = 0;
  bool touched_ = false;
  bool waiting_ = false;
  bool outlives_full_disk_ = false;  // was told of it
  bool grows_ahead_ = false;         // the file system allocates more than it is given
  bool counted_ = false;             // as an open file
  bool closing_ = false;
  int error_ = 0;
  int failing_ = 0;  // error that will end the file once nothing is in flight
  int stall_error_ = 0;
  unsigned tries_ = 0;
  Clock::time_point retry_at_{};
  Clock::time_point last_try_before_{};  // the retry_at_ that was not waited for, as there was no memory left
};

}  // namespace npuprof::drain
