// SPDX-License-Identifier: Apache-2.0
#include "analysis/perfetto_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "analysis/perfetto_fields.h"

namespace npuprof::analysis {
namespace {

using protozero::pbf_writer;
namespace field = perfetto;

constexpr uint32_t kSequence = 1;
// "None" of a number: of 32 bits for models and sub-tasks, of 64 for connections.
constexpr uint64_t kNone32 = UINT32_MAX, kNone64 = UINT64_MAX;
// What the name of a track says.
constexpr std::string_view kThread = "Thread Id", kStream = "Physic Stream Id";

protozero::data_view View(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

PerfettoTimeline::PerfettoTimeline(const std::filesystem::path& path, int64_t origin_ns)
    : file_(path),
      categories_{field::interned::kCategories, true, 0, {}},
      names_{field::interned::kNames, false, 0, {}},
      keys_{field::interned::kKeys, true, 0, {}},
      texts_{field::interned::kTexts, false, 0, {}},
      origin_ns_(origin_ns) {
  WriteClocks();
}

void PerfettoTimeline::Packet(const std::string& body) {
  packet_.clear();
  pbf_writer(packet_).add_message(field::trace::kPacket, body);
  file_.Write(packet_);
}

// The first packet says where the sequence's own clock began, so that times are short.
void PerfettoTimeline::WriteClocks() {
  std::string body;
  pbf_writer packet(body);
  packet.add_uint32(field::packet::kSequence, kSequence);
  packet.add_uint32(field::packet::kSequenceFlags, field::packet::kStateCleared);
  {
    pbf_writer snapshot(packet, field::packet::kClockSnapshot);
    const auto clock = [&](uint32_t id, uint64_t time) {
      pbf_writer entry(snapshot, field::snapshot::kClocks);
      entry.add_uint32(field::snapshot::kClockId, id);
      entry.add_uint64(field::snapshot::kClockTimestamp, time);
    };
    // Wall clock time stands in for the time since boot, which a profile does not tell.
    clock(field::kBootTime, static_cast<uint64_t>(origin_ns_));
    clock(field::kOwnClock, 0);
    snapshot.add_uint32(field::snapshot::kPrimaryClock, field::kBootTime);
  }
  {
    pbf_writer defaults(packet, field::packet::kDefaults);
    defaults.add_uint32(field::defaults::kClock, field::kOwnClock);
  }
  Packet(body);
}

uint64_t PerfettoTimeline::Describe(uint64_t parent, std::string_view name, bool counter) {
  const uint64_t id = next_track_++;
  std::string body;
  pbf_writer packet(body);
  packet.add_uint32(field::packet::kSequence, kSequence);
  {
    pbf_writer track(packet, field::packet::kTrackDescriptor);
    track.add_uint64(field::descriptor::kUuid, id);
    track.add_string(field::descriptor::kName, View(name));
    track.add_uint64(field::descriptor::kParent, parent);
    if (counter) track.add_message(field::descriptor::kCounter, View({}));
  }
  Packet(body);
  return id;
}

void PerfettoTimeline::Process(uint64_t process, std::string_view name, std::string_view label, unsigned) {
  const auto [place, fresh] = processes_.try_emplace(process, next_track_);
  if (!fresh) return;
  ++next_track_;
  ++events_;
  std::string body;
  pbf_writer packet(body);
  packet.add_uint32(field::packet::kSequence, kSequence);
  {
    pbf_writer track(packet, field::packet::kTrackDescriptor);
    track.add_uint64(field::descriptor::kUuid, place->second);
    pbf_writer descriptor(track, field::descriptor::kProcess);
    // Processes of one profile differ in their low bits.
    descriptor.add_int32(field::descriptor::kProcessPid, static_cast<int32_t>(process & INT32_MAX));
    descriptor.add_string(field::descriptor::kProcessName, View(name));
    descriptor.add_string(field::descriptor::kProcessLabels, View(label));
  }
  Packet(body);
}

void PerfettoTimeline::Thread(uint64_t process, uint64_t thread, std::string_view name) {
  const auto [place, fresh] = tracks_.try_emplace({process, thread});
  if (!fresh) return;
  ++events_;
  place->second.name = name;
  place->second.lanes.push_back({Describe(processes_[process], name, false), INT64_MIN, {}});
}

uint64_t PerfettoTimeline::LaneOf(Track* track, int64_t begin_ns, int64_t end_ns) {
  for (Lane& lane : track->lanes) {
    if (begin_ns < lane.last_begin_ns) continue;
    auto& open = lane.open_ends_ns;
    while (!open.empty() && open.back() <= begin_ns) open.pop_back();
    if (!open.empty() && open.back() < end_ns) continue;
    open.push_back(end_ns);
    lane.last_begin_ns = begin_ns;
    return lane.track;
  }
  const uint64_t parent = track->lanes.front().track;
  const std::string name = fmt::format("{} ({})", track->name, track->lanes.size() + 1);
  track->lanes.push_back({Describe(parent, name, false), begin_ns, {end_ns}});
  return track->lanes.back().track;
}

uint64_t PerfettoTimeline::Intern(Pool* pool, std::string_view text) {
  const auto [place, fresh] = pool->ids.try_emplace(std::string(text), 0);
  if (fresh && !pool->at_once) return 0;
  if (place->second == 0) {
    place->second = ++pool->last;
    pbf_writer entries(interned_);
    pbf_writer entry(entries, pool->field);
    entry.add_uint64(field::interned::kId, place->second);
    entry.add_bytes(field::interned::kText, View(text));
  }
  return place->second;
}

void PerfettoTimeline::AddArg(const TimelineArg& arg, std::string* event) {
  if (arg.kind == TimelineArg::Kind::kNumber && (arg.number == kNone32 || arg.number == kNone64)) return;
  if (arg.key == kThread || arg.key == kStream) return;
  const uint64_t key = Intern(&keys_, arg.key);
  const uint64_t text = arg.kind == TimelineArg::Kind::kText ? Intern(&texts_, arg.text) : 0;
  pbf_writer parent(*event);
  pbf_writer argument(parent, field::event::kArgs);
  argument.add_uint64(field::argument::kName, key);
  switch (arg.kind) {
    case TimelineArg::Kind::kNumber:
      argument.add_uint64(field::argument::kUnsigned, arg.number);
      break;
    case TimelineArg::Kind::kReal:
      argument.add_double(field::argument::kDouble, arg.real);
      break;
    case TimelineArg::Kind::kMicros:
      argument.add_double(field::argument::kDouble, static_cast<double>(arg.ns) / 1000);
      break;
    case TimelineArg::Kind::kText:
      if (text != 0) {
        argument.add_uint64(field::argument::kInternedText, text);
      } else {
        argument.add_string(field::argument::kText, View(arg.text));
      }
      break;
  }
}

void PerfettoTimeline::Event(int64_t wall_ns, const std::string& event, bool needs_state) {
  body_.clear();
  pbf_writer packet(body_);
  if (wall_ns >= origin_ns_) {
    packet.add_uint64(field::packet::kTimestamp, static_cast<uint64_t>(wall_ns - origin_ns_));
  } else {  // the own clock knows nothing before the start
    packet.add_uint64(field::packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(wall_ns, 0)));
    packet.add_uint32(field::packet::kClock, field::kBootTime);
  }
  packet.add_uint32(field::packet::kSequence, kSequence);
  packet.add_message(field::packet::kTrackEvent, event);
  if (!interned_.empty()) packet.add_message(field::packet::kInternedData, interned_);
  if (needs_state) packet.add_uint32(field::packet::kSequenceFlags, field::packet::kNeedsState);
  interned_.clear();
  Packet(body_);
}

void PerfettoTimeline::Slice(const TimelineSlice& slice) {
  const Key key{slice.process, slice.thread};
  if (last_ == nullptr || last_key_ != key) {
    last_ = &tracks_[key];
    last_key_ = key;
  }
  const uint64_t track = LaneOf(last_, slice.begin_ns, slice.end_ns);
  name_.assign(slice.prefix).append(slice.name);
  const uint64_t name = Intern(&names_, name_);
  event_.clear();
  {
    pbf_writer event(event_);
    event.add_uint32(field::event::kType, field::event::kSliceBegin);
    event.add_uint64(field::event::kTrack, track);
    if (name != 0) {
      event.add_uint64(field::event::kInternedName, name);
    } else {
      event.add_string(field::event::kName, View(name_));
    }
    if (!slice.category.empty())
      event.add_uint64(field::event::kCategories, Intern(&categories_, slice.category));
    if (slice.flow) {
      const bool start = slice.flow->end == TimelineFlow::End::kStart;
      event.add_fixed64(start ? field::event::kFlows : field::event::kFinishedFlows, slice.flow->id);
    }
  }
  for (const TimelineArg& arg : slice.args) AddArg(arg, &event_);
  Event(slice.begin_ns, event_, true);
  event_.clear();
  pbf_writer end(event_);
  end.add_uint32(field::event::kType, field::event::kSliceEnd);
  end.add_uint64(field::event::kTrack, track);
  Event(slice.end_ns, event_, false);
  ++events_;
}

void PerfettoTimeline::Counter(uint64_t process, std::string_view name, int64_t wall_ns,
                               std::span<const TimelineArg> values) {
  for (const TimelineArg& value : values) {
    // A track of its own for each value.
    std::string series = std::string(name) + " " + std::string(value.key);
    const auto [place, fresh] = counters_.try_emplace({process, std::move(series)});
    if (fresh) place->second = Describe(processes_[process], place->first.second, true);
    event_.clear();
    pbf_writer event(event_);
    event.add_uint32(field::event::kType, field::event::kCounter);
    event.add_uint64(field::event::kTrack, place->second);
    event.add_double(field::event::kCounterValue, value.real);
    Event(wall_ns, event_, false);
    ++events_;
  }
}

void PerfettoTimeline::Commit() {
  file_.Commit();
}

}  // namespace npuprof::analysis
