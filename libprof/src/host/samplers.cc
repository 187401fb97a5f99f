// SPDX-License-Identifier: Apache-2.0
#include "host/samplers.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

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

// The lines of the cards, without the two of headings. They are those of the process's own network namespace.
bool AppendCards(std::string* out) {
  std::string text;
  if (!AppendFile(AT_FDCWD, "/proc/self/net/dev", &text)) return false;
  size_t begin = 0;
  for (int heading = 0; heading < 2; ++heading) {
    const size_t line = text.find('\n', begin);
    if (line == std::string::npos) return false;
    begin = line + 1;
  }
  out->append(text, begin);
  return true;
}

uint64_t NumberAfter(const std::string& text, std::string_view key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

// A line as iotop's batch mode prints it for one process; the first of a file tells when it begins.
bool AppendDisk(uint64_t now_ns, SampleHistory* history, std::string* out) {
  std::string io;
  if (!AppendFile(AT_FDCWD, "/proc/self/io", &io)) return false;
  const SampleHistory now{now_ns, NumberAfter(io, "\nread_bytes: "), NumberAfter(io, "\nwrite_bytes: ")};
  const SampleHistory before = *history;
  *history = now;
  if (before.time_ns == 0) {
    *out += "start_time " + std::to_string(now_ns) + '\n';
    return true;
  }
  const double seconds = static_cast<double>(now_ns - before.time_ns) / 1e9;
  const auto rate = [&](uint64_t bytes, uint64_t old) {
    return seconds > 0 && bytes > old ? static_cast<double>(bytes - old) / 1024 / seconds : 0.0;
  };
  char line[160];
  std::snprintf(line, sizeof(line), "%7d be/4 %-8u %10.2f K/s %10.2f K/s  0.00 %%  0.00 %% %.15s\n", getpid(),
                geteuid(), rate(now.read_bytes, before.read_bytes),
                rate(now.written_bytes, before.written_bytes), program_invocation_short_name);
  *out += line;
  return true;
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
    case Sample::kProcessDisk:
      return "host_disk.data";
    case Sample::kNetwork:
      return "host_network.data";
  }
  return "";
}

bool TakeSample(Sample sample, uint64_t now_ns, SampleHistory* history, std::string* out) {
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
    case Sample::kProcessDisk:
      return AppendDisk(now_ns, history, out);
    case Sample::kNetwork:
      *out += "time " + time + '\n';
      return AppendCards(out);
  }
  return false;
}

Sampler::Sampler(drain::Collection& collection, const std::string& host_data, Sample sample,
                 std::chrono::nanoseconds period)
    : sample_(sample), period_(period), file_(collection, {host_data, SampleFileName(sample)}) {
  meter_.Start(static_cast<uint64_t>(period.count()));
}

drain::Progress Sampler::Poll(const drain::Pass& pass) {
  // The end of the window is a moment of its own; what other sources need many passes for is no reason for more of it.
  if (ended_) return {};
  ended_ = pass.final;
  text_.clear();
  // A sample that finds no room is not repeated later: it would no longer be of its moment.
  const uint64_t now = MonotonicRawNs();
  meter_.Note(now);
  if (!TakeSample(sample_, now, &history_, &text_) ||
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
  kind.sampling = meter_.Result();
  return kind;
}

}  // namespace npuprof::host
