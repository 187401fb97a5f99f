// SPDX-License-Identifier: Apache-2.0
#include "analysis/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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

void OutputFile::Commit() {
  Flush();
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    Fail("cannot be written", error);
  }
}

void OutputFile::Fail(const char* what, int error) {
  throw Error(fmt::format("{} {}: {}", path_.string(), what, std::strerror(error)));
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
