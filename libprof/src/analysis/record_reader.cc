// SPDX-License-Identifier: Apache-2.0
#include "analysis/record_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace npuprof::analysis {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr const char* kUnused = "unused space, all zero";

size_t ReadFully(int fd, uint64_t offset, uint8_t* out, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, out + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

int OpenForReading(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

bool MagicAt(const Slice& slice, const RecordFormat& format, uint64_t offset) {
  if (offset + format.magic_offset + 2 > slice.bytes) return false;
  const int fd = OpenForReading(slice.path);
  if (fd < 0) return false;
  uint16_t value = 0;
  const size_t got =
      ReadFully(fd, offset + format.magic_offset, reinterpret_cast<uint8_t*>(&value), sizeof(value));
  ::close(fd);
  return got == sizeof(value) && value == format.magic;
}

// Where the records of a slice begin whose predecessor is missing; 0 if it does not show.
uint64_t FirstRecord(const Slice& slice, const RecordFormat& format) {
  for (uint64_t at = 0; at < format.bytes; ++at) {
    if (MagicAt(slice, format, at) && (at == 0 || MagicAt(slice, format, at + format.bytes))) return at;
  }
  return 0;
}

}  // namespace

RecordReader::RecordReader(const Slices& slices, const RecordFormat& format, Diagnostics* diagnostics,
                           std::function<void(uint64_t)> progress)
    : slices_(slices), format_(format), diagnostics_(diagnostics), progress_(std::move(progress)) {
  Plan();
  part_offset_ = parts_.empty() ? 0 : parts_[0].begin;
}

RecordReader::~RecordReader() {
  if (fd_ >= 0) ::close(fd_);
}

// Decides for every border between slices whether the record there continues or was torn off.
void RecordReader::Plan() {
  const uint64_t total = TotalBytes(slices_);
  uint64_t position = 0, carried = 0, severed = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const Slice& slice = slices_[i];
    Part part{i, 0, slice.bytes, position};
    starts_.push_back(position);
    if (BehindHole(slices_, i)) {
      holes_ahead_.insert(position);
      if (format_.has_magic) severed = FirstRecord(slice, format_);
    }
    position += slice.bytes;
    if (severed > 0) {
      part.begin = std::min(severed, slice.bytes);
      part.position += part.begin;
      severed = 0;
      diagnostics_->Record(slice.name, 0, "rest of a record whose beginning is in a slice that is missing");
    }
    if (i == 0 && slice.number > 0 && total % format_.bytes != 0) {
      // Older slices were deleted for want of space; the first record may be the rest of one of theirs.
      const uint64_t skip = total % format_.bytes;
      if (!format_.has_magic || (!MagicAt(slice, format_, 0) && MagicAt(slice, format_, skip))) {
        part.begin = std::min(skip, slice.bytes);
        part.position += part.begin;
        diagnostics_->Record(slice.name, 0,
                             "rest of a record whose beginning was removed with an older slice");
      }
    }
    const uint64_t rest = (carried + part.end - part.begin) % format_.bytes;
    carried = 0;
    if (rest != 0) {
      bool continues = false;
      const bool hole = i + 1 < slices_.size() && BehindHole(slices_, i + 1);
      // Without a magic number the records behind the hole are taken to be in step with those before it.
      if (hole && !format_.has_magic && total % format_.bytes == 0) severed = format_.bytes - rest;
      if (i + 1 < slices_.size() && !hole) {
        const Slice& next = slices_[i + 1];
        const uint64_t follower = format_.bytes - rest;  // where the next record begins if this one continues
        if (format_.has_magic && follower + format_.magic_offset + sizeof(format_.magic) <= next.bytes) {
          continues = MagicAt(next, format_, follower) && !MagicAt(next, format_, 0);
        } else {
          continues = total % format_.bytes == 0;  // nothing to see there, so the total has to tell
        }
      }
      if (continues) {
        carried = rest;
      } else {
        const uint64_t cut = std::min(rest, part.end - part.begin);
        part.end -= cut;
        diagnostics_->Record(
            slice.name, part.end,
            fmt::format("torn record at the end of the slice, {} of {} bytes", rest, format_.bytes));
      }
    }
    if (part.begin < part.end) parts_.push_back(part);
  }
}

