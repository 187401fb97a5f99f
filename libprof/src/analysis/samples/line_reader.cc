// SPDX-License-Identifier: Apache-2.0
#include "analysis/samples/line_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "analysis/metadata.h"

namespace npuprof::analysis {
namespace {

constexpr size_t kChunkBytes = 256 * 1024;
constexpr std::string_view kBlanks = " \t\r";

}  // namespace

LineReader::LineReader(const Slices& slices, Diagnostics* diagnostics, std::function<void(uint64_t)> progress)
    : slices_(slices), diagnostics_(diagnostics), progress_(std::move(progress)) {}

LineReader::~LineReader() {
  if (fd_ >= 0) ::close(fd_);
}

void LineReader::Report(size_t slice, uint64_t offset, const std::string& reason) {
  diagnostics_->Record(slices_[slice].name, offset, reason);
}

bool LineReader::OpenNext() {
  while (slice_ < slices_.size()) {
    const Slice& slice = slices_[slice_++];
    fd_ = ::open(slice.path.c_str(), O_RDONLY | O_CLOEXEC);
    offset_ = 0;
    if (fd_ >= 0) return true;
    diagnostics_->Failed(slice.name, "could not be read");
  }
  return false;
}

// Appends what comes next; false if nothing does. The buffer holds the beginning of one line alone then.
bool LineReader::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  for (;;) {
    if (fd_ < 0 && !OpenNext()) return false;
    const size_t kept = buffer_.size();
    if (kept == 0) {
      front_slice_ = slice_ - 1;
      front_offset_ = offset_;
    }
    buffer_.resize(kept + kChunkBytes);
    ssize_t got;
    do {
      got = ::read(fd_, buffer_.data() + kept, kChunkBytes);
    } while (got < 0 && errno == EINTR);
    buffer_.resize(kept + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0)
      diagnostics_->Failed(slices_[slice_ - 1].name,
                           fmt::format("could not be read beyond byte {}", offset_));
    const size_t written = std::min(buffer_.find('\0', kept), buffer_.size());
    const bool unused = written < buffer_.size();
    buffer_.resize(written);
    offset_ += written - kept;
    if (progress_ && got > 0) progress_(static_cast<uint64_t>(got));
    if (got <= 0 || unused) {
      ::close(fd_);
      fd_ = -1;
      // Behind unwritten space nothing continues.
      if (unused && written == kept && kept > 0) buffer_.clear();
    }
    if (buffer_.size() > kept) return true;
  }
}

bool LineReader::Next(std::string_view* line) {
  for (;;) {
    const size_t end = buffer_.find('\n', begin_);
    if (end != std::string::npos) {
      line_slice_ = front_slice_;
      line_offset_ = front_offset_;
      *line = std::string_view(buffer_).substr(begin_, end - begin_);
      front_offset_ += end + 1 - begin_;
      begin_ = end + 1;
      if (skipping_) {
        skipping_ = false;
        continue;
      }
      return true;
    }
    if (buffer_.size() - begin_ > kMostBytes) {
      if (!skipping_)
        Report(front_slice_, front_offset_, fmt::format("a line of more than {} bytes", kMostBytes));
      skipping_ = true;
      front_offset_ += buffer_.size() - begin_;
      begin_ = buffer_.size();
    }
    const size_t rest = buffer_.size() - begin_;
    if (Fill()) continue;
    if (rest > 0 && !skipping_) Report(front_slice_, front_offset_, "torn line at the end");
    return false;
  }
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<uint64_t> Numbers(std::string_view line) {
  std::vector<uint64_t> numbers;
  for (std::string_view word : Words(line)) {
    if (word.ends_with(':')) word.remove_suffix(1);
    const auto number = ParseUnsigned(word);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

bool IsHeading(std::string_view line) {
  const auto words = Words(line);
  return !words.empty() && std::isalpha(static_cast<unsigned char>(words[0][0])) != 0;
}

}  // namespace npuprof::analysis
