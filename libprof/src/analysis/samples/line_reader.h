// SPDX-License-Identifier: Apache-2.0
// Lines of text out of a row of slices, a chunk at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/diagnostics.h"
#include "analysis/slices.h"

namespace npuprof::analysis {

/// Whole lines in file order. A line that straddles two slices is joined; a torn one at a cut-off end, and lines longer
/// than kMostBytes, are stepped over and reported. Space that was never written (zeros) ends a slice. Memory: one
/// chunk.
class LineReader {
 public:
  static constexpr size_t kMostBytes = 64 * 1024;

  /// `progress` may be empty; it gets the bytes read since its last call.
  LineReader(const Slices& slices, Diagnostics* diagnostics, std::function<void(uint64_t)> progress = {});
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line without its end, valid until the next call. False at the end.
  bool Next(std::string_view* line);
  /// Reports the last line as broken for the given reason.
  void Broken(const std::string& reason) { Report(line_slice_, line_offset_, reason); }

 private:
  bool Fill();
  void Report(size_t slice, uint64_t offset, const std::string& reason);
  bool OpenNext();

  const Slices& slices_;
  Diagnostics* diagnostics_;
  std::function<void(uint64_t)> progress_;
  size_t slice_ = 0;  ///< one beyond the open one
  int fd_ = -1;
  uint64_t offset_ = 0;        ///< read of the open slice
  uint64_t front_offset_ = 0;  ///< of the first byte of what is left in buffer_
  size_t front_slice_ = 0;
  std::string buffer_;
  size_t begin_ = 0;
  bool skipping_ = false;  ///< the rest of a line that is too long
  size_t line_slice_ = 0;
  uint64_t line_offset_ = 0;
};

/// Splits at blanks.
std::vector<std::string_view> Words(std::string_view line);
/// Numbers of a line of whole numbers; colons behind them do not count. Empty if a word is none.
std::vector<uint64_t> Numbers(std::string_view line);
/// Whether a line names columns instead of holding values.
bool IsHeading(std::string_view line);

}  // namespace npuprof::analysis
