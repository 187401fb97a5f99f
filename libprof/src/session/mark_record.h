// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "session/result.h"

/// What a mark or range of the program becomes in the profile. Any thread.
namespace npuprof::marks {

enum EventType : uint32_t { kMarker = 0, kPushPop = 1, kStartEnd = 2, kMarkerEx = 3 };

struct Record {
  EventType event = kMarker;
  bool extended = false;  ///< belongs to a domain, and may belong to a mark of the device
  std::string_view message;
  uint64_t start = 0, end = 0;  ///< host::Cycles()
  uint64_t mark = 0;            ///< number of the device's mark
  uint64_t domain = 0;          ///< number of the domain's name
  uint32_t category = 0;
  uint32_t payload_type = 0;
  uint32_t thread = 0;  ///< 0: the calling one
};

/// Bytes of a message that one record holds; longer messages take several records.
inline constexpr size_t kMostText = 155;
/// So many; what is behind them is cut off.
inline constexpr size_t kMostPieces = 65536;

/// Why a call of mstx has to look further; nothing of it: the call does nothing.
enum Reason : unsigned {
  kRecording = 1,  ///< a session with marks runs
  kInjected = 2,   ///< another tool listens to mstx
  kUndecided = 4,  ///< nobody has looked yet whether one does
  kTurning = 8,    ///< a window with marks is between two of its directories
};
extern std::atomic<unsigned> g_attention;
inline unsigned Attention() {
  return g_attention.load(std::memory_order_relaxed);
}
inline void Attend(Reason reason) {
  g_attention |= reason;
}
inline void Disregard(Reason reason) {
  g_attention &= ~static_cast<unsigned>(reason);
}

/// While a session with marks runs; what is marked at other times is in no profile.
inline bool Recording() {
  return (Attention() & kRecording) != 0;
}
inline bool Turning() {
  return (Attention() & kTurning) != 0;
}
/// A window with marks runs: what begins now may end in it, though for the moment it may have no directory.
inline bool InWindow() {
  return (Attention() & (kRecording | kTurning)) != 0;
}
/// For each session with marks once true and once false.
void SetRecording(bool recording);
/// Instead of SetRecording(false): its window goes on in another directory. Nothing of this is seen by the program; marks that
/// are written until EndTurn() are counted. One window at a time.
void BeginTurn();
/// Nothing unless a window turns over. @param goes_on  the next directory records, and SetRecording(false) follows; else
/// there is none. @return how many marks fell in between
uint64_t EndTurn(bool goes_on);
/// How many sessions with marks run.
int Recorders();
/// In a forked child: none does.
void ResetInChild();
/// Counts the times in which marks are recorded, by one window or several that overlap, each in as many directories as it
/// has: a range belongs to the one in which it began.
uint64_t Window();

/// Adds to the profile, if a session records. Texts are cut between characters of UTF-8, never inside one.
void Write(const Record& record);
/// Messages that were too long for all records that one may have, since the process began.
uint64_t Cut();

/// Of the calling thread, as the kernel numbers it; in the child of a fork its own.
uint32_t ThreadId();
/// Numbers of marks and ranges; never used twice, and never 0.
uint64_t NextNumber();

/// Tags of a mark on the device.
inline constexpr uint16_t kPointTag = 11;
inline constexpr uint16_t kStepStartTag = 60000, kStepEndTag = 60001;
/// Puts a mark on @p stream that the device notes when it comes to it. kFailure if there is no runtime that can, or
/// if the stream takes none.
Result MarkDevice(uint64_t number, uint16_t tag, void* stream);

}  // namespace npuprof::marks
