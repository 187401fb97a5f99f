// SPDX-License-Identifier: Apache-2.0
#include "refused_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace npuprof::refused {

std::atomic<const char*> g_directories{nullptr}, g_renames{nullptr}, g_memory_behind{nullptr};
std::atomic<unsigned> g_count{0};

namespace {

constinit thread_local unsigned t_until_refused = 0;

void Passed(const char* path) {
  const char* part = g_memory_behind;
  const char* name = std::strrchr(path, '/');
  if (part && std::strstr(name ? name : path, part)) t_until_refused = 1;
}

bool Refuses(const char* part, const char* path) {
  if (!part || !std::strstr(path, part)) return false;
  ++g_count;
  errno = EACCES;
  return true;
}

}  // namespace

unsigned RefuseMemory(unsigned nth) {
  return std::exchange(t_until_refused, nth);
}

}  // namespace npuprof::refused

extern "C" {

__attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) noexcept {
  if (npuprof::refused::Refuses(npuprof::refused::g_directories, path)) return -1;
  npuprof::refused::Passed(path);
  return mkdirat(AT_FDCWD, path, mode);
}

__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  if (npuprof::refused::Refuses(npuprof::refused::g_renames, to)) return -1;
  npuprof::refused::Passed(to);
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* __libc_malloc(size_t size) noexcept;

__attribute__((visibility("default"))) void* malloc(size_t size) noexcept {
  if (npuprof::refused::t_until_refused > 0 && --npuprof::refused::t_until_refused == 0) {
    ++npuprof::refused::g_count;
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}
#endif

}  // extern "C"
