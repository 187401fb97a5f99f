// SPDX-License-Identifier: Apache-2.0
#include "npuprof/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "npuprof/error.h"
#include "session/door_block.h"

namespace npuprof::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Completing a directory waits for tasks and for the disk.
constexpr seconds kStatusPatience{10}, kWorkPatience{60};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void Refuse(int pid, const std::string& why) {
  throw Error(fmt::format("cannot attach to process {}: {}", pid, why));
}

// Why no door was found.
[[noreturn]] void ExplainAbsence(int pid, const fs::path& proc) {
  const std::string maps = ReadAll(proc / "maps");
  for (const char* library : {"libaclprof.so", "libmsprofiler.so", "libprofapi.so"}) {
    if (maps.find(library) != std::string::npos) {
      Refuse(pid, fmt::format("it has {}, but either it has not used a runtime yet, or it was started with "
                              "NPUPROF_ATTACH=off, "
                              "or it has closed all its descriptors",
                              library));
    }
  }
  Refuse(pid,
         "it has not loaded libaclprof; start it with 'npuprof record -- PROGRAM' in an environment where it "
         "does");
}

// The descriptor that the process has of its door, opened anew; the kernel judges whether we may.
int OpenDoor(int pid) {
  const fs::path proc = fmt::format("/proc/{}", pid);
  std::error_code error;
  if (!fs::exists(proc / "stat", error)) Refuse(pid, "it does not exist");
  fs::directory_iterator list(proc / "fd", error);
  if (error) Refuse(pid, error.message() + "; attaching takes its user or root");
  const std::string wanted = fmt::format("/memfd:{} (deleted)", DoorBlock::kName);
  for (; list != fs::directory_iterator(); list.increment(error)) {
    if (error) break;
    std::error_code gone;
    if (fs::read_symlink(list->path(), gone).string() != wanted) continue;
    const int fd = open(list->path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0) return fd;
    if (errno != ENOENT) Refuse(pid, std::strerror(errno));
  }
  ExplainAbsence(pid, proc);
}

}  // namespace

class Target::Block {
 public:
  explicit Block(int pid) : fd_(OpenDoor(pid)) {
    struct stat file {};
    if (fstat(fd_, &file) == 0 && file.st_size == sizeof(DoorBlock)) {
      memory_ = mmap(nullptr, sizeof(DoorBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    }
    if (memory_ == MAP_FAILED ||
        std::memcmp(block().magic, DoorBlock::kMagic, sizeof DoorBlock::kMagic) != 0) {
      Release();
      Refuse(pid, "its library is of another version than this command");
    }
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      Release();
      Refuse(pid, "another npuprof speaks to it");
    }
  }
  ~Block() { Release(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  DoorBlock& block() { return *static_cast<DoorBlock*>(memory_); }

 private:
  void Release() {
    if (memory_ != MAP_FAILED) munmap(memory_, sizeof(DoorBlock));
    close(fd_);
  }
  int fd_;
  void* memory_ = MAP_FAILED;
};

Target::Target(int pid) : pid_(pid), block_(std::make_unique<Block>(pid)) {}
Target::~Target() = default;

bool Target::lives() const {
  const std::string stat = ReadAll(fmt::format("/proc/{}/stat", pid_));
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

Target::Answer Target::Ask(const std::string& request, seconds patience) {
  DoorBlock& block = block_->block();
  if (request.size() >= sizeof block.request) Refuse(pid_, "the request is too long");
  std::memcpy(block.request, request.c_str(), request.size() + 1);
  const uint32_t number = block.answered.load() + 1;
  block.asked.store(number);
  block.bell.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&block.bell), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const uint32_t answered = block.answered.load();
    if (answered == number) break;
    if (!lives()) Refuse(pid_, "it ended meanwhile");
    if (std::chrono::steady_clock::now() >= deadline) {
      const std::string stat = ReadAll(fmt::format("/proc/{}/stat", pid_));
      const bool stopped = stat.find(") T ") != std::string::npos;
      Refuse(pid_, fmt::format("it did not answer for {} s{}", patience.count(),
                               stopped ? ": it is stopped (SIGSTOP)" : ""));
    }
    const timespec time{0, 100'000'000};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&block.answered), FUTEX_WAIT, answered, &time, nullptr, 0);
  }
  std::istringstream lines(std::string(block.answer, strnlen(block.answer, sizeof block.answer)));
  Answer answer;
  std::string line, first;
  std::getline(lines, first);
  while (std::getline(lines, line)) {
    if (line.starts_with("state=")) answer.state = line.substr(6);
    if (line.starts_with("directory=")) answer.directory = line.substr(10);
  }
  if (first != "ok")
    throw Error(fmt::format("process {}: {}", pid_, first.starts_with("error ") ? first.substr(6) : first));
  return answer;
}

Target::Answer Target::Start(const Variables& variables) {
  std::string request = "start\n";
  for (const auto& [name, value] : variables) {
    if (value.find('\n') != std::string::npos)
      throw Error(fmt::format("'{}' has a line break", value), kUsage);
    if (!value.empty()) request += name + "=" + value + "\n";
  }
  return Ask(request, kWorkPatience);
}

Target::Answer Target::Stop() {
  return Ask("stop\n", kWorkPatience);
}

Target::Answer Target::Status() {
  return Ask("status\n", kStatusPatience);
}

}  // namespace npuprof::cli
