// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "session/result.h"

/// Stamps: marks and ranges that a program puts into its own profile. Any thread. A failure is -1, as published, except
/// where a pointer is NULL.
namespace npuprof::stamps {

inline constexpr int kFailed = -1;
inline constexpr size_t kMostMessage = 127;  ///< bytes of a stamp's message
inline constexpr size_t kMostMarkEx = 155;   ///< bytes of the message of MarkEx()

/// From the first session with marks until Finalize: stamps may be made.
void Allow(bool allowed);
/// While a session with marks runs; what is marked at other times is in no profile.
void Record(bool recording);
/// What programs of the first generation turn off and on within a session.
void Switch(bool on);
/// Sentences about the session that ends: names of categories, ranges that were begun in it and not ended. The latter
/// are forgotten.
std::vector<std::string> Notes();

/// A stamp, or NULL where none may be made.
void* Create();
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
std::mutex& Lock();

}  // namespace npuprof::stamps
