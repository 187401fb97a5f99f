// SPDX-License-Identifier: Apache-2.0
#include "drain/staged_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crc32c.h"

namespace npuprof::drain {
namespace {

constexpr uint32_t kSector = 4096;  // satisfies O_DIRECT everywhere
constexpr unsigned kTries = 3;      // before an error is believed to last
constexpr std::chrono::milliseconds kFirstRetry{50}, kLastRetry{400};

uint64_t RoundDown(uint64_t value, uint64_t unit) {
  return value / unit * unit;
}
uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return RoundDown(value + unit - 1, unit);
}

bool DiskIsFull(int error) {
  return error == ENOSPC || error == EDQUOT;
}

// The file's place is gone, or is not for us.
bool IsHopeless(int error) {
  return error == ENOENT || error == ENOTDIR || error == EROFS || error == EACCES || error == ELOOP;
}

// It is about this one file and does not pass by itself. Everything else may: a disk or a server that does not answer for
// a while, a program that is short of descriptors or memory.
bool IsOfTheFile(int error) {
  return error == EFBIG || error == EBADF || error == EINVAL || error == EPERM || error == EISDIR ||
         error == ENAMETOOLONG || error == ENXIO;
}

}  // namespace

StagedFile::StagedFile(Station* station, std::shared_ptr<Storage> storage, Message message, std::string path,
                       size_t record_size, size_t slice_bytes, bool ages)
    : station_(station),
      storage_(std::move(storage)),
      message_(std::move(message)),
      path_(std::move(path)),
      record_size_(record_size),
      slice_bytes_(slice_bytes),
      ages_(ages) {}

bool StagedFile::flushed() const {
  if (failed() || queue_.empty()) return true;
  const Segment& front = *queue_.front();
  return front.slice->stream + front.offset + front.written >= flush_target_;
}

bool StagedFile::full() const {
  // Where there is room that was kept for it, its tries are counted instead: others may have been quicker at some of it.
  return DiskIsFull(stall_error_) && (ages_ || !outlives_full_disk_);
}

void StagedFile::Disown() {
  for (Mark& mark : marks_) mark.ledger = nullptr;
  message_ = [](Severity, const std::string&, const std::string&) {};
}

// Through the page cache a block holds whole records, so that each write does; O_DIRECT wants full blocks.
uint32_t StagedFile::BlockCapacity() const {
  if (station_->direct || record_size_ == 0) return kBlockBytes;
  return static_cast<uint32_t>(RoundDown(kBlockBytes, record_size_));
}

bool StagedFile::OpenBlock() {
  std::byte* block = station_->pool->Acquire();
  if (block == nullptr) {
    station_->starved = true;
    return false;
  }
  if (slice_ == nullptr) OpenSlice();
  auto segment = std::make_shared<Segment>();
  segment->block = block;
  segment->slice = slice_;
  segment->offset = slice_->bytes - tail_bytes_;
  segment->fill = segment->written = tail_bytes_;
  if (tail_bytes_ > 0) std::memcpy(block, tail_, tail_bytes_);
  tail_bytes_ = 0;
  queue_.push_back(std::move(segment));
  return true;
}

void StagedFile::OpenSlice() {
  if (!counted_) storage_->FileOpened();
  counted_ = true;
  slice_ = std::make_shared<Slice>();
  slice_->index = next_index_++;
  slice_->stream = stream_end_;
  slice_->generation = storage_->generation();
  slice_->limit = storage_->SliceBytes(slice_bytes_, ages_);
  if (record_size_ != 0)
    slice_->limit = std::max<uint64_t>(RoundDown(slice_->limit, record_size_), record_size_);
  unfinished_.push_back(slice_);
  tail_bytes_ = 0;
}

void StagedFile::SealBlock() {
  if (!queue_.empty()) queue_.back()->sealed = true;
}

void StagedFile::SealSlice() {
  if (slice_ == nullptr) return;
  SealBlock();
  slice_->sealed = true;
  slice_ = nullptr;
  tail_bytes_ = 0;
}

// What belongs together is removed together, so a slice holds records of one generation.
void StagedFile::SealOldSlice() {
  if (!ages_ || slice_ == nullptr || slice_->generation == storage_->generation()) return;
  if (slice_->bytes > 0) {
    SealSlice();
  } else {
    slice_->generation = storage_->generation();
  }
}

