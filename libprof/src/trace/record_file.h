// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "drain/drain.h"
#include "drain/ledger.h"

namespace npuprof::drain {
class StagedFile;
}

namespace npuprof::trace {

/// Largest slice; a file goes on in slice k+1 when a record would pass it.
inline constexpr size_t kSliceBytes = size_t{2} << 20;

/// Turns one record as the ring holds it into the record that the file holds. Called on the drain thread.
/// @return false to leave the record out (it counts as written)
using Converter = bool (*)(const void* in, void* out, const void* context);

/// What a record file is. @p name is without suffix, e.g. "stars_soc.data.0" or "aging.api_event.data": files
/// are <directory>/<name>.slice_<k> with a .done beside each finished one.
struct RecordSpec {
  std::string directory;  ///< existing data directory
  std::string name;
  /// Bytes of one record in the file, 1 to 4096; 0: units of any length (text, variable records), never cut.
  size_t record_size = 0;
  /// Put a running 4-bit counter into bits 6 to 9 of each record's first word (stars records: 64 or 128
  /// bytes).
  bool stamp_counter = false;
  /// Largest slice in bytes. Cut at the last whole record that fits.
  size_t slice_bytes = kSliceBytes;
  /// Set if the ring's layout differs: bytes of a ring record, and how to convert it.
  size_t ring_record_size = 0;
  Converter convert = nullptr;
  const void* context = nullptr;
};

/// What one file came to.
struct FileReport {
  std::string path;         ///< of slice 0, relative to the directory given to Report()
  size_t record_bytes = 0;  ///< of one record; 0 for units of any length
  uint64_t records = 0;     ///< records (units) in the files
  uint64_t bytes = 0;       ///< bytes in the files
  unsigned slices = 0;
  uint64_t aged_records = 0;  ///< that were in the files and went to keep a storage limit; not in the above
  unsigned aged_slices = 0;
  uint64_t lost = 0;  ///< accepted records that could not be written
  int error = 0;      ///< errno that ended the file, 0 if none
};

/// An output of a collection: numbered slices that always end on a record border. The first slice appears
/// with the first record. Append functions are for the drain thread (a Source) only; the object may be made
/// and dropped on any thread.
class RecordFile {
 public:
  /// Attaches a new file to @p collection.
  RecordFile(drain::Collection& collection, RecordSpec spec);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Copies (or converts) up to @p count records that lie one after the other and notes them in @p ledger,
  /// which must outlive the collection's Finish().
  /// @return how many were taken. Fewer than @p count: no staging memory is free, try again at a later visit.
  /// A file that failed takes everything and counts it as lost.
  size_t Append(const void* records, size_t count, drain::Ledger* ledger);

  /// Appends one unit of @p size bytes as a whole (at most 512 KiB), for record_size 0.
  /// @return false if there is no room now
  bool AppendUnit(const void* data, size_t size, drain::Ledger* ledger);

  /// True after the file failed for good.
  bool failed() const;
  /// Counts so far. Drain thread, or any thread after Collection::Finish().
  /// @param root  directory that FileReport::path is relative to
  FileReport Report(const std::string& root) const;

  const RecordSpec& spec() const { return spec_; }

 private:
  RecordSpec spec_;
  std::shared_ptr<drain::StagedFile> file_;
  unsigned counter_ = 0;
};

/// "aging.api_event.data", "unaging.compact.task_track", "unaging.additional.hash_dic" ...
std::string HostFileName(bool aging, std::string_view kind_and_tag);
/// DeviceFileName("stars_soc", 0) is "stars_soc.data.0".
std::string DeviceFileName(std::string_view kind, uint32_t device_id);

}  // namespace npuprof::trace
