// SPDX-License-Identifier: Apache-2.0
// How npuprof talks to a person: colour, aligned tables, figures with units, progress. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace npuprof::cli {

enum class Style { kPlain, kBold, kDim, kGood, kWarn, kBad };

/** True if @p stream is a terminal that wants colour (NO_COLOR unset or empty, TERM not "dumb"). */
bool WantsColour(std::FILE* stream);

/** @p text wrapped in the escape codes of @p style if @p colour, else unchanged. */
std::string Paint(std::string_view text, Style style, bool colour);

/** "1,234,567" */
std::string Count(uint64_t n);
/** "1.5 MiB"; below 1 KiB "n B". */
std::string Bytes(uint64_t n);
/** "1.234 s", "12.3 ms", "4 us" or "7 ns". */
std::string Duration(uint64_t ns);
/** Local time "2026-01-31 12:00:00" of microseconds since 1970. */
std::string LocalTime(uint64_t realtime_us);

/** Columns padded to the widest cell; columns whose cells all look like numbers are right-aligned. */
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  /** @p row must have as many cells as the header. */
  void Add(std::vector<std::string> row);
  /** Every line ends in a newline; the header is bold if @p colour. */
  std::string Render(bool colour) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/** One line on stderr that is redrawn in place; silent unless stderr is a terminal. Erased when destroyed. */
class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /** Redraws at most ten times a second. @p total 0: unknown. */
  void Update(uint64_t done, uint64_t total, std::string_view detail = {});

 private:
  std::string label_;
  bool active_;
  bool drawn_ = false;
  int64_t last_ns_ = 0;
};

}  // namespace npuprof::cli