void StagedFile::Sum(const void* data, size_t size) {
  slice_->crc = Crc32c(slice_->crc, data, size);
}

std::byte* StagedFile::Reserve(size_t* count) {
  const size_t wanted = *count;
  *count = 0;
  bounced_ = false;
  SealOldSlice();
  if (slice_ != nullptr && slice_->bytes + record_size_ > slice_->limit) SealSlice();
  if (queue_.empty() || queue_.back()->sealed) {
    if (!OpenBlock()) return nullptr;
  }
  const uint64_t slice_room = slice_->limit - slice_->bytes;
  Segment& segment = *queue_.back();
  const uint64_t room = std::min<uint64_t>(slice_room, BlockCapacity() - segment.fill);
  if (room < record_size_) {
    // The record crosses into the next block: both halves must find room before it is taken.
    if (station_->pool->free_blocks() == 0) {
      station_->starved = true;
      return nullptr;
    }
    bounced_ = true;
    *count = 1;
    return bounce_;
  }
  *count = std::min<size_t>(wanted, room / record_size_);
  return segment.block + segment.fill;
}

void StagedFile::Commit(size_t count, Ledger* ledger) {
  const uint64_t bytes = count * record_size_;
  slice_->records += count;
  if (bounced_) {
    Sum(bounce_, record_size_);
    Segment& first = *queue_.back();
    const uint32_t head = static_cast<uint32_t>(kBlockBytes - first.fill);
    std::memcpy(first.block + first.fill, bounce_, head);
    first.fill += head;
    slice_->bytes += head;
    first.sealed = true;
    OpenBlock();
    Segment& second = *queue_.back();
    const uint32_t rest = static_cast<uint32_t>(record_size_) - head;
    std::memcpy(second.block, bounce_ + head, rest);
    second.fill = rest;
    slice_->bytes += rest;
  } else {
    Sum(queue_.back()->block + queue_.back()->fill, bytes);
    queue_.back()->fill += static_cast<uint32_t>(bytes);
    slice_->bytes += bytes;
  }
  Note(ledger, bytes, count);
  if (slice_->bytes + record_size_ > slice_->limit) {
    SealSlice();
  } else if (queue_.back()->fill >= BlockCapacity()) {
    SealBlock();
  }
}

bool StagedFile::AppendUnit(const void* data, size_t size, Ledger* ledger) {
  if (size == 0) return true;
  SealOldSlice();
  if (slice_ != nullptr && slice_->bytes > 0 && slice_->bytes + size > slice_->limit) SealSlice();
  const bool open_block = !queue_.empty() && !queue_.back()->sealed;
  const size_t room =
      (open_block ? kBlockBytes - queue_.back()->fill : 0) + station_->pool->free_blocks() * kBlockBytes;
  if (room < size + tail_bytes_) {
    station_->starved = true;
    return false;
  }
  const auto* from = static_cast<const std::byte*>(data);
  size_t left = size;
  while (left > 0) {
    if (queue_.empty() || queue_.back()->sealed) OpenBlock();
    Segment& segment = *queue_.back();
    const size_t part = std::min<size_t>(left, kBlockBytes - segment.fill);
    std::memcpy(segment.block + segment.fill, from, part);
    segment.fill += static_cast<uint32_t>(part);
    slice_->bytes += part;
    from += part;
    left -= part;
    if (segment.fill == kBlockBytes) SealBlock();
  }
  ++slice_->records;
  Sum(data, size);
  Note(ledger, size, 1);
  return true;
}

void StagedFile::Refuse(size_t count, Ledger* ledger) {
  lost_ += count;
  if (ledger != nullptr) {
    ledger->accepted += count;
    ledger->lost += count;
  }
}

void StagedFile::Note(Ledger* ledger, uint64_t bytes, uint64_t units) {
  if (ledger != nullptr) ledger->accepted += units;
  touched_ = true;
  station_->staged = true;
  station_->bytes_staged += bytes;
  const uint64_t begin = stream_end_;
  stream_end_ += bytes;
  if (ages_) storage_->Staged(bytes);
  if (record_size_ != 0 && !marks_.empty() && marks_.back().ledger == ledger) {
    marks_.back().end = stream_end_;
    marks_.back().units += units;
  } else {
    marks_.push_back({ledger, begin, stream_end_, units});
  }
}

