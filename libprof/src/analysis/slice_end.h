// SPDX-License-Identifier: Apache-2.0
// Where the whole records of a slice end that nobody finished.
#pragma once

#include <cstdint>
#include <string_view>

namespace npuprof::analysis {

struct SliceEnd {
  uint64_t bytes = 0;    ///< of whole records from the start
  uint64_t records = 0;  ///< or lines
  uint64_t torn = 0;     ///< bytes of a record that is there in part
  uint64_t unused = 0;   ///< bytes that were never written, and whatever lies behind them
};

/// Judges the contents of a slice. Slices written past the page cache have their full size from the start and zeros
/// where nothing was written yet; no record is all zeros. Blocks reach the disk in any order, so what lies behind
/// unwritten space is younger than it and is not counted.
/// @param record_bytes  0: text, whose units are lines
SliceEnd FindEnd(std::string_view contents, uint32_t record_bytes);

}  // namespace npuprof::analysis
