// SPDX-License-Identifier: Apache-2.0
#include "session/stamps.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "host/clock.h"
#include "host/dictionary.h"
#include "session/mark_record.h"

namespace npuprof::stamps {
namespace {

constexpr size_t kMostStamps = 65536;
constexpr size_t kMostCategories = 256;
constexpr size_t kMostCategoryName = 255;

struct Stamp {
  char message[kMostMessage + 1] = {};
  uint32_t category = 0;
  uint32_t payload_type = 0;
};

struct Range {
  Stamp stamp;
  uint64_t start = 0;
  uint64_t window = 0;
};

struct State {
  OwnedMutex mutex;  // all that follows
  std::unordered_map<void*, std::unique_ptr<Stamp>> living;
  std::unordered_map<uint32_t, Range> ranges;
  std::map<uint32_t, std::string> categories;
  uint32_t last_range = 0;
};

State& Get() {
  static State& state = *new State;  // outlives every thread
  return state;
}

std::atomic<bool> g_switched_off{false};
thread_local std::vector<Range> t_stack;

Result Fail(std::string text) {
  return Result::Fail(kFailed, std::move(text));
}

Result Null(std::string what) {
  return {kFailed, std::move(what) + " is NULL", "EK0006"};
}

// A call out of order.
Result NoSession(const char* what) {
  return {kFailed, fmt::format("no session with ACL_PROF_MSPROFTX {}", what), "EK0002"};
}

Result NotLiving(const void* stamp) {
  return Fail(fmt::format("stamp {} is not one made by aclprofCreateStamp, or was destroyed already", stamp));
}

Result CheckAllowed() {
  if (g_rest.load(std::memory_order_relaxed) == Rest::kNone) return Result::Ok();
  Rest untold = Rest::kUntold;
  g_rest.compare_exchange_strong(untold, Rest::kTold);
  return NoSession("was started");
}

void Report(marks::EventType type, const Stamp& stamp, uint64_t start, uint64_t end) {
  if (g_switched_off.load(std::memory_order_relaxed)) return;
  marks::Record record;
  record.event = type;
  record.message = stamp.message;
  record.category = stamp.category;
  record.payload_type = stamp.payload_type;
  record.start = start;
  record.end = end;
  marks::Write(record);
}

// Runs @p use on the living stamp.
template <typename Use>
Result With(void* stamp, Use&& use) {
  if (Result result = CheckAllowed(); !result.ok()) return result;
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  const auto found = state.living.find(stamp);
  if (found == state.living.end()) return NotLiving(stamp);
  use(*found->second);
  return Result::Ok();
}

Result Copy(void* stamp, Stamp* out) {
  if (!stamp) return Result::Null("the stamp");
  return With(stamp, [out](const Stamp& living) { *out = living; });
}

}  // namespace

OwnedMutex& Lock() {
  return Get().mutex;
}

std::atomic<Rest> g_rest{Rest::kUntold};

void Allow(bool allowed) {
  g_rest = allowed ? Rest::kNone : Rest::kUntold;
}

void Record(bool recording) {
  if (recording) {
    Allow(true);
    g_switched_off = false;
  }
  marks::SetRecording(recording);
}

void Switch(bool on) {
  g_switched_off = !on;
}

std::vector<std::string> CategoryNotes() {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  std::vector<std::string> notes;
  for (const auto& [number, name] : state.categories)
    notes.push_back(fmt::format("category {} of marks is named \"{}\"", number, name));
  return notes;
}

std::vector<std::string> RangeNotes(uint64_t begin) {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  const auto open = std::ranges::count_if(state.ranges, [&](const auto& entry) {
    return entry.second.window == marks::Window() && entry.second.start >= begin;
  });
  // In other sessions that run they may still end.
  if (marks::Recorders() <= 1)
    std::erase_if(state.ranges, [](const auto& entry) { return entry.second.window == marks::Window(); });
  if (open == 0) return {};
  return {fmt::format("{} ranges of aclprofRangeStart were not stopped; they are not recorded", open)};
}

Result Create(void** stamp) {
  if (Result result = CheckAllowed(); !result.ok()) return result;
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  if (state.living.size() >= kMostStamps)
    return Fail(fmt::format("no stamp can be made: {} live already", kMostStamps));
  auto made = std::make_unique<Stamp>();
  *stamp = made.get();
  state.living.emplace(*stamp, std::move(made));
  return Result::Ok();
}

bool Destroy(void* stamp) {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  return state.living.erase(stamp) != 0;
}

Result SetMessage(void* stamp, const char* message, size_t length) {
  if (!stamp || !message) return Null("the stamp or its message");
  if (length > kMostMessage)
    return Fail(
        fmt::format("the message of a stamp has {} bytes; at most {} are possible", length, kMostMessage));
  return With(stamp, [&](Stamp& living) {
    std::memset(living.message, 0, sizeof(living.message));
    std::memcpy(living.message, message, strnlen(message, length));
  });
}

Result SetCategory(void* stamp, uint32_t category) {
  if (!stamp) return Null("the stamp");
  return With(stamp, [category](Stamp& living) { living.category = category; });
}

Result SetPayload(void* stamp, int32_t type, const void* value) {
  if (!stamp || !value) return Null("the stamp or the value of its payload");
  return With(stamp, [type](Stamp& living) { living.payload_type = static_cast<uint32_t>(type); });
}

Result SetUnkept(void* stamp, const char* text, const char* what) {
  if (!stamp || !text) return Null(fmt::format("the stamp or its {}", what));
  return With(stamp, [](const Stamp&) {});
}

Result NameCategory(uint32_t category, const char* name) {
  if (Result result = CheckAllowed(); !result.ok()) return result;
  if (!name || !*name) return Fail("the name of a category is NULL or empty");
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  if (state.categories.size() >= kMostCategories && !state.categories.contains(category))
    return Fail(fmt::format("{} categories have names already; no more are possible", kMostCategories));
  state.categories[category] = std::string(name, strnlen(name, kMostCategoryName));
  return Result::Ok();
}

Result Mark(void* stamp) {
  const uint64_t now = host::Cycles();
  Stamp copy;
  if (!stamp) return Null("the stamp");
  if (Result result = Copy(stamp, &copy); !result.ok()) return result;
  Report(marks::kMarker, copy, now, now);
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
  if (Result result = CheckAllowed(); !result.ok()) return result;
  if (t_stack.empty()) return Fail("aclprofPop without aclprofPush on this thread");
  const Range range = t_stack.back();
  t_stack.pop_back();
  Report(marks::kPushPop, range.stamp, range.start, host::Cycles());
  return Result::Ok();
}

Result RangeStart(void* stamp, uint32_t* id) {
  if (!id) return Result::Null("the number of the range");
  Range range;
  if (Result result = Copy(stamp, &range.stamp); !result.ok()) return result;
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  *id = ++state.last_range;
  range.start = host::Cycles();
  range.window = marks::InWindow() ? marks::Window() : 0;
  state.ranges.emplace(*id, range);
  return Result::Ok();
}

Result RangeStop(uint32_t id) {
  const uint64_t end = host::Cycles();
  if (Result result = CheckAllowed(); !result.ok()) return result;
  Range range;
  {
    State& state = Get();
    std::lock_guard<OwnedMutex> lock(state.mutex);
    const auto found = state.ranges.find(id);
    if (found == state.ranges.end())
      return Fail(fmt::format("range {} was not started in this session, or was stopped already", id));
    range = found->second;
    state.ranges.erase(found);
  }
  Report(marks::kStartEnd, range.stamp, range.start, end);
  return Result::Ok();
}

Result MarkEx(const char* message, size_t length, void* stream) {
  if (!message || !stream) return Null("the message or the stream");
  if (length == 0 || length > kMostMarkEx || strnlen(message, length + 1) != length)
    return Fail(fmt::format("a message of length {}; allowed are 1 to {}, as many as it has bytes", length,
                            kMostMarkEx));
  if (Result result = CheckAllowed(); !result.ok()) return result;
  if (!marks::InWindow()) return NoSession("runs");
  marks::Record record;
  record.event = marks::kMarkerEx;
  record.extended = true;
  record.message = {message, length};
  record.start = record.end = host::Cycles();
  record.mark = marks::NextNumber();
  record.domain = host::Dictionary::Process().Id("default");
  // Between two directories nothing is there to note it.
  Result result =
      marks::Recording() ? marks::MarkDevice(record.mark, marks::kPointTag, stream) : Result::Ok();
  if (!result.ok()) return Fail(std::move(result.text));
  marks::Write(record);
  return Result::Ok();
}

}  // namespace npuprof::stamps
