// SPDX-License-Identifier: Apache-2.0
// Numbers and cells as the published tables spell them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

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
  void Commit();  ///< flushes and gives the file its final name
  const std::filesystem::path& path() const { return path_; }

 private:
  static constexpr size_t kFlushBytes = 1 << 20;
  void Flush();
  [[noreturn]] void Fail(const char* what, int error);

  std::filesystem::path path_, temporary_;
  std::string buffer_;
  int fd_ = -1;
};

/// Rows of a table. Cells with commas, quotes or line breaks are quoted.
class CsvFile {
 public:
  explicit CsvFile(std::filesystem::path path) : file_(std::move(path)) {}
  CsvFile& Cell(std::string_view text);
  void EndRow() {
    row_ += '\n';
    file_.Write(row_);
    row_.clear();
    first_ = true;
    ++rows_;
  }
  /// Rows so far, the header included.
  uint64_t rows() const { return rows_; }
  void Commit() { file_.Commit(); }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  OutputFile file_;
  std::string row_;
  bool first_ = true;
  uint64_t rows_ = 0;
};

}  // namespace npuprof::analysis