void StagedFile::Flush() {
  flush_target_ = stream_end_;
  touched_ = false;
}

void StagedFile::Close() {
  closing_ = true;
  SealSlice();
  Flush();
  Retire(Clock::now());
  if (counted_) storage_->FileClosed();
  counted_ = false;
}

bool StagedFile::ReleaseIdle() {
  if (queue_.size() != 1 || op_in_flight_ || direct_in_flight_ > 0) return false;
  Segment& segment = *queue_.front();
  if (segment.sealed || segment.written != segment.fill) return false;
  if (station_->direct) {
    tail_bytes_ = segment.fill % kSector;
    std::memcpy(tail_, segment.block + segment.fill - tail_bytes_, tail_bytes_);
  }
  station_->pool->Release(segment.block);
  queue_.clear();
  return true;
}

void StagedFile::Pump(Clock::time_point now) {
  if (failed()) return;
  if (storage_->exhausted()) failing_ = EDQUOT;
  // What is under way may still fail for want of the room that was given meanwhile.
  const bool goes_on = ages_ || (storage_->kept_room_given() && !busy());
  if (storage_->disk_full() != 0 && !outlives_full_disk_ && goes_on) {
    outlives_full_disk_ = true;
    if (ages_) {
      failing_ = storage_->disk_full();
    } else {
      stall_error_ = 0;  // there is room that was kept for it
      tries_ = 0;
    }
  }
  if (failing_ != 0) {
    if (!busy()) Fail(failing_);
    return;
  }
  SealOldSlice();
  // What was sealed after its last write ended has no further write to end it.
  if (!op_in_flight_ && direct_in_flight_ == 0) {
    const bool written =
        !queue_.empty() && queue_.front()->sealed && queue_.front()->written == queue_.front()->fill;
    if (written || (queue_.empty() && !unfinished_.empty() && unfinished_.front()->sealed))
      return Retire(now);
  }
  // With no memory left for what comes, it is tried at once whether it has to end.
  const bool last_try = stall_error_ != 0 && tries_ > kTries && station_->pool->free_blocks() == 0 &&
                        last_try_before_ != retry_at_;
  const bool early = now < retry_at_ && !last_try;
  if (queue_.empty() || (stall_error_ != 0 && early) || (waiting_ && early && !station_->called)) return;
  if (early && last_try)
    last_try_before_ = retry_at_;  // once: what does not end it would be tried without a rest
  if (station_->direct) {
    PumpDirect(now);
  } else {
    PumpBuffered(now);
  }
}

void StagedFile::PumpBuffered(Clock::time_point now) {
  if (op_in_flight_) return;
  // Full blocks go at once; a part-filled one only when a flush asked for it.
  const Segment& front = *queue_.front();
  const uint64_t durable = front.slice->stream + front.offset + front.written;
  if (!front.sealed && durable >= flush_target_) return;
  Slice* slice = front.slice.get();
  if (slice->fd < 0) return OpenSliceFile(front.slice);
  if (!StillOurs(slice)) failing_ = EBADF;
  if (flush_target_ > durable) FailIfDirectoryGone(now);
  if (failing_ != 0) return Pump(now);
  op_.fd = slice->fd;
  op_.offset = front.offset + front.written;
  op_.owner = this;
  op_.part_count = 0;
  for (const auto& segment : queue_) {
    if (segment->slice.get() != slice || op_.part_count == WriteOp::kMaxParts) break;
    if (segment->fill == segment->written) break;
    op_.parts[op_.part_count++] = {segment->block + segment->written, segment->fill - segment->written};
  }
  if (op_.part_count == 0) return;
  uint64_t end = op_.offset;
  for (unsigned i = 0; i < op_.part_count; ++i) end += op_.parts[i].iov_len;
  if (!TakeRoom(slice, end, now)) return;
  op_in_flight_ = station_->writer->Submit(&op_);
}

