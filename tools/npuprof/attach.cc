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

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "npuprof/error.h"
#include "session/door_block.h"

namespace npuprof::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Completing a directory waits for tasks and for the disk.
constexpr seconds kStatusPatience{10}, kWorkPatience{60};
constexpr milliseconds kLook{10};
// For what takes a process a moment: the first words of a new door, its own end.
constexpr int kLooks = 100;
constexpr const char* kLibraries[] = {"libaclprof.so", "libmsprofiler.so", "libprofapi.so"};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

[[noreturn]] void Refuse(int pid, const std::string& why) {
  throw Error(fmt::format("cannot attach to process {}: {}", pid, why));
}

bool Lives(int pid) {
  const std::string stat = ReadAll(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

// Refuses a process that will never have a door, whatever it uses.
void RefuseIfItNeverWill(int pid, const fs::path& proc) {
  std::string maps = ReadAll(proc / "maps");
  // One that ends has lost its memory a moment before it says so.
  for (int look = 0; look < kLooks && maps.empty() && Lives(pid); ++look) {
    std::this_thread::sleep_for(kLook);
    maps = ReadAll(proc / "maps");
  }
  if (!Lives(pid)) Refuse(pid, "it has ended");
  if (std::none_of(std::begin(kLibraries), std::end(kLibraries),
                   [&](const char* name) { return maps.find(name) != std::string::npos; })) {
    Refuse(
        pid,
        "it has not loaded libaclprof; start it with 'npuprof record -- PROGRAM' in an environment where it "
        "does");
  }
  const std::string off = std::string("NPUPROF_ATTACH=off") + '\0';
  const std::string given = '\0' + ReadAll(proc / "environ");
  if (given.find('\0' + off) != std::string::npos) Refuse(pid, "it was started with NPUPROF_ATTACH=off");
}

// The descriptor that the process has of its door, opened anew; the kernel judges whether we may. -1 if it has none and may
// come to have one.
int FindDoor(int pid) {
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
  RefuseIfItNeverWill(pid, proc);
  return -1;
}

int OpenDoor(int pid) {
  const int fd = FindDoor(pid);
  if (fd < 0)
    Refuse(pid, "it has libaclprof, but it has not used a runtime yet, or it has closed all its descriptors");
  return fd;
}

// The id of a process as it sees it itself, which a container makes another one.
int OwnId(int pid) {
  std::istringstream status(ReadAll(fmt::format("/proc/{}/status", pid)));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) return std::atoi(line.c_str() + line.rfind('\t') + 1);
  }
  return pid;
}

}  // namespace

