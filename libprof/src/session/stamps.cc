// SPDX-License-Identifier: Apache-2.0
#include "session/stamps.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "host/clock.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "profiling/aprof_pub.h"

namespace npuprof::stamps {
namespace {

constexpr uint16_t kLevel = 20500, kDataTag = 120;
constexpr uint32_t kType = 0;
constexpr uint16_t kDeviceTag = 11;
constexpr uint64_t kNoModel = 0xffffffff;
constexpr size_t kMostStamps = 65536;

enum EventType : uint32_t { kMarker = 0, kPushPop = 1, kStartEnd = 2, kMarkerEx = 3 };

struct Stamp {
  char message[kMostMessage + 1] = {};
};

struct Range {
  Stamp stamp;
  uint64_t start;
};

// What a record of this level holds after its header.
struct Payload {
  uint16_t info_type, segment;
  uint32_t reserved;
  uint16_t magic, data_tag;
  uint32_t process, thread, category, event_type, payload_type;
  uint64_t payload, start, end, mark, domain;
  uint32_t message_type;
  char message[156];
};
static_assert(sizeof(Payload) == MSPROF_ADDTIONAL_INFO_DATA_LENGTH);
static_assert(offsetof(Payload, start) == 40);
static_assert(offsetof(Payload, message) == 76);

struct State {
  std::mutex mutex;  // all that follows
  std::unordered_map<void*, std::unique_ptr<Stamp>> living;
  std::unordered_map<uint32_t, Range> ranges;
  uint32_t last_range = 0;
};

State& Get() {
  static State& state = *new State;  // outlives every thread
  return state;
}

std::atomic<bool> g_allowed{false}, g_recording{false};
std::atomic<uint64_t> g_marks{0};
thread_local std::vector<Range> t_stack;

Result Fail(std::string text) {
  return Result::Fail(kFailed, std::move(text));
}

Result IsNull(const char* what) {
  return Result::Fail(code::kInvalidParam, fmt::format("{} is NULL", what));
}

uint32_t ThreadId() {
  thread_local const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
  return id;
}

// Records are of sessions that asked for them; at other times marking costs a look at a flag.
void Report(EventType type, const char* message, size_t length, uint64_t start, uint64_t end,
            uint64_t mark = 0) {
  if (!g_recording.load(std::memory_order_relaxed)) return;
  Payload payload{};
  payload.info_type = type == kMarkerEx;
  payload.magic = MSPROF_DATA_HEAD_MAGIC_NUM;
  payload.data_tag = kDataTag;
  payload.process = static_cast<uint32_t>(getpid());
  payload.thread = ThreadId();
  payload.event_type = type;
  payload.start = start;
  payload.end = end;
  payload.mark = mark;
  if (type == kMarkerEx) payload.domain = host::Dictionary::Process().Id("default");
  std::memcpy(payload.message, message, std::min(length, sizeof(payload.message) - 1));
  MsprofAdditionalInfo record{};
  record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  record.level = kLevel;
  record.type = kType;
  record.threadId = payload.thread;
  record.dataLen = sizeof(payload);
  record.timeStamp = start;
  std::memcpy(record.data, &payload, sizeof(payload));
  host::QueueSet::Process().Report(host::RecordClass::kAdditional, true, &record);
}

Result Copy(void* stamp, Stamp* out) {
  if (!stamp) return IsNull("the stamp");
  State& state = Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.living.find(stamp);
  if (found == state.living.end())
    return Fail(
        fmt::format("stamp {} is not one made by aclprofCreateStamp, or was destroyed already", stamp));
  *out = *found->second;
  return Result::Ok();
}

// The runtime's function that lets the device note a mark, if the process has a runtime.
using TraceEx = int (*)(uint64_t index, uint64_t model, uint16_t tag, void* stream);
TraceEx FindTraceEx() {
  static const auto function = reinterpret_cast<TraceEx>(dlsym(RTLD_DEFAULT, "rtProfilerTraceEx"));
  return function;
}

}  // namespace

std::mutex& Lock() {
  return Get().mutex;
}

void Allow(bool allowed) {
  if (allowed) host::Dictionary::Process().Name(kLevel, kType, "msproftx");
  g_allowed = allowed;
}

void Record(bool recording) {
  if (recording) Allow(true);
  g_recording = recording;
}

void* Create() {
  if (!g_allowed) return nullptr;
  State& state = Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.living.size() >= kMostStamps) return nullptr;
  auto made = std::make_unique<Stamp>();
  void* stamp = made.get();
  state.living.emplace(stamp, std::move(made));
  return stamp;
}

