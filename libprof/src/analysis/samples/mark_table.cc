// SPDX-License-Identifier: Apache-2.0
// Marks and ranges of the program: msprof_tx, and their layer of the timeline.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "analysis/names.h"
#include "analysis/record_reader.h"
#include "analysis/samples/jobs.h"

namespace npuprof::analysis {
namespace {

struct Mark {
  bool extended = false;  ///< belongs to a domain, and may belong to a mark of the device
  uint16_t segment = 0;
  uint32_t process = 0, thread = 0, category = 0, event = 0, payload_type = 0, message_type = 0;
  uint64_t payload = 0, begin = 0, end = 0, number = 0, domain = 0;
  std::string message;
};

constexpr std::array<const char*, 4> kEvents = {"marker", "push/pop", "start/end", "marker_ex"};
constexpr size_t kMessage = 100, kMessageBytes = 156;

Mark ReadMark(const uint8_t* record) {
  Mark mark;
  mark.extended = Get<uint16_t>(record, 24) == 1;
  mark.segment = Get<uint16_t>(record, 26);
  mark.process = Get<uint32_t>(record, 36);
  mark.thread = Get<uint32_t>(record, 40);
  mark.category = Get<uint32_t>(record, 44);
  mark.event = Get<uint32_t>(record, 48);
  mark.payload_type = Get<uint32_t>(record, 52);
  mark.payload = Get<uint64_t>(record, 56);
  mark.begin = Get<uint64_t>(record, 64);
  mark.end = Get<uint64_t>(record, 72);
  mark.number = Get<uint64_t>(record, 80);
  mark.domain = Get<uint64_t>(record, 88);
  mark.message_type = Get<uint32_t>(record, 96);
  const char* text = reinterpret_cast<const char*>(record) + kMessage;
  mark.message.assign(text, std::find(text, text + kMessageBytes, '\0'));
  return mark;
}

class MarkWriter {
 public:
  MarkWriter(const SampleRun& run, SampleTable* table) : run_(run), table_(table) {}

  void Write(const Mark& mark) {
    const HostClock& clock = run_.in.host->clock();
    const int64_t begin = clock.Wall(mark.begin), end = clock.Wall(mark.end);
    const DeviceMark* device = nullptr;
    if (mark.extended) {
      const auto found = run_.in.marks.find(mark.number);
      if (found != run_.in.marks.end()) device = &found->second;
    }
    const std::string_view domain =
        mark.extended ? (*run_.in.pool)[run_.in.host->names().Name(mark.domain)] : "N/A";
    const auto plain = [&](const auto& value) {
      return mark.extended ? std::string("N/A") : std::to_string(value);
    };
    table_->Row({device ? std::to_string(device->device) : "host", std::to_string(mark.process),
                 std::to_string(mark.thread), plain(mark.category), kEvents[mark.event],
                 plain(mark.payload_type), plain(mark.payload), Micros(begin) + '\t', Micros(end) + '\t',
                 plain(mark.message_type), mark.message, domain,
                 device ? Micros(device->begin_ns) + '\t' : "N/A",
                 device ? Micros(device->end_ns) + '\t' : "N/A"});
    Store(mark, begin, end, domain);
    for (size_t i = 0; i < timelines_.size(); ++i)
      if (timelines_[i]) Show(timelines_[i], &begun_[i], mark, begin, end, domain, device);
  }

 private:
  void Store(const Mark& mark, int64_t begin, int64_t end, std::string_view domain) {
    constexpr uint32_t kNone = UINT32_MAX;
    const int64_t thread = static_cast<int64_t>(mark.process) << 32 | mark.thread;
    const uint64_t connection = mark.extended ? kFirstMarkConnection + mark.number : kPlainMarkConnection;
    run_.Stored("MSTX_EVENTS",
                {begin, end, mark.event, kNone, mark.extended ? kNone : mark.category, mark.message, thread,
                 thread, mark.extended ? domain : std::string_view(), connection});
  }

  void Show(Timeline* to, bool* begun, const Mark& mark, int64_t begin, int64_t end, std::string_view domain,
            const DeviceMark* device) {
    Timeline& timeline = *to;
    if (!*begun) timeline.BeginMarks(run_.in.profile.process_name());
    *begun = true;
    using Arg = TimelineArg;
    const Arg event = Arg::Text("event_type", kEvents[mark.event]);
    const std::string category = std::to_string(mark.category);
    const std::vector<Arg> args =
        mark.extended
            ? std::vector{event, Arg::Text("domain", domain)}
            : std::vector{Arg::Text("Category", category), Arg::Number("Payload_type", mark.payload_type),
                          Arg::Number("Payload_value", mark.payload),
                          Arg::Number("Message_type", mark.message_type), event};
    timeline.AddMark(mark.thread, mark.message, begin, end, args,
                     device ? std::optional(mark.number) : std::nullopt);
    if (device) {
      timeline.AddDeviceMark(device->device, device->simulated, device->stream, device->task, mark.message,
                             device->begin_ns, device->end_ns, mark.number);
    }
  }

  const SampleRun& run_;
  SampleTable* table_;
  const std::array<Timeline*, 2> timelines_{run_.in.timeline, run_.in.mark_timeline};
  std::array<bool, 2> begun_{};
};

}  // namespace

void MarkTable(SampleRun& run) {
  SampleTable& table =
      run.Table("msprof_tx", {"Device_id", "pid", "tid", "category", "event_type", "payload_type",
                              "payload_value", "Start_time(us)", "End_time(us)", "message_type", "message",
                              "domain", "Device Start_time(us)", "Device End_time(us)"});
  MarkWriter writer(run, &table);
  for (const char* ageing : {"aging", "unaging"}) {
    const Slices& slices = run.HostFile(fmt::format("{}.additional.msproftx", ageing));
    if (TotalBytes(slices) == 0) continue;
    if (!run.in.host->has_clock()) throw Error("times of msproftx are the host's, of which nothing is there");
    // A long message is several records of its thread, one after the other.
    std::map<uint32_t, Mark> open;
    RecordReader reader(slices, kAdditionalFormat, run.in.diagnostics, run.in.progress("host"));
    while (const uint8_t* record = reader.Next()) {
      if (Get<uint16_t>(record, 2) != kLevelMsprofTx) {
        reader.Broken(
            fmt::format("level {}; marks are told by level {}", Get<uint16_t>(record, 2), +kLevelMsprofTx));
        continue;
      }
      Mark mark = ReadMark(record);
      if (mark.event >= kEvents.size()) {
        reader.Broken(fmt::format("event type {}; 0 to {} are known", mark.event, kEvents.size() - 1));
        continue;
      }
      if (mark.end < mark.begin) {
        reader.Broken("an end before the beginning");
        continue;
      }
      const auto before = open.find(mark.thread);
      if (before != open.end() && mark.extended && mark.segment == before->second.segment + 1 &&
          mark.number == before->second.number) {
        before->second.message += mark.message;
        before->second.segment = mark.segment;
        continue;
      }
      if (before != open.end()) writer.Write(before->second);
      open.insert_or_assign(mark.thread, std::move(mark));
    }
    for (const auto& [thread, mark] : open) writer.Write(mark);
  }
}

}  // namespace npuprof::analysis
