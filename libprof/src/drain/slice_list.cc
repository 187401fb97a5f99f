// SPDX-License-Identifier: Apache-2.0
#include "drain/slice_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/quiet_write.h"

namespace npuprof::drain {
namespace {

// Whole or not at all: what did not fit is taken back.
bool Write(const std::string& path, int flags, const std::string& text) {
  const QuietWrite quiet;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0640);
  if (fd < 0) return false;
  struct stat before;
  const bool sized = fstat(fd, &before) == 0;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written && sized && ftruncate(fd, before.st_size) != 0) {
    // Readers step over the torn line.
  }
  return close(fd) == 0 && written;
}

std::string Line(std::string_view slice, const SliceEntry& entry) {
  std::string line =
      fmt::format(R"({{"slice":"{}","bytes":{},"records":{})", slice, entry.bytes, entry.records);
  if (entry.crc32c) line += fmt::format(R"(,"crc32c":"{:08x}")", *entry.crc32c);
  return line + "}\n";
}

}  // namespace

SliceList::SliceList(const std::string& root) : path_(root.empty() ? "" : root + "/npuprof/slices.jsonl") {}

void SliceList::Flush() {
  // Without room for it now, there may be at the end.
  if (path_.empty() || pending_.empty() || Write(path_, O_APPEND, pending_)) pending_.clear();
}

void SliceList::Add(std::string_view slice, const SliceEntry& entry) {
  pending_ += Line(slice, entry);
  Flush();
}

void SliceList::Aged(std::string_view slice) {
  pending_ += fmt::format("{{\"aged\":\"{}\"}}\n", slice);
}

void SliceList::Replace(const std::map<std::string, SliceEntry>& slices) {
  if (path_.empty()) return;
  const std::string fresh = path_.substr(0, path_.rfind('/') + 1) + ".slices.jsonl.new";
  std::string text;
  for (const auto& [slice, entry] : slices) text += Line(slice, entry);
  if (!Write(fresh, O_TRUNC, text) || std::rename(fresh.c_str(), path_.c_str()) != 0) {
    unlink(fresh.c_str());
  } else {
    pending_.clear();
  }
}

}  // namespace npuprof::drain