// A file that was extended and never written may be of any size: its holes cost no time.
void RecordReader::SkipHole() {
  if (fd_ < 0 || !format_.has_magic) return;
  // What is in the buffer goes on where the hole ends, which only makes no difference if it is unused too.
  const auto zero = [](uint8_t byte) { return byte == 0; };
  const auto from = buffer_.begin() + static_cast<ptrdiff_t>(begin_);
  if (end_ - begin_ >= 4 * format_.bytes ||
      !std::all_of(from, buffer_.begin() + static_cast<ptrdiff_t>(end_), zero))
    return;
  const Part& part = parts_[part_];
  const off_t data = ::lseek(fd_, static_cast<off_t>(part_offset_), SEEK_DATA);
  if (data < 0 && errno != ENXIO) return;  // a file system that cannot tell
  const uint64_t end = data < 0 ? part.end : std::min(part.end, static_cast<uint64_t>(data));
  const uint64_t records = (end - part_offset_) / format_.bytes;
  if (records * format_.bytes < kChunkBytes) return;
  Report(part.position + (part_offset_ - part.begin), kUnused, false, records);
  holes_ahead_.insert(part.position + (part_offset_ - part.begin) + records * format_.bytes);
  part_offset_ += records * format_.bytes;
  if (progress_) progress_(records * format_.bytes);
}

void RecordReader::Fill() {
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<ptrdiff_t>(end_), buffer_.begin());
    size_t keep = 0;  // the last span that starts at or before begin_ still describes the front
    while (keep + 1 < spans_.size() && spans_[keep + 1].buffer <= begin_) ++keep;
    spans_.erase(spans_.begin(), spans_.begin() + static_cast<ptrdiff_t>(keep));
    for (auto& span : spans_) {
      if (span.buffer < begin_) {
        span.position += begin_ - span.buffer;
        span.buffer = 0;
      } else {
        span.buffer -= begin_;
      }
    }
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.empty()) {
    uint64_t want = 0;
    for (const auto& part : parts_) want += part.end - part.begin;
    buffer_.resize(static_cast<size_t>(std::min<uint64_t>(want, kChunkBytes)));
  }
  uint64_t read = 0;
  while (end_ < buffer_.size() && part_ < parts_.size()) {
    const Part& part = parts_[part_];
    const Slice& slice = slices_[part.slice];
    size_t got = 0;
    if (fd_ < 0) fd_ = OpenForReading(slice.path);
    SkipHole();
    const size_t want =
        static_cast<size_t>(std::min<uint64_t>(buffer_.size() - end_, part.end - part_offset_));
    if (fd_ >= 0) got = ReadFully(fd_, part_offset_, buffer_.data() + end_, want);
    if (got > 0) {
      spans_.push_back({end_, part.position + (part_offset_ - part.begin)});
      end_ += got;
      part_offset_ += got;
      read += got;
    }
    if (got < want) {
      diagnostics_->Failed(slice.name, fmt::format("could not be read beyond byte {}", part_offset_));
      holes_ahead_.insert(part.position + (part.end - part.begin));
      part_offset_ = part.end;
    }
    if (part_offset_ >= part.end) {
      if (fd_ >= 0) ::close(fd_);
      fd_ = -1;
      ++part_;
      if (part_ < parts_.size()) part_offset_ = parts_[part_].begin;
    }
  }
  if (progress_ && read > 0) progress_(read);
}

bool RecordReader::HasMagic(const uint8_t* record) const {
  return Get<uint16_t>(record, format_.magic_offset) == format_.magic;
}

const uint8_t* RecordReader::Next() {
  const size_t size = format_.bytes;
  for (;;) {
    if (end_ - begin_ < 4 * size && part_ < parts_.size()) Fill();
    const size_t available = end_ - begin_;
    const uint8_t* record = buffer_.data() + begin_;
    if (available == 0) {
      Judge();
      return nullptr;
    }
    size_t at = 0;
    while (at + 1 < spans_.size() && spans_[at + 1].buffer <= begin_) ++at;
    position_ = spans_[at].position + (begin_ - spans_[at].buffer);
    if (at > 16) spans_.erase(spans_.begin(), spans_.begin() + static_cast<ptrdiff_t>(at));
    if (available < size) {
      Report(position_, fmt::format("torn record, {} of {} bytes", available, size));
      begin_ = end_;
      Judge();
      return nullptr;
    }
    if (format_.has_magic && HasMagic(record)) {
      begin_ += size;
      Count(true);
      return record;
    }
    // Of no kind is a record all zeros, so without a magic number too that is what was never written.
    if (std::all_of(record, record + size, [](uint8_t byte) { return byte == 0; })) {
      Report(position_, kUnused, false);
      begin_ += size;
      continue;
    }
    if (!format_.has_magic) {
      begin_ += size;
      Count(true);
      return record;
    }
    Resynchronise(available);
  }
}

