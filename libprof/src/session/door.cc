// SPDX-License-Identifier: Apache-2.0
#include "session/door.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "base/last_thread.h"
#include "drain/fork_guard.h"

namespace npuprof {
namespace {

constexpr char kThread[] = "npuprof-attach";
constexpr std::chrono::seconds kAloneLook{5};

// Not the private kind: the other side is another process.
void Wait(std::atomic<uint32_t>* word, uint32_t seen, std::chrono::nanoseconds most) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(most.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(most.count() % 1'000'000'000);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT, seen, &time, nullptr, 0);
}

void Wake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The descriptor stays open, and hidden from programs that are executed: it is what a command finds.
DoorBlock* Map(bool visible, int* out, std::string* why) {
  const drain::FdChange change;
  const int fd = visible ? memfd_create(DoorBlock::kName, MFD_CLOEXEC) : -1;
  if (visible && fd < 0) {
    *why = std::strerror(errno);
    return nullptr;
  }
  void* memory = MAP_FAILED;
  if (!visible || ftruncate(fd, sizeof(DoorBlock)) == 0) {
    memory = mmap(nullptr, sizeof(DoorBlock), PROT_READ | PROT_WRITE,
                  MAP_SHARED | (visible ? 0 : MAP_ANONYMOUS), fd, 0);
  }
  if (memory == MAP_FAILED) {
    *why = std::strerror(errno);
    if (visible) close(fd);
    return nullptr;
  }
  if (visible) drain::GuardFd(fd);
  *out = fd;
  return new (memory) DoorBlock{};
}

}  // namespace

std::string Door::Open(const Duties& duties, bool visible) {
  if (block_) return "";
  std::string why;
  DoorBlock* block = Map(visible, &fd_, &why);
  if (!block) return why;
  duties_ = duties;
  block_ = block;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, &attributes, Entry, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    // Without its magic nobody has written there.
    block_ = nullptr;
    munmap(block, sizeof *block);
    if (visible) {
      const drain::FdChange change;
      drain::UnguardFd(fd_);
      close(fd_);
    }
    fd_ = -1;
    return std::strerror(error);
  }
  block->owner = getpid();
  std::memcpy(block->magic, DoorBlock::kMagic, sizeof block->magic);
  return "";
}

void Door::Ring() {
  if (!block_) return;
  block_->bell.fetch_add(1);
  Wake(&block_->bell);
}

void Door::AbandonInChild() {
  if (block_) munmap(block_, sizeof *block_);
  new (this) Door;
}

void* Door::Entry(void* door) {
  pthread_setname_np(pthread_self(), kThread);
  static_cast<Door*>(door)->Run();
  return nullptr;
}

void Door::Answer(uint32_t request) {
  DoorBlock& block = *block_;
  const auto write = [&](std::string_view answer) {
    const size_t size = std::min(answer.size(), sizeof block.answer - 1);
    std::memcpy(block.answer, answer.data(), size);
    block.answer[size] = '\0';
  };
  try {
    // A copy: the other side could go on writing.
    write(duties_.serve(std::string(block.request, strnlen(block.request, sizeof block.request))));
  } catch (const std::exception&) {
    write("error it has no memory left for this\n");
  }
  block.answered.store(request);
  Wake(&block.answered);
}

void Door::Run() {
  LastThread last(kThread);
  DoorBlock& block = *block_;
  for (;;) {
    const uint32_t bell = block.bell.load();
    std::optional<Clock::time_point> next;
    const uint32_t asked = block.asked.load();
    if (block.Take(asked)) {
      Answer(asked);
    } else if (block.taken.load() == asked && block.answered.load() != asked) {
      block.answered.store(asked);  // withdrawn by a command that was killed before it could say so
    }
    try {
      next = duties_.see_to_times();
    } catch (const std::exception&) {
      // Without memory nothing is begun; the next one may find some.
    }
    last.Check();
    const auto now = Clock::now();
    Clock::duration most = kAloneLook;
    if (next) most = std::clamp<Clock::duration>(*next - now, std::chrono::milliseconds(1), kAloneLook);
    Wait(&block.bell, bell, most);
  }
}

}  // namespace npuprof
