// SPDX-License-Identifier: Apache-2.0
#include "session/keeping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

namespace npuprof {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMegabyte = 1'000'000;

struct Setting {
  const char* variable;
  const char* name;  // in the file
  uint64_t low, high, unit;
  uint64_t Keeping::*value;
};
constexpr Setting kSettings[] = {
    {"NPUPROF_ROTATE_SECONDS", "rotate_seconds", 1, 31536000, 1, &Keeping::rotate_seconds},
    {"NPUPROF_ROTATE_MB", "rotate_mb", 1, 4294967296, kMegabyte, &Keeping::rotate_bytes},
    {"NPUPROF_KEEP_COUNT", "keep_count", 1, 1000000, 1, &Keeping::keep_count},
    {"NPUPROF_KEEP_MB", "keep_mb", 1, 4294967296, kMegabyte, &Keeping::keep_bytes},
    {"NPUPROF_KEEP_SECONDS", "keep_seconds", 1, 3153600000, 1, &Keeping::keep_seconds},
};

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

struct Value {
  std::string text, where;
};

// What the file says, by name.
std::map<std::string, Value> ReadFile(const char* path, std::vector<std::string>* warnings) {
  std::map<std::string, Value> values;
  std::ifstream in(path);
  if (!in) {
    warnings->push_back(
        fmt::format("NPUPROF_CONFIG is \"{}\", which cannot be read; nothing is taken from it", path));
    return values;
  }
  unsigned number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string text = Trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    const size_t equals = text.find('=');
    const std::string name = Trim(std::string_view(text).substr(0, equals));
    const bool known = std::any_of(std::begin(kSettings), std::end(kSettings),
                                   [&](const Setting& setting) { return name == setting.name; });
    if (equals == std::string::npos || !known) {
      std::string names;
      for (const Setting& setting : kSettings)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", setting.name);
      warnings->push_back(
          fmt::format("{}:{} is \"{}\"; allowed is name = value with one of {}", path, number, text, names));
      continue;
    }
    values[name] = {Trim(std::string_view(text).substr(equals + 1)), fmt::format("{}:{}", path, number)};
  }
  return values;
}

int64_t Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec;
}

// When a directory was written last, seconds since 1970; nothing if it is not npuprof's. A process that died before its first
// manifest left the directory for it alone.
std::optional<int64_t> Written(const fs::path& path) {
  struct stat st;
  if (stat((path / "npuprof/manifest.json").c_str(), &st) == 0) return st.st_mtime;
  if (stat((path / "npuprof").c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return st.st_mtime;
  return std::nullopt;
}

// Between its making and its lock a directory looks like one that nobody writes.
constexpr int64_t kBeginning = 60;

/// One directory that could go.
struct Candidate {
  fs::path path;
  uint64_t bytes = 0;
  int64_t changed = 0;  // when it was written last, seconds since 1970
};

bool IsWritten(const fs::path& path) {
  const int fd = open((path / "npuprof/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return taken;
}

uint64_t BlocksBelow(const fs::path& path) {
  struct stat st;
  uint64_t bytes = lstat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_blocks) * 512 : 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (lstat(it->path().c_str(), &st) == 0) bytes += static_cast<uint64_t>(st.st_blocks) * 512;
  }
  return bytes;
}

constexpr const char* kGoing = ".going";

// Renamed first, so that nobody meets half of a directory.
bool RemoveWhole(const fs::path& path) {
  const fs::path going = path.parent_path() / ("." + path.filename().string() + kGoing);
  std::error_code error;
  fs::rename(path, going, error);
  if (error) return false;
  fs::remove_all(going, error);
  return !error;
}

}  // namespace

Keeping ReadKeeping(std::vector<std::string>* warnings) {
  Keeping keeping;
  std::map<std::string, Value> values;
  if (const char* path = std::getenv("NPUPROF_CONFIG"); path != nullptr && *path != '\0') {
    values = ReadFile(path, warnings);
  }
  for (const Setting& setting : kSettings) {
    const char* text = std::getenv(setting.variable);
    if (text != nullptr && *text != '\0') values[setting.name] = {text, setting.variable};
    const auto value = values.find(setting.name);
    if (value == values.end()) continue;
    const std::string& digits = value->second.text;
    uint64_t number = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (code != std::errc() || end != digits.data() + digits.size() || number < setting.low ||
        number > setting.high) {
      warnings->push_back(fmt::format("{} is \"{}\"; allowed is a whole number from {} to {}; taken is none",
                                      value->second.where, digits, setting.low, setting.high));
      continue;
    }
    keeping.*setting.value = number * setting.unit;
  }
  return keeping;
}

AgeClock::AgeClock() : AgeClock(Seconds(CLOCK_REALTIME), Seconds(CLOCK_BOOTTIME)) {}

int64_t AgeClock::Now() const {
  return Now(Seconds(CLOCK_REALTIME), Seconds(CLOCK_BOOTTIME));
}

std::vector<std::string> RemoveOld(const std::string& output, const std::string& own, const Keeping& keeping,
                                   int64_t now) {
  std::vector<std::string> removed;
  const int fd = open(output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return removed;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {  // somebody else is at it
    close(fd);
    return removed;
  }
  std::vector<Candidate> candidates;
  uint64_t count = 0, bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(output, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(".PROF_") && name.ends_with(kGoing)) {  // of a process that died meanwhile
      std::error_code ignored;
      fs::remove_all(it->path(), ignored);
      continue;
    }
    if (!name.starts_with("PROF_")) continue;
    const std::optional<int64_t> written = Written(it->path());
    if (!written) continue;
    ++count;
    const uint64_t size = keeping.keep_bytes > 0 ? BlocksBelow(it->path()) : 0;
    bytes += size;
    std::error_code ignored;
    const bool begins =
        now - *written < kBeginning && !fs::exists(it->path() / "npuprof/manifest.json", ignored);
    if (name != own && !begins && !IsWritten(it->path())) candidates.push_back({it->path(), size, *written});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.changed, a.path) < std::pair(b.changed, b.path);
  });
  for (const Candidate& oldest : candidates) {
    const bool old =
        keeping.keep_seconds > 0 && now - oldest.changed > static_cast<int64_t>(keeping.keep_seconds);
    const bool many = keeping.keep_count > 0 && count > keeping.keep_count;
    const bool large = keeping.keep_bytes > 0 && bytes > keeping.keep_bytes;
    if (!old && !many && !large) break;
    if (!RemoveWhole(oldest.path)) continue;
    removed.push_back(oldest.path.string());
    --count;
    bytes -= oldest.bytes;
  }
  close(fd);
  return removed;
}

}  // namespace npuprof
