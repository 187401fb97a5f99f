// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace npuprof {

/// What the npuprof command and a process that it attaches to share: a memfd of the process, which the command opens below
/// /proc/<pid>/fd, so that the kernel judges who may. A command holds the file's flock() from its request to the answer.
///
/// Requests are numbered. The process takes one by counting `taken` up to its number, and a command that will not wait any
/// longer withdraws its own the same way, so that only one of them can: a request is served once or never, and never late.
/// Whoever took it makes `answered` equal. What a command that was killed has left behind is withdrawn by the next one.
///
/// A request is text: a verb (start, stop, status) and for start lines NAME=VALUE of NPUPROF_RECORD_* variables. The answer is
/// "ok" or "error <sentence>", and then lines state=<none|waiting|recording|own>, directory=<path> and recording=<how many
/// were asked for so far>.
struct DoorBlock {
  static constexpr char kName[] = "npuprof-door";
  static constexpr char kMagic[32] = "npuprof door, version 2";
  static constexpr size_t kMostRequest = 16 << 10, kMostAnswer = 8 << 10;

  char magic[32];
  std::atomic<uint32_t> bell;      ///< rung (counted up and woken) after each change of `asked`
  std::atomic<uint32_t> asked;     ///< number of the last request
  std::atomic<uint32_t> taken;     ///< number of the last one taken or withdrawn: `asked`, or one less
  std::atomic<uint32_t> answered;  ///< number of the last one answered or withdrawn; woken
  int32_t owner;  ///< process id, as the process sees it: a child just forked still has the descriptor
  uint32_t reserved[3];
  char request[kMostRequest];
  char answer[kMostAnswer];

  /// Of two that try it with the same request, one gets it.
  bool Take(uint32_t number) {
    uint32_t before = number - 1;
    return taken.compare_exchange_strong(before, number);
  }
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(offsetof(DoorBlock, request) == 64);

}  // namespace npuprof