void StagedFile::PumpDirect(Clock::time_point now) {
  for (const auto& segment : queue_) {
    // With a limit, one slice at a time: what is begun of many can neither be finished nor removed.
    if (storage_->limit() > 0 && segment->slice != queue_.front()->slice) break;
    if (segment->in_flight || segment->fill == segment->written) continue;
    const uint64_t position = segment->slice->stream + segment->offset + segment->written;
    if (!segment->sealed && position >= flush_target_) continue;
    Slice* slice = segment->slice.get();
    if (slice->fd < 0) return OpenSliceFile(segment->slice);
    if (!StillOurs(slice)) failing_ = EBADF;
    if (position < flush_target_) FailIfDirectoryGone(now);
    if (failing_ != 0) return Pump(now);
    // Whole sectors: from the one that holds the first unwritten byte, zeros after the last one.
    const auto start = static_cast<uint32_t>(RoundDown(segment->written, kSector));
    const auto end = static_cast<uint32_t>(RoundUp(segment->fill, kSector));
    if (!TakeRoom(slice, segment->offset + end, now)) return;
    std::memset(segment->block + segment->fill, 0, end - segment->fill);
    segment->op_start = start;
    segment->op_end = segment->fill;
    segment->op.fd = slice->fd;
    segment->op.offset = segment->offset + start;
    segment->op.parts[0] = {segment->block + start, end - start};
    segment->op.part_count = 1;
    segment->op.owner = this;
    if (!station_->writer->Submit(&segment->op)) return;
    segment->in_flight = true;
    ++direct_in_flight_;
  }
}

void StagedFile::Completed(WriteOp* op, Clock::time_point now) {
  uint64_t n = op->result > 0 ? static_cast<uint64_t>(op->result) : 0;
  station_->bytes_written += n;
  if (op == &op_) {
    op_in_flight_ = false;
    for (size_t i = 0; n > 0 && i < queue_.size(); ++i) {
      Segment& segment = *queue_[i];
      const uint64_t part = std::min<uint64_t>(n, segment.fill - segment.written);
      segment.written += static_cast<uint32_t>(part);
      n -= part;
    }
  } else {
    --direct_in_flight_;
    for (const auto& segment : queue_) {
      if (op != &segment->op) continue;
      segment->in_flight = false;
      const uint32_t reached =
          std::min<uint32_t>(segment->op_start + static_cast<uint32_t>(n), segment->op_end);
      segment->written = std::max(segment->written, reached);
      break;
    }
  }
  if (op->result > 0) {
    stall_error_ = 0;
    tries_ = 0;
  } else if (op->result != -EINTR && op->result != -EAGAIN) {
    Trouble(op->result == 0 ? EIO : -op->result, now);
  }
  Retire(now);
}

// Lets go of what is on disk: blocks, ledger marks and finished slices, in stream order.
void StagedFile::Retire(Clock::time_point now) {
  while (!queue_.empty()) {
    Segment& front = *queue_.front();
    if (front.in_flight || !front.sealed || front.written != front.fill) break;
    if (op_in_flight_) break;
    station_->pool->Release(front.block);
    queue_.pop_front();
  }
  uint64_t durable = stream_end_;
  if (!queue_.empty())
    durable = queue_.front()->slice->stream + queue_.front()->offset + queue_.front()->written;
  SettleMarks(durable);
  if (failed()) return;
  while (!unfinished_.empty() && unfinished_.front()->sealed &&
         (queue_.empty() || queue_.front()->slice != unfinished_.front())) {
    FinishSlice(unfinished_.front(), station_->direct, true);
    unfinished_.pop_front();
  }
  Pump(now);
}

void StagedFile::SettleMarks(uint64_t durable) {
  while (!marks_.empty()) {
    Mark& mark = marks_.front();
    uint64_t units = mark.units;
    if (mark.end > durable) {
      if (record_size_ == 0 || durable <= mark.begin) return;
      units = (durable - mark.begin) / record_size_;
    }
    mark.begin = mark.end > durable ? mark.begin + units * record_size_ : mark.end;
    settled_ = mark.begin;
    mark.units -= units;
    records_written_ += units;
    if (mark.ledger != nullptr) mark.ledger->written += units;
    if (mark.units > 0) return;
    marks_.pop_front();
  }
}

