// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace npuprof::drain {

/// What is known of a finished slice.
struct SliceEntry {
  uint64_t bytes = 0;
  uint64_t records = 0;  ///< or units
  std::optional<uint32_t> crc32c;
};

/// <root>/npuprof/slices.jsonl: one line of JSON for each finished slice, and one for each that was removed to keep a
/// limit, appended as it happens. So a directory whose process was killed still says what its finished slices held.
/// One thread at a time.
///
///     {"slice":"host/data/aging.api_event.data.slice_0","bytes":2097120,"records":52428,"crc32c":"1b2c3d4e"}
///     {"aged":"host/data/aging.api_event.data.slice_0"}
class SliceList {
 public:
  /// @p root  "" for a list that is not kept
  explicit SliceList(const std::string& root);

  void Add(std::string_view slice, const SliceEntry& entry);
  /// Noted at the next Flush(), which comes before the slice is removed.
  void Aged(std::string_view slice);
  void Flush();
  /// Starts the list anew with @p slices alone.
  void Replace(const std::map<std::string, SliceEntry>& slices);

 private:
  std::string path_, pending_;
};

}  // namespace npuprof::drain