bool Destroy(void* stamp) {
  State& state = Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.living.erase(stamp) != 0;
}

Result SetMessage(void* stamp, const char* message, size_t length) {
  if (!stamp || !message) return Fail("the stamp or its message is NULL");
  if (length > kMostMessage)
    return Fail(
        fmt::format("the message of a stamp has {} bytes; at most {} are possible", length, kMostMessage));
  State& state = Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.living.find(stamp);
  if (found == state.living.end())
    return Fail(
        fmt::format("stamp {} is not one made by aclprofCreateStamp, or was destroyed already", stamp));
  Stamp fresh;
  std::memcpy(fresh.message, message, strnlen(message, length));
  *found->second = fresh;
  return Result::Ok();
}

Result Mark(void* stamp) {
  const uint64_t now = host::Cycles();
  Stamp copy;
  if (!stamp) return Fail("the stamp is NULL");
  if (Result result = Copy(stamp, &copy); !result.ok()) return result;
  Report(kMarker, copy.message, std::strlen(copy.message), now, now);
  return Result::Ok();
}

Result Push(void* stamp) {
  Range range;
  if (Result result = Copy(stamp, &range.stamp); !result.ok()) return result;
  range.start = host::Cycles();
  t_stack.push_back(range);
  return Result::Ok();
}

Result Pop() {
  if (t_stack.empty()) return Fail("aclprofPop without aclprofPush on this thread");
  const Range range = t_stack.back();
  t_stack.pop_back();
  Report(kPushPop, range.stamp.message, std::strlen(range.stamp.message), range.start, host::Cycles());
  return Result::Ok();
}

Result RangeStart(void* stamp, uint32_t* id) {
  if (!id) return IsNull("the number of the range");
  Range range;
  if (Result result = Copy(stamp, &range.stamp); !result.ok()) return result;
  State& state = Get();
  std::lock_guard<std::mutex> lock(state.mutex);
  *id = ++state.last_range;
  range.start = host::Cycles();
  state.ranges.emplace(*id, range);
  return Result::Ok();
}

Result RangeStop(uint32_t id) {
  const uint64_t end = host::Cycles();
  Range range;
  {
    State& state = Get();
    std::lock_guard<std::mutex> lock(state.mutex);
    const auto found = state.ranges.find(id);
    if (found == state.ranges.end())
      return Fail(fmt::format("range {} was not started, or was stopped already", id));
    range = found->second;
    state.ranges.erase(found);
  }
  Report(kStartEnd, range.stamp.message, std::strlen(range.stamp.message), range.start, end);
  return Result::Ok();
}

Result MarkEx(const char* message, size_t length, void* stream) {
  if (!message || !stream) return Fail("the message or the stream is NULL");
  if (length == 0 || length > kMostMarkEx || strnlen(message, length + 1) != length)
    return Fail(fmt::format("a message of length {}; allowed are 1 to {}, as many as it has bytes", length,
                            kMostMarkEx));
  if (!g_recording.load(std::memory_order_relaxed)) return Fail("no session with ACL_PROF_MSPROFTX runs");
  const TraceEx trace = FindTraceEx();
  if (!trace) return Fail("this process has no runtime that marks devices");
  const uint64_t now = host::Cycles();
  const uint64_t mark = ++g_marks;
  if (const int error = trace(mark, kNoModel, kDeviceTag, stream); error != 0)
    return Fail(fmt::format("the stream takes no mark; the runtime says {}", error));
  Report(kMarkerEx, message, length, now, now, mark);
  return Result::Ok();
}

}  // namespace npuprof::stamps
