// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace npuprof {

/// What the npuprof command and a process that it attaches to share: a memfd of the process, which the command opens below
/// /proc/<pid>/fd, so that the kernel judges who may. One command at a time holds the file's flock().
///
/// A request is text: a verb (start, stop, status) and for start lines NAME=VALUE of NPUPROF_RECORD_* variables. The answer is
/// "ok" or "error <sentence>", and then lines state=<none|waiting|recording|own> and directory=<path>.
struct DoorBlock {
  static constexpr char kName[] = "npuprof-door";
  static constexpr char kMagic[32] = "npuprof door, version 1";
  static constexpr size_t kMostRequest = 16 << 10, kMostAnswer = 8 << 10;

  char magic[32];
  std::atomic<uint32_t> bell;      ///< rung (counted up and woken) after each change of `asked`
  std::atomic<uint32_t> asked;     ///< number of the last request
  std::atomic<uint32_t> answered;  ///< number of the last one answered; woken
  uint32_t reserved;
  char request[kMostRequest];
  char answer[kMostAnswer];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(offsetof(DoorBlock, request) == 48);

}  // namespace npuprof
