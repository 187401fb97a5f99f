// SPDX-License-Identifier: Apache-2.0
#include "host/samplers.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>

#include "host/clock.h"

namespace npuprof::host {
namespace {

// Appends what can be read at once from a /proc file; these texts come whole in one read if the buffer is large.
bool AppendFile(int directory, const char* path, std::string* out) {
  const int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[8192];
  ssize_t n;
  bool any = false;
  while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
    out->append(buffer, static_cast<size_t>(n));
    any = true;
    if (static_cast<size_t>(n) < sizeof(buffer)) break;
  }
  close(fd);
  return any;
}

bool AppendThreads(std::string* out) {
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  bool any = false;
  char path[64];
  while (const dirent* entry = readdir(tasks)) {
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    std::snprintf(path, sizeof(path), "%.32s/stat", entry->d_name);
    // A thread may have ended since it was listed.
    any |= AppendFile(dirfd(tasks), path, out);
  }
  closedir(tasks);
  return any;
}

// Only the lines "cpu ..." of /proc/stat: the long list of interrupts is of no use here.
bool AppendCpuLines(std::string* out) {
  std::string text;
  if (!AppendFile(AT_FDCWD, "/proc/stat", &text)) return false;
  size_t end = 0;
  while (text.compare(end, 3, "cpu") == 0) {
    const size_t line = text.find('\n', end);
    if (line == std::string::npos) break;
    end = line + 1;
  }
  out->append(text, 0, end);
  return end > 0;
}

}  // namespace

const char* SampleFileName(Sample sample) {
  switch (sample) {
    case Sample::kProcessCpu:
      return "host_cpu.data";
    case Sample::kProcessMemory:
      return "host_mem.data";
    case Sample::kSystemCpu:
      return "host_sys_cpu.data";
    case Sample::kSystemMemory:
      return "host_sys_mem.data";
  }
  return "";
}

bool TakeSample(Sample sample, uint64_t now_ns, std::string* out) {
  const std::string time = std::to_string(now_ns);
  switch (sample) {
    case Sample::kProcessCpu:
      *out += "time " + time + '\n';
      return AppendFile(AT_FDCWD, "/proc/uptime", out) && AppendThreads(out);
    case Sample::kProcessMemory:
      *out += time + ' ';
      return AppendFile(AT_FDCWD, "/proc/self/statm", out);
    case Sample::kSystemCpu:
      *out += "TimeStamp:" + time + '\n';
      if (!AppendCpuLines(out)) return false;
      *out += '\n';
      return true;
    case Sample::kSystemMemory:
      *out += "TimeStamp:" + time + '\n';
      if (!AppendFile(AT_FDCWD, "/proc/meminfo", out)) return false;
      *out += '\n';
      return true;
  }
  return false;
}

Sampler::Sampler(drain::Collection& collection, const std::string& host_data, Sample sample,
                 std::chrono::nanoseconds period)
    : sample_(sample), period_(period), file_(collection, {host_data, SampleFileName(sample)}) {}

drain::Progress Sampler::Poll(const drain::Pass&) {
  text_.clear();
  // A sample that finds no room is not repeated later: it would no longer be of its moment.
  if (!TakeSample(sample_, MonotonicRawNs(), &text_) ||
      !file_.AppendUnit(text_.data(), text_.size(), &ledger_)) {
    ++dropped_;
  }
  return {};
}

trace::Manifest::Kind Sampler::Describe() const {
  trace::Manifest::Kind kind;
  kind.kind = SampleFileName(sample_);
  kind.kind.resize(kind.kind.find('.'));
  kind.lost = ledger_.lost + dropped_;
  kind.records = ledger_.accepted - ledger_.lost;
  return kind;
}

}  // namespace npuprof::host