// A full disk may be emptied by somebody, a disk with errors may recover, so it is tried again as long as there is staging
// memory for what comes. Then a full disk ends the collection, and another error this file.
void StagedFile::Trouble(int error, Clock::time_point now) {
  if (failing_ != 0 || failed()) return;
  const bool first = stall_error_ != error;
  stall_error_ = error;
  // Writes that were under way together fail together: that is one try.
  const bool due = first || now >= retry_at_;
  if (due) ++tries_;
  const bool room = station_->pool->free_blocks() > 0;
  if (DiskIsFull(error) && !room) storage_->DiskIsFull(error);
  const bool lasts = tries_ > kTries;
  const bool over = DiskIsFull(error)
                        ? storage_->disk_full() != 0 && (ages_ || (outlives_full_disk_ && lasts))
                        : lasts && (IsOfTheFile(error) || !room);
  if (over || IsHopeless(error)) {
    failing_ = error;
    return;
  }
  if (first && storage_->disk_full() == 0) {
    message_(Severity::kWarning, fmt::format("stall-{}", error),
             fmt::format("{} cannot be written ({}); records wait in memory while it is tried again", path_,
                         std::strerror(error)));
  }
  if (due) retry_at_ = now + std::min(kLastRetry, kFirstRetry * (1u << std::min(tries_ - 1, 5u)));
}

void StagedFile::FailIfDirectoryGone(Clock::time_point now) {
  for (const auto& slice : unfinished_) {
    struct stat st;
    if (slice->fd < 0 || fstat(slice->fd, &st) != 0 || st.st_nlink > 0) continue;
    Trouble(ENOENT, now);
    return;
  }
}

void StagedFile::GiveUp() {
  if (failed() || (queue_.empty() && !op_in_flight_ && direct_in_flight_ == 0)) return;
  if (DiskIsFull(stall_error_) && !outlives_full_disk_) {
    storage_->DiskIsFull(stall_error_);
    if (!ages_) return Pump(Clock::now());  // once there is the room that was kept for it
  }
  if (failing_ == 0) failing_ = stall_error_ != 0 ? stall_error_ : ETIMEDOUT;
  if (!busy()) Fail(failing_);
}

void StagedFile::Cut(Slice* slice, uint64_t bytes) {
  if (slice->bytes <= bytes) return;
  slice->bytes = bytes;
  slice->records = record_size_ == 0 ? 0 : bytes / record_size_;
  slice->cut = true;
}

// Ends the file for good, at the last whole record on disk.
void StagedFile::Fail(int error) {
  error_ = error;
  stall_error_ = 0;
  SetWaiting(false);
  uint64_t durable = stream_end_;
  if (!queue_.empty())
    durable = queue_.front()->slice->stream + queue_.front()->offset + queue_.front()->written;
  SettleMarks(durable);
  const uint64_t end = settled_;
  uint64_t lost = 0;
  for (const Mark& mark : marks_) {
    lost += mark.units;
    if (mark.ledger != nullptr) mark.ledger->lost += mark.units;
  }
  lost_ += lost;
  marks_.clear();
  for (const auto& segment : queue_) station_->pool->Release(segment->block);
  queue_.clear();
  slice_ = nullptr;
  for (const auto& slice : unfinished_) {
    if (slice->fd >= 0) StillOurs(slice.get());
    if (slice->stream < end) {
      Cut(slice.get(), end - slice->stream);
      FinishSlice(slice, true, error != ENOENT);  // without a directory there is no place for it
    } else if (slice->fd >= 0) {
      DropSlice(slice);
    } else if (slice->begun) {
      storage_->Drop(0, ages_);  // the program closed it; what it took is there still
    }
  }
  unfinished_.clear();
  if (storage_->exhausted()) {
    message_(
        Severity::kError, "limit",
        fmt::format(
            "dictionaries, metadata and other data that is never removed use up the storage limit of {}; "
            "collection ends here, what was collected stays",
            storage_->LimitText()));
    return;
  }
  if (DiskIsFull(error) && storage_->disk_full() != 0) {
    message_(
        Severity::kError, "disk full",
        fmt::format("the file system of {} is full ({}); collection ends here: what was written stays and is "
                    "whole, what comes later is counted as lost",
                    storage_->root().empty() ? path_ : storage_->root(), std::strerror(error)));
    return;
  }
  message_(Severity::kError, fmt::format("fail-{}", error),
           fmt::format(
               "{} could not be written: {}; {} records that waited for it are lost, and those that follow",
               path_, std::strerror(error), lost));
}

}  // namespace npuprof::drain
