// SPDX-License-Identifier: Apache-2.0
#include "analysis/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "analysis/error.h"
#include "base/quiet_write.h"

namespace npuprof::analysis {
namespace {

std::string StripZeros(std::string text) {
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string Micros(int64_t ns) {
  const uint64_t size = ns < 0 ? -static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string ShortMicros(int64_t ns) {
  return StripZeros(Micros(ns));
}

std::string ShortDecimal(double value) {
  return StripZeros(fmt::format("{:.3f}", value));
}

std::string Decimal(double value) {
  if (!std::isfinite(value)) return "N/A";
  // Beyond 2^53 there are no decimals left to round, and scaling would only do harm.
  const double rounded = std::fabs(value) < 9e12 ? std::round(value * 1000) / 1000 : value;
  std::string text = fmt::format("{}", rounded);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string JsonMicros(int64_t ns) {
  std::string text = ShortMicros(ns);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string JsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".part";
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd_ < 0) Fail("cannot be created", errno);
  buffer_.reserve(kFlushBytes + 4096);
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void OutputFile::Flush() {
  const QuietWrite quiet;
  const char* data = buffer_.data();
  size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t written = ::write(fd_, data, left);
    if (written < 0) {
      if (errno == EINTR) continue;
      Fail("cannot be written", errno);
    }
    data += written;
    left -= static_cast<size_t>(written);
  }
  buffer_.clear();
}

void OutputFile::CommitAs(const std::filesystem::path& path) {
  // Whoever went on after a failed write must not get a file with a gap.
  if (!failure_.empty()) throw Error(failure_);
  Flush();
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0 || ::rename(temporary_.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    Fail("cannot be written", error);
  }
}

void OutputFile::Fail(const char* what, int error) {
  failure_ = fmt::format("{} {}: {}", path_.string(), what, std::strerror(error));
  throw Error(failure_);
}

CsvFile::CsvFile(std::filesystem::path path, uint64_t rows_per_file)
    : path_(std::move(path)), rows_per_file_(rows_per_file), file_(std::make_unique<OutputFile>(path_)) {}

CsvFile::~CsvFile() {
  if (committed_) return;
  std::error_code ignored;
  for (uint64_t slice = 0; slice < slices_; ++slice)
    std::filesystem::remove(SlicePath(path_, slice), ignored);
}

std::filesystem::path CsvFile::SlicePath(const std::filesystem::path& path, uint64_t slice) {
  const std::string name = path.filename().string();
  const size_t timestamp = std::min(name.rfind('_'), name.size());
  return path.parent_path() /
         fmt::format("{}_slice_{}{}", name.substr(0, timestamp), slice, name.substr(timestamp));
}

std::vector<std::filesystem::path> CsvFile::FilesOf(const std::filesystem::path& path, uint64_t rows,
                                                    uint64_t rows_per_file) {
  if (rows <= rows_per_file) return {path};
  std::vector<std::filesystem::path> files;
  for (uint64_t slice = 0; slice * rows_per_file < rows; ++slice) files.push_back(SlicePath(path, slice));
  return files;
}

void CsvFile::NextFile() {
  file_->CommitAs(SlicePath(path_, slices_++));
  file_ = std::make_unique<OutputFile>(path_);
  file_->Write(header_);
  rows_in_file_ = 0;
}

void CsvFile::EndRow() {
  row_ += '\n';
  if (rows_ == 0) {
    header_ = row_;
  } else if (rows_in_file_++ == rows_per_file_) {
    NextFile();
    rows_in_file_ = 1;
  }
  file_->Write(row_);
  row_.clear();
  first_ = true;
  ++rows_;
}

void CsvFile::Commit() {
  if (slices_ == 0) {
    file_->Commit();
  } else {
    file_->CommitAs(SlicePath(path_, slices_++));
  }
  committed_ = true;
}

CsvFile& CsvFile::Cell(std::string_view text) {
  if (!first_) row_ += ',';
  first_ = false;
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    row_ += text;
    return *this;
  }
  row_ += '"';
  for (const char c : text) {
    if (c == '"') row_ += '"';
    row_ += c;
  }
  row_ += '"';
  return *this;
}

}  // namespace npuprof::analysis
