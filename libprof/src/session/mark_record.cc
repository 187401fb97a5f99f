// SPDX-License-Identifier: Apache-2.0
#include "session/mark_record.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "drain/drain.h"
#include "drain/fork_guard.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "profiling/aprof_pub.h"

namespace npuprof::marks {

std::atomic<unsigned> g_attention{kUndecided};

namespace {

constexpr uint16_t kDataTag = 120;
constexpr uint32_t kType = 0;
constexpr uint64_t kNoModel = 0xffffffff;

std::atomic<uint64_t> g_numbers{0}, g_windows{0};
std::atomic<int> g_recorders{0};
std::atomic<uint64_t> g_cut{0}, g_between{0};

// In one step: a mark finds either the one or the other.
void Replace(unsigned old_reasons, unsigned reasons) {
  unsigned now = g_attention;
  while (!g_attention.compare_exchange_weak(now, (now & ~old_reasons) | reasons)) continue;
}

// What a record of this level holds after its header.
struct Payload {
  uint16_t info_type, segment;
  uint32_t reserved;
  uint16_t magic, data_tag;
  uint32_t process, thread, category, event_type, payload_type;
  uint64_t payload, start, end, mark, domain;
  uint32_t message_type;
  char message[kMostText + 1];
};
static_assert(sizeof(Payload) == MSPROF_ADDTIONAL_INFO_DATA_LENGTH);
static_assert(offsetof(Payload, start) == 40);
static_assert(offsetof(Payload, message) == 76);

// The longest beginning of @p text that fits and ends between two characters.
size_t Piece(std::string_view text) {
  if (text.size() <= kMostText) return text.size();
  size_t length = kMostText;
  for (int back = 0; back < 3 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80; ++back) --length;
  // No character is so long: these bytes are no UTF-8, and any place will do.
  return (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80 ? kMostText : length;
}

using TraceEx = int (*)(uint64_t index, uint64_t model, uint16_t tag, void* stream);

}  // namespace

void SetRecording(bool recording) {
  if (recording) {
    host::Dictionary::Process().Name(MSPROF_REPORT_TX_LEVEL, kType, "msproftx");
    if (++g_recorders > 1) return;
    ++g_windows;
    Attend(kRecording);
  } else if (--g_recorders == 0) {
    Disregard(kRecording);
  }
}

void BeginTurn() {
  Replace(--g_recorders == 0 ? unsigned{kRecording} : 0, kTurning);
}

uint64_t EndTurn(bool goes_on) {
  if (!Turning()) return 0;
  if (goes_on) ++g_recorders;
  Replace(kTurning, goes_on ? unsigned{kRecording} : 0);
  return g_between.exchange(0);
}

int Recorders() {
  return g_recorders;
}

void ResetInChild() {
  g_recorders = 0;
  g_between = 0;
  Replace(kRecording | kTurning, 0);
}

uint64_t Window() {
  return g_windows;
}

uint64_t Cut() {
  return g_cut;
}

uint32_t ThreadId() {
  // In the child of a fork the memory of a thread is the parent's, and its number is not.
  thread_local uint32_t id = 0;
  thread_local unsigned generation = 0;
  const unsigned now = drain::ForkGeneration();
  if (id == 0 || generation != now) {
    drain::InstallForkHandlers();
    id = static_cast<uint32_t>(syscall(SYS_gettid));
    generation = now;
  }
  return id;
}

uint64_t NextNumber() {
  return ++g_numbers;
}

void Write(const Record& from) {
  const unsigned attention = Attention();
  if (attention & kTurning) ++g_between;
  if (!(attention & kRecording)) return;
  Payload payload{};
  payload.info_type = from.extended;
  payload.magic = MSPROF_DATA_HEAD_MAGIC_NUM;
  payload.data_tag = kDataTag;
  payload.process = static_cast<uint32_t>(getpid());
  payload.thread = from.thread ? from.thread : ThreadId();
  payload.category = from.category;
  payload.event_type = from.event;
  payload.payload_type = from.payload_type;
  payload.start = from.start;
  payload.end = from.end;
  payload.mark = from.mark;
  payload.domain = from.domain;
  MsprofAdditionalInfo record{};
  record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  record.level = MSPROF_REPORT_TX_LEVEL;
  record.type = kType;
  record.threadId = payload.thread;
  record.dataLen = sizeof(payload);
  record.timeStamp = from.start;
  std::string_view rest = from.message;
  do {
    const size_t length = Piece(rest);
    std::memset(payload.message, 0, sizeof(payload.message));
    std::memcpy(payload.message, rest.data(), length);
    std::memcpy(record.data, &payload, sizeof(payload));
    host::QueueSet::Process().Report(host::RecordClass::kAdditional, true, &record);
    rest.remove_prefix(length);
    ++payload.segment;
  } while (!rest.empty() && payload.segment != 0);  // as many pieces have numbers
  if (!rest.empty()) ++g_cut;
}

Result MarkDevice(uint64_t number, uint16_t tag, void* stream) {
  static const auto trace = reinterpret_cast<TraceEx>(dlsym(RTLD_DEFAULT, "rtProfilerTraceEx"));
  if (!trace) return Result::Fail(code::kFailure, "this process has no runtime that marks devices");
  if (const int error = trace(number, kNoModel, tag, stream); error != 0)
    return Result::Fail(code::kFailure, fmt::format("the stream takes no mark; the runtime says {}", error));
  return Result::Ok();
}

}  // namespace npuprof::marks
