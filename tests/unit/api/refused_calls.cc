// SPDX-License-Identifier: Apache-2.0
#include "refused_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace npuprof::refused {

std::atomic<const char*> g_directories{nullptr}, g_renames{nullptr};
std::atomic<unsigned> g_count{0};

namespace {

bool Refuses(const char* part, const char* path) {
  if (!part || !std::strstr(path, part)) return false;
  ++g_count;
  errno = EACCES;
  return true;
}

}  // namespace
}  // namespace npuprof::refused

extern "C" {

__attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) noexcept {
  if (npuprof::refused::Refuses(npuprof::refused::g_directories, path)) return -1;
  return mkdirat(AT_FDCWD, path, mode);
}

__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  if (npuprof::refused::Refuses(npuprof::refused::g_renames, to)) return -1;
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

}  // extern "C"
