// SPDX-License-Identifier: Apache-2.0
#include "analysis/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analysis/no_room.h"
#include "base/quiet_write.h"

namespace npuprof::analysis {
namespace {

template <typename Append>
std::string Made(Append append) {
  TextBuffer text;
  append(text);
  return std::string(text.view());
}

}  // namespace

std::string Micros(int64_t ns) {
  return Made([&](TextBuffer& text) { text.Micros(ns); });
}

std::string ShortMicros(int64_t ns) {
  return Made([&](TextBuffer& text) { text.ShortMicros(ns); });
}

std::string ShortDecimal(double value) {
  return Made([&](TextBuffer& text) { text.ShortDecimal(value); });
}

std::string Decimal(double value) {
  return Made([&](TextBuffer& text) { text.Decimal(value); });
}

std::string JsonMicros(int64_t ns) {
  return Made([&](TextBuffer& text) { text.JsonMicros(ns); });
}

std::string JsonString(std::string_view text) {
  return Made([&](TextBuffer& buffer) { buffer.JsonString(text); });
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".part";
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd_ < 0) Fail("cannot be created", errno);
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void OutputFile::Flush() {
  const QuietWrite quiet;
  const char* data = buffer_.view().data();
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
  flushed_ += buffer_.size();
  buffer_.Clear();
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
  ThrowFor(error, failure_);
}

std::filesystem::path SlicePath(const std::filesystem::path& path, uint64_t slice) {
  const std::string name = path.filename().string();
  const size_t timestamp = std::min(name.rfind('_'), name.size());
  return path.parent_path() /
         fmt::format("{}_slice_{}{}", name.substr(0, timestamp), slice, name.substr(timestamp));
}

CsvFile::CsvFile(TablePlace place, uint64_t rows_per_file)
    : path_(std::move(place.path)),
      sink_(place.sink),
      rows_per_file_(rows_per_file),
      file_(sink_ ? nullptr : std::make_unique<OutputFile>(path_)) {}

CsvFile::~CsvFile() {
  if (committed_) return;
  std::error_code ignored;
  for (uint64_t slice = 0; slice < slices_; ++slice)
    std::filesystem::remove(SlicePath(path_, slice), ignored);
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
  if (sink_) {
    sink_->EndRow();
    ++rows_;
    return;
  }
  TextBuffer& text = file_->text();
  text.Add('\n');
  if (rows_++ == 0) {
    header_ = text.view();
  } else {
    ++rows_in_file_;
  }
  file_->WriteSome();
  first_ = true;
}

void CsvFile::Commit() {
  if (sink_) {
    committed_ = true;
  } else if (slices_ == 0) {
    file_->Commit();
  } else {
    file_->CommitAs(SlicePath(path_, slices_++));
  }
  committed_ = true;
}

}  // namespace npuprof::analysis
