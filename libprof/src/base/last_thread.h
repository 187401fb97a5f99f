// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace npuprof {

/// Ends the process as the C library does when its last thread ends. A program may leave main() with pthread_exit(); a
/// thread of ours, which blocks every signal, would then keep the process alive for good, deaf to SIGTERM. So each of
/// them asks about once a second whether it is alone. Threads of ours are known by name: "npusim", "npuprof-drain",
/// "npuprof-writer", "npuprof-keeper", "npuprof-attach", "npuprof-pipe", and the kernel's io_uring workers.
class LastThread {
 public:
  /// @param name of the calling thread. Where the drain lives the others leave the end to it.
  explicit LastThread(const char* name) : name_(name) {}

  /// Starts exit(0) on a thread of its own if only threads of ours are left; the caller goes on serving what exit
  /// handlers need. Costs one system call as long as the main thread lives.
  void Check() {
    if (ended_ || MainLives() || !OnlyOurs()) return;
    ended_ = true;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, End, nullptr) == 0)
      pthread_detach(thread);
    else
      ended_ = false;
  }

 private:
  // A thread that ended has no program any more, and that is seen without a descriptor. Where there is no /proc it seems
  // to have ended, but then there is no list of threads either.
  static bool MainLives() {
    char first;
    return readlink("/proc/self/exe", &first, sizeof first) >= 0 || errno != ENOENT;
  }

  bool OnlyOurs() const {
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return false;
    bool alone = true;
    while (const dirent* entry = readdir(tasks)) {
      const int id = std::atoi(entry->d_name);
      if (id <= 0 || id == getpid()) continue;
      char name[16] = "";
      const bool known = ReadName(dirfd(tasks), entry->d_name, name);
      const bool ours = std::strcmp(name, name_) == 0 || std::strncmp(name, "iou-", 4) == 0 ||
                        std::strcmp(name, "npuprof-writer") == 0 ||
                        std::strcmp(name, "npuprof-keeper") == 0 ||
                        std::strcmp(name, "npuprof-attach") == 0 || std::strcmp(name, "npuprof-pipe") == 0 ||
                        (std::strcmp(name, "npusim") == 0 && std::strcmp(name_, "npuprof-drain") == 0);
      if (!known || !ours) alone = false;
    }
    closedir(tasks);
    return alone;
  }

  static bool ReadName(int tasks, const char* task, char (&name)[16]) {
    char path[32];
    std::snprintf(path, sizeof path, "%.12s/comm", task);
    const int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    if (n <= 0) return false;
    name[n] = '\0';
    name[std::strcspn(name, "\n")] = '\0';
    return true;
  }

  static void* End(void*) {
    pthread_setname_np(pthread_self(), "npuprof-end");
    std::exit(0);
  }

  const char* name_;
  bool ended_ = false;
};

}  // namespace npuprof
