// SPDX-License-Identifier: Apache-2.0
// Numbers and cells as the published tables spell them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/columns.h"
#include "analysis/text_buffer.h"

namespace npuprof::analysis {

/// Nanoseconds as microseconds with three decimals: 1234567 -> "1234.567".
std::string Micros(int64_t ns);
/// The same without trailing zeros: 1500000 -> "1500", 99800 -> "99.8".
std::string ShortMicros(int64_t ns);
/// At most three decimals, no trailing zeros: 36.25, 9.483, 16.
std::string ShortDecimal(double value);
/// Rounded to three decimals, at least one of them shown: 0.55, 100.0.
std::string Decimal(double value);
/// The JSON number for nanoseconds in microseconds, at least one decimal: 99.8, 100.0.
std::string JsonMicros(int64_t ns);
/// Quoted and escaped for JSON; bytes that are no UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

/// A file that appears under its name only when complete. Errors throw Error naming the file.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();  ///< removes what was not committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(std::string_view text) {
    buffer_.Add(text);
    WriteSome();
  }
  /// What is appended here is written once there is enough of it and WriteSome() is called, at the latest by Commit().
  TextBuffer& text() { return buffer_; }
  void WriteSome() {
    if (buffer_.size() >= kFlushBytes) Flush();
  }
  void Commit() { CommitAs(path_); }                 ///< flushes and gives the file its final name
  void CommitAs(const std::filesystem::path& path);  ///< another name than the one it was made for
  const std::filesystem::path& path() const { return path_; }
  uint64_t bytes() const { return flushed_ + buffer_.size(); }  ///< of all that was written

 private:
  static constexpr size_t kFlushBytes = 256 << 10;  // enough per call, and stays in the cache
  void Flush();
  [[noreturn]] void Fail(const char* what, int error);

  std::filesystem::path path_, temporary_;
  TextBuffer buffer_;
  std::string failure_;  ///< why the file can no longer become whole
  uint64_t flushed_ = 0;
  int fd_ = -1;
};

/// "<name>_<timestamp>.csv" as one of several: "<name>_slice_<k>_<timestamp>.csv".
std::filesystem::path SlicePath(const std::filesystem::path& path, uint64_t slice);

/// Where a table goes: to a file, or to something in memory.
struct TablePlace {
  std::filesystem::path path;
  CellSink* sink = nullptr;
  TablePlace(std::filesystem::path file) : path(std::move(file)) {}
  TablePlace(CellSink* cells) : sink(cells) {}
};

/// Rows of a table, the first of which is the header. Cells with commas, quotes or line breaks are quoted. A table of
/// more rows than a file takes becomes several, `<table>_slice_<k>_<timestamp>.csv` with k from 0, each with the header.
class CsvFile {
 public:
  static constexpr uint64_t kRowsPerFile = 1'000'000;  ///< without the header

  /// @param place  "<table>_<timestamp>.csv", or what takes the cells instead
  explicit CsvFile(TablePlace place, uint64_t rows_per_file = kRowsPerFile);
  ~CsvFile();  ///< removes what was not committed
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  CsvFile& Cell(std::string_view text) {
    if (sink_) {
      sink_->Text(text);
    } else {
      Next().CsvCell(text);
    }
    return *this;
  }
  CsvFile& Number(uint64_t value) {
    if (sink_) {
      sink_->Number(value);
    } else {
      Next().Number(value);
    }
    return *this;
  }
  CsvFile& Micros(int64_t ns) {
    return Time(ns, [&](TextBuffer& text) { text.Micros(ns); });
  }
  CsvFile& ShortMicros(int64_t ns) {
    return Time(ns, [&](TextBuffer& text) { text.ShortMicros(ns); });
  }
  CsvFile& JsonMicros(int64_t ns) {
    return Time(ns, [&](TextBuffer& text) { text.JsonMicros(ns); });
  }
  /// A moment; the tabulator keeps spreadsheets from rounding it.
  CsvFile& Moment(int64_t ns) {
    return Time(ns, [&](TextBuffer& text) { text.Micros(ns).Add('\t'); });
  }
  /// With six decimals, and 0 without any.
  CsvFile& Wait(int64_t ns, bool known) {
    return Time(ns, [&](TextBuffer& text) { known ? text.Micros(ns).Add("000") : text.Number(0); });
  }
  CsvFile& Fixed(double value) {
    return Real(value, [&](TextBuffer& text) { text.Fixed(value); });
  }
  CsvFile& Decimal(double value) {
    return Real(value, [&](TextBuffer& text) { text.Decimal(value); });
  }
  CsvFile& ShortDecimal(double value) {
    return Real(value, [&](TextBuffer& text) { text.ShortDecimal(value); });
  }
  CsvFile& Whole(double value) {
    return Real(value, [&](TextBuffer& text) { text.Whole(value); });
  }
  void EndRow();
  /// Rows so far, the header included.
  uint64_t rows() const { return rows_; }
  void Commit();
  const std::filesystem::path& path() const { return path_; }
  /// The files of a table of `rows` rows, the header not counted.
  static std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& path, uint64_t rows,
                                                    uint64_t rows_per_file = kRowsPerFile);

 private:
  void NextFile();
  TextBuffer& Next() {
    if (first_) {
      if (rows_ > 0 && rows_in_file_ == rows_per_file_) NextFile();
      first_ = false;
    } else {
      file_->text().Add(',');
    }
    return file_->text();
  }
  template <typename Append>
  CsvFile& Time(int64_t ns, Append append) {
    if (sink_) {
      sink_->Nanoseconds(ns);
    } else {
      append(Next());
    }
    return *this;
  }
  template <typename Append>
  CsvFile& Real(double value, Append append) {
    if (sink_) {
      sink_->Real(value);
    } else {
      append(Next());
    }
    return *this;
  }

  std::filesystem::path path_;
  CellSink* sink_;
  uint64_t rows_per_file_;
  std::unique_ptr<OutputFile> file_;
  std::string header_;
  bool first_ = true, committed_ = false;
  uint64_t rows_ = 0, rows_in_file_ = 0, slices_ = 0;
};

}  // namespace npuprof::analysis
