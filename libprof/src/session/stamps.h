// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/owned_mutex.h"
#include "session/result.h"

/// Stamps: marks and ranges that a program puts into its own profile. Any thread. A failure is -1, as published, except
/// where a pointer is NULL.
namespace npuprof::stamps {

inline constexpr int kFailed = -1;
inline constexpr size_t kMostMessage = 127;  ///< bytes of a stamp's message
inline constexpr size_t kMostMarkEx = 155;   ///< bytes of the message of MarkEx()

/// From the first session with marks until Finalize: stamps may be made.
void Allow(bool allowed);
/// Whether they may, and if not, whether somebody was told why.
enum class Rest { kNone, kUntold, kTold };
extern std::atomic<Rest> g_rest;
/// True if stamps are refused without a word, for the cost of a load and a branch: the first refusal had its sentence.
inline bool Resting() {
  return g_rest.load(std::memory_order_relaxed) == Rest::kTold;
}
/// A window with marks begins or ends; what is marked while none runs is in no profile.
void Record(bool recording);
/// What programs of the first generation turn off and on. The next window with marks begins with on.
void Switch(bool on);
/// Sentences with the names of categories, for a directory that ends.
std::vector<std::string> CategoryNotes();
/// A sentence if ranges that were begun in the window, from @p begin (host::Cycles()) on, are not stopped. They are forgotten,
/// unless another window with marks runs.
std::vector<std::string> RangeNotes(uint64_t begin);

/// @param stamp  untouched where none may be made
Result Create(void** stamp);
/// Whether @p stamp was a living one.
bool Destroy(void* stamp);
Result SetMessage(void* stamp, const char* message, size_t length);
Result SetCategory(void* stamp, uint32_t category);
Result SetPayload(void* stamp, int32_t type, const void* value);
/// Texts for which records have no room: only judged.
Result SetUnkept(void* stamp, const char* text, const char* what);
Result NameCategory(uint32_t category, const char* name);
Result Mark(void* stamp);
/// Ranges that nest, on each thread of its own.
Result Push(void* stamp);
Result Pop();
/// Ranges that may end on another thread. Numbers are never used again.
Result RangeStart(void* stamp, uint32_t* id);
Result RangeStop(uint32_t id);
/// A mark of the host, and one on the device when @p stream comes to it.
Result MarkEx(const char* message, size_t length, void* stream);

/// For forks; see fork_locks.h.
OwnedMutex& Lock();

}  // namespace npuprof::stamps
