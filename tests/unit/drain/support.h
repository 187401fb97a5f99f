// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "drain/drain.h"
#include "trace/record_file.h"

namespace npuprof::drain {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A directory that is gone after the test.
class TempDir {
 public:
  explicit TempDir(const std::string& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = parent + "/npuprof-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline bool Exists(const std::string& path) {
  return std::filesystem::exists(path);
}

/// All slices of a file, one after the other.
inline std::string ReadSlices(const std::string& base) {
  std::string all;
  for (unsigned k = 0; Exists(fmt::format("{}.slice_{}", base, k)); ++k) {
    all += ReadFile(fmt::format("{}.slice_{}", base, k));
  }
  return all;
}

/// Records whose bytes tell their number; no record is all zeros.
inline std::string MakeRecords(size_t size, size_t count, uint64_t first = 1) {
  std::string data(size * count, '\0');
  for (size_t i = 0; i < count; ++i) {
    char* record = data.data() + i * size;
    for (size_t at = 0; at < size; ++at) record[at] = static_cast<char>(((first + i) * 31 + at * 7) | 1);
    const uint64_t number = first + i;
    std::memcpy(record + size - 8, &number, sizeof number);
  }
  return data;
}

/// A source that holds fixed data and yields it in small bites.
class Feeder final : public Source {
 public:
  Feeder(std::shared_ptr<trace::RecordFile> file, std::string data, size_t bite = 1000)
      : file_(std::move(file)), data_(std::move(data)), bite_(bite) {}

  Progress Poll(const Pass&) override {
    const size_t size = file_->spec().ring_record_size;
    const size_t left = data_.size() / size - taken_;
    const size_t wanted = std::min(left, bite_);
    const size_t took = wanted == 0 ? 0 : file_->Append(data_.data() + taken_ * size, wanted, &ledger);
    taken_ += took;
    taken.store(taken_);
    if (took < wanted) ++blocked_count;
    return {took == wanted && left > wanted, took < wanted, 0};
  }

  Ledger ledger;
  std::atomic<size_t> taken{0};
  std::atomic<unsigned> blocked_count{0};

 private:
  std::shared_ptr<trace::RecordFile> file_;
  std::string data_;
  size_t bite_;
  size_t taken_ = 0;
};

/// Collects messages.
class Messages {
 public:
  MessageHandler Handler() {
    return [this](Severity, const std::string& text) {
      std::lock_guard lock(mutex_);
      texts_.push_back(text);
    };
  }
  unsigned Count(const std::string& part) const {
    std::lock_guard lock(mutex_);
    return static_cast<unsigned>(std::count_if(texts_.begin(), texts_.end(), [&](const std::string& text) {
      return text.find(part) != std::string::npos;
    }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

inline std::shared_ptr<trace::RecordFile> MakeFile(Collection& collection, const std::string& directory,
                                                   const std::string& name, size_t record_size) {
  trace::RecordSpec spec;
  spec.directory = directory;
  spec.name = name;
  spec.record_size = record_size;
  return std::make_shared<trace::RecordFile>(collection, spec);
}

/// Waits until @p condition holds. @return false after @p patience
template <typename F>
bool Eventually(F&& condition, milliseconds patience = seconds(30)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    struct timespec pause {
      0, 2'000'000
    };
    nanosleep(&pause, nullptr);
  }
  return true;
}

inline std::string PathLabel(Options::Choice choice) {
  switch (choice) {
    case Options::Choice::kUring:
      return "uring";
    case Options::Choice::kDirect:
      return "direct";
    case Options::Choice::kPwritev:
      return "pwritev";
    case Options::Choice::kAuto:
      break;
  }
  return "auto";
}

}  // namespace npuprof::drain
