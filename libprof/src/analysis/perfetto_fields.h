// SPDX-License-Identifier: Apache-2.0
// Numbers of the fields of Perfetto's messages that are written here, each in the namespace of its message.
#pragma once

#include <cstdint>

namespace npuprof::analysis::perfetto {

namespace trace {
constexpr uint32_t kPacket = 1;
}  // namespace trace
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kClock = 58, kDefaults = 59, kTrackDescriptor = 60;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace defaults {
constexpr uint32_t kClock = 58;
}  // namespace defaults
namespace snapshot {
constexpr uint32_t kClocks = 1, kPrimaryClock = 2;
constexpr uint32_t kClockId = 1, kClockTimestamp = 2;
}  // namespace snapshot
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8;
constexpr uint32_t kProcessPid = 1, kProcessName = 6, kProcessLabels = 8;
}  // namespace descriptor
namespace event {
constexpr uint32_t kCategories = 3, kArgs = 4, kType = 9, kInternedName = 10, kTrack = 11, kName = 23,
                   kCounterValue = 44, kFlows = 47, kFinishedFlows = 48;
constexpr uint32_t kSliceBegin = 1, kSliceEnd = 2, kCounter = 4;
}  // namespace event
namespace argument {
constexpr uint32_t kName = 1, kUnsigned = 3, kDouble = 5, kText = 6, kInternedText = 17;
}  // namespace argument
namespace interned {
constexpr uint32_t kCategories = 1, kNames = 2, kKeys = 3, kTexts = 29;
constexpr uint32_t kId = 1, kText = 2;
}  // namespace interned

/// Clocks: what traces are shown in, and one of this sequence of packets alone.
constexpr uint32_t kBootTime = 6, kOwnClock = 64;

}  // namespace npuprof::analysis::perfetto
