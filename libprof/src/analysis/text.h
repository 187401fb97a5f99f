// SPDX-License-Identifier: Apache-2.0
// Numbers and cells as the published tables spell them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
    buffer_.append(text);
    if (buffer_.size() >= kFlushBytes) Flush();
  }
  void Commit() { CommitAs(path_); }                 ///< flushes and gives the file its final name
  void CommitAs(const std::filesystem::path& path);  ///< another name than the one it was made for
  const std::filesystem::path& path() const { return path_; }

 private:
  static constexpr size_t kFlushBytes = 1 << 20;
  void Flush();
  [[noreturn]] void Fail(const char* what, int error);

  std::filesystem::path path_, temporary_;
  std::string buffer_;
  std::string failure_;  ///< why the file can no longer become whole
  int fd_ = -1;
};

/// Rows of a table, the first of which is the header. Cells with commas, quotes or line breaks are quoted. A table of
/// more rows than a file takes becomes several, `<table>_slice_<k>_<timestamp>.csv` with k from 0, each with the header.
class CsvFile {
 public:
  static constexpr uint64_t kRowsPerFile = 1'000'000;  ///< without the header

  /// @param path  "<table>_<timestamp>.csv"
  explicit CsvFile(std::filesystem::path path, uint64_t rows_per_file = kRowsPerFile);
  ~CsvFile();  ///< removes what was not committed
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  CsvFile& Cell(std::string_view text);
  void EndRow();
  /// Rows so far, the header included.
  uint64_t rows() const { return rows_; }
  void Commit();
  const std::filesystem::path& path() const { return path_; }
  /// The files of a table of `rows` rows, the header not counted.
  static std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& path, uint64_t rows,
                                                    uint64_t rows_per_file = kRowsPerFile);

 private:
  static std::filesystem::path SlicePath(const std::filesystem::path& path, uint64_t slice);
  void NextFile();

  std::filesystem::path path_;
  uint64_t rows_per_file_;
  std::unique_ptr<OutputFile> file_;
  std::string header_, row_;
  bool first_ = true, committed_ = false;
  uint64_t rows_ = 0, rows_in_file_ = 0, slices_ = 0;
};

}  // namespace npuprof::analysis