class Target::Block {
 public:
  explicit Block(int pid) : fd_(OpenDoor(pid)) {
    for (int look = 0; look < kLooks && !IsMade(); ++look) std::this_thread::sleep_for(kLook);
    if (memory_ == MAP_FAILED ||
        std::memcmp(block().magic, DoorBlock::kMagic, sizeof DoorBlock::kMagic) != 0) {
      Release();
      Refuse(pid, "its library is of another version than this command");
    }
    if (block().owner != OwnId(pid)) {
      Release();
      Refuse(pid, "it was forked a moment ago and has not used a runtime yet");
    }
  }
  ~Block() { Release(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  DoorBlock& block() { return *static_cast<DoorBlock*>(memory_); }

  /// To speak, while it lives and is mine().
  class Turn {
   public:
    explicit Turn(const Block& block) : fd_(block.fd_) {}
    ~Turn() { flock(fd_, LOCK_UN); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool mine() const { return flock(fd_, LOCK_EX | LOCK_NB) == 0; }

   private:
    int fd_;
  };

 private:
  bool IsMade() {
    struct stat file {};
    if (memory_ == MAP_FAILED && fstat(fd_, &file) == 0 && file.st_size == sizeof(DoorBlock))
      memory_ = mmap(nullptr, sizeof(DoorBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    return memory_ != MAP_FAILED && block().magic[0] != '\0';
  }
  void Release() {
    if (memory_ != MAP_FAILED) munmap(memory_, sizeof(DoorBlock));
    close(fd_);
  }
  int fd_;
  void* memory_ = MAP_FAILED;
};

bool HasUsedRuntime(int pid) {
  const int fd = FindDoor(pid);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

void AwaitRuntime(int pid, const Interruption& interruption) {
  while (!HasUsedRuntime(pid)) {
    if (interruption.signal() != 0)
      Refuse(pid,
             fmt::format("interrupted ({}) before it had used a runtime", SignalName(interruption.signal())));
    std::this_thread::sleep_for(kLook);
  }
}

Target::Target(int pid) : pid_(pid), block_(std::make_unique<Block>(pid)) {}
Target::~Target() = default;

bool Target::lives() const {
  return Lives(pid_);
}

// Judges whether to wait on, for what one request of a command waits for.
class Target::Wait {
 public:
  Wait(const Target& target, seconds patience, const Interruption* interruption)
      : target_(target),
        patience_(patience),
        deadline_(std::chrono::steady_clock::now() + patience),
        interruption_(interruption) {}

  /// Why not, or "".
  std::string Over() const {
    if (!target_.lives()) return "it ended meanwhile";
    if (interruption_ && interruption_->signal() != 0)
      return fmt::format("interrupted ({}) before it had begun", SignalName(interruption_->signal()));
    if (std::chrono::steady_clock::now() < deadline_) return "";
    const std::string stat = ReadAll(fmt::format("/proc/{}/stat", target_.pid_));
    const bool stopped = stat.find(") T ") != std::string::npos;
    return fmt::format("it did not answer for {} s{}", patience_.count(),
                       stopped ? ": it is stopped (SIGSTOP)" : "");
  }

 private:
  const Target& target_;
  seconds patience_;
  std::chrono::steady_clock::time_point deadline_;
  const Interruption* interruption_;
};

Target::Answer Target::Ask(const std::string& request, seconds patience, const Interruption* interruption) {
  DoorBlock& block = block_->block();
  if (request.size() >= sizeof block.request) Refuse(pid_, "the request is too long");
  const Wait wait(*this, patience, interruption);
  const Block::Turn turn(*block_);
  while (!turn.mine()) {
    if (!wait.Over().empty()) Refuse(pid_, "another npuprof speaks to it and gets no answer");
    std::this_thread::sleep_for(kLook);
  }
  // Of a command that was killed.
  if (block.Take(block.asked.load())) block.answered.store(block.asked.load());
  while (block.answered.load() != block.taken.load()) {
    if (const std::string why = wait.Over(); !why.empty())
      Refuse(pid_, why + "; it still works on what another npuprof asked for");
    std::this_thread::sleep_for(kLook);
  }

  std::memcpy(block.request, request.c_str(), request.size() + 1);
  const uint32_t number = block.taken.load() + 1;
  block.asked.store(number);
  block.bell.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&block.bell), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  for (uint32_t answered; (answered = block.answered.load()) != number;) {
    if (const std::string why = wait.Over(); !why.empty()) {
      if (block.Take(number)) {
        block.answered.store(number);
        Refuse(pid_, why);
      }
      // It has begun: what is asked for may be seconds away, and nobody else would ever tell how it went.
      if (!lives() || (interruption == nullptr || interruption->signal() == 0))
        Refuse(pid_, why + "; it has begun with what was asked, see --status later");
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
    if (line.starts_with("recording=")) answer.recording = line.substr(10);
  }
  if (first != "ok")
    throw Error(fmt::format("process {}: {}", pid_, first.starts_with("error ") ? first.substr(6) : first));
  return answer;
}

Target::Answer Target::Start(const Variables& variables, const Interruption& interruption) {
  std::string request = "start\n";
  for (const auto& [name, value] : variables) {
    if (value.find('\n') != std::string::npos)
      throw Error(fmt::format("'{}' has a line break", value), kUsage);
    if (!value.empty()) request += name + "=" + value + "\n";
  }
  return Ask(request, kWorkPatience, &interruption);
}

Target::Answer Target::Stop() {
  return Ask("stop\n", kWorkPatience);
}

Target::Answer Target::Status() {
  return Ask("status\n", kStatusPatience);
}

}  // namespace npuprof::cli
