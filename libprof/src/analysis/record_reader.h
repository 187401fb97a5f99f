// SPDX-License-Identifier: Apache-2.0
// Fixed-size records out of a row of slices, a chunk at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/diagnostics.h"
#include "analysis/slices.h"

namespace npuprof::analysis {

/// Reads a field of a record; records need no alignment.
template <typename T>
T Get(const uint8_t* record, size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof(value));
  return value;
}

struct RecordFormat {
  uint32_t bytes = 0;
  bool has_magic = false;
  uint32_t magic_offset = 0;
  uint16_t magic = 0;
};

constexpr uint16_t kHostMagic = 0x5a5a;
constexpr RecordFormat kApiFormat{40, true, 0, kHostMagic};
constexpr RecordFormat kCompactFormat{64, true, 0, kHostMagic};
constexpr RecordFormat kAdditionalFormat{256, true, 0, kHostMagic};
constexpr RecordFormat kTaskLogFormat{64, true, 2, 0x6bd3};
constexpr RecordFormat kTaskPmuFormat{128, false, 0, 0};
constexpr RecordFormat kTsTrackFormat{40, false, 0, 0};
constexpr RecordFormat kFrequencyFormat{888, false, 0, 0};

/// Whole records in file order. Records that straddle two slices are joined; torn ones at a cut-off end or an
/// aged-out front, records with a wrong magic and unused (zero) space are stepped over and reported. Where
/// the magic is lost the reader looks for the next two records in step and goes on there. Holes of files are
/// unused space that is not even read, where the format has a magic. A slice that cannot be opened or holds more broken
/// records than others is a failure. Memory: one chunk of 1 MiB.
class RecordReader {
 public:
  /// `progress` may be empty; it gets the bytes read since its last call.
  RecordReader(const Slices& slices, const RecordFormat& format, Diagnostics* diagnostics,
               std::function<void(uint64_t)> progress = {});
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The next record, valid until the next call; nullptr at the end.
  const uint8_t* Next();
  /// Position of the last record in the slices laid end to end; see RecordLoader.
  uint64_t position() const { return position_; }
  /// Reports the last record as broken for the given reason.
  void Broken(const std::string& reason);
  /// Remarks that nothing shows the last record, which is sound, for the given reason.
  void NotShown(const std::string& reason) { Report(position_, reason, false); }
  /// How often, up to the last record, slices or parts of them were missing, so that what went on before may have ended.
  uint64_t holes() const { return holes_; }

 private:
  struct Part {
    size_t slice;
    uint64_t begin, end;  ///< bytes of the slice that are read
    uint64_t position;    ///< of `begin`
  };
  void Plan();
  size_t SliceAt(uint64_t position) const;
  void Count(bool sound);
  void Judge();
  void Fill();
  bool HasMagic(const uint8_t* record) const;
  void Resynchronise(size_t available);
  void SkipHole();
  void Report(uint64_t position, const std::string& reason, bool broken = true, uint64_t count = 1);

  const Slices& slices_;
  RecordFormat format_;
  Diagnostics* diagnostics_;
  std::function<void(uint64_t)> progress_;
  std::vector<Part> parts_;
  size_t part_ = 0;
  uint64_t part_offset_ = 0;
  int fd_ = -1;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0, end_ = 0;
  struct Span {
    size_t buffer;
    uint64_t position;
  };
  std::vector<Span> spans_;  ///< which position each stretch of the buffer came from
  uint64_t position_ = 0;
  std::vector<uint64_t> starts_;    ///< position of each slice
  std::set<uint64_t> holes_ahead_;  ///< positions behind them
  uint64_t holes_ = 0;
  size_t judged_ = 0;  ///< slice that is being read
  uint64_t judged_end_ = 0;
  uint64_t sound_ = 0, broken_ = 0;  ///< records of it
};

/// Fetches single records by the position a RecordReader gave, through a small cache.
class RecordLoader {
 public:
  RecordLoader(const Slices& slices, uint32_t record_bytes);
  ~RecordLoader();
  RecordLoader(const RecordLoader&) = delete;
  RecordLoader& operator=(const RecordLoader&) = delete;

  /// Copies the record into `out` (record_bytes). False if it can no longer be read.
  bool Load(uint64_t position, uint8_t* out);

 private:
  static constexpr uint64_t kChunk = 256 * 1024;
  static constexpr size_t kChunks = 16;
  struct Chunk {
    uint64_t index;
    std::vector<uint8_t> data;
  };
  const Chunk& Fetch(uint64_t index);
  size_t ReadAt(uint64_t position, uint8_t* out, size_t bytes);

  const Slices& slices_;
  uint32_t record_bytes_;
  std::vector<uint64_t> starts_;  ///< position of each slice
  uint64_t total_ = 0;
  std::list<Chunk> chunks_;  ///< most recently used first
  size_t open_slice_ = SIZE_MAX;
  int fd_ = -1;
};

}  // namespace npuprof::analysis