void RecordReader::Resynchronise(size_t available) {
  const size_t size = format_.bytes;
  const uint8_t* record = buffer_.data() + begin_;
  size_t skip = size;
  if (available >= 2 * size && !HasMagic(record + size)) {
    for (size_t shift = 1; shift < 2 * size && shift + size + format_.magic_offset + 2 <= available;
         ++shift) {
      if (HasMagic(record + shift) && HasMagic(record + shift + size)) {
        skip = shift;
        break;
      }
    }
  }
  Count(false);
  Report(position_, fmt::format("record without its magic number {:#06x}", format_.magic));
  begin_ += skip;
}

void RecordReader::Report(uint64_t position, const std::string& reason, bool broken, uint64_t count) {
  const size_t slice = SliceAt(position);
  diagnostics_->Record(slices_[slice].name, position - starts_[slice], reason, broken, count);
}

// There is one, for there are records.
size_t RecordReader::SliceAt(uint64_t position) const {
  return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin()) -
         1;
}

void RecordReader::Broken(const std::string& reason) {
  --sound_;
  ++broken_;
  Report(position_, reason);
}

void RecordReader::Count(bool sound) {
  if (position_ >= judged_end_) {
    Judge();
    judged_ = SliceAt(position_);
    judged_end_ = starts_[judged_] + slices_[judged_].bytes;
  }
  for (; !holes_ahead_.empty() && *holes_ahead_.begin() <= position_; ++holes_)
    holes_ahead_.erase(holes_ahead_.begin());
  ++(sound ? sound_ : broken_);
}

// Of noise now and then a record looks sound.
void RecordReader::Judge() {
  if (broken_ > sound_) diagnostics_->Failed(slices_[judged_].name, "most of its records cannot be read");
  sound_ = broken_ = 0;
}

RecordLoader::RecordLoader(const Slices& slices, uint32_t record_bytes)
    : slices_(slices), record_bytes_(record_bytes) {
  for (const auto& slice : slices_) {
    starts_.push_back(total_);
    total_ += slice.bytes;
  }
}

RecordLoader::~RecordLoader() {
  if (fd_ >= 0) ::close(fd_);
}

size_t RecordLoader::ReadAt(uint64_t position, uint8_t* out, size_t bytes) {
  size_t done = 0;
  while (done < bytes && position + done < total_) {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), position + done);
    const size_t slice = static_cast<size_t>(next - starts_.begin()) - 1;
    if (slice != open_slice_) {
      if (fd_ >= 0) ::close(fd_);
      fd_ = OpenForReading(slices_[slice].path);
      open_slice_ = slice;
    }
    const uint64_t offset = position + done - starts_[slice];
    const size_t want = static_cast<size_t>(std::min<uint64_t>(bytes - done, slices_[slice].bytes - offset));
    if (fd_ < 0) break;
    const size_t got = ReadFully(fd_, offset, out + done, want);
    done += got;
    if (got < want) break;
  }
  return done;
}

const RecordLoader::Chunk& RecordLoader::Fetch(uint64_t index) {
  const auto it =
      std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& c) { return c.index == index; });
  if (it != chunks_.end()) {
    chunks_.splice(chunks_.begin(), chunks_, it);
    return chunks_.front();
  }
  if (chunks_.size() >= kChunks) {
    chunks_.splice(chunks_.begin(), chunks_, std::prev(chunks_.end()));
  } else {
    chunks_.emplace_front();
  }
  Chunk& chunk = chunks_.front();
  chunk.index = index;
  chunk.data.resize(kChunk);
  chunk.data.resize(ReadAt(index * kChunk, chunk.data.data(), kChunk));
  return chunk;
}

bool RecordLoader::Load(uint64_t position, uint8_t* out) {
  size_t done = 0;
  while (done < record_bytes_) {
    const uint64_t at = position + done;
    const Chunk& chunk = Fetch(at / kChunk);
    const size_t from = static_cast<size_t>(at % kChunk);
    if (from >= chunk.data.size()) return false;
    const size_t take = std::min<size_t>(record_bytes_ - done, chunk.data.size() - from);
    std::memcpy(out + done, chunk.data.data() + from, take);
    done += take;
  }
  return true;
}

}  // namespace npuprof::analysis
