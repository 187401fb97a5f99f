// SPDX-License-Identifier: Apache-2.0
#include "device/device_source.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/ticks.h"

namespace npuprof::device {
namespace {

// Bytes of one ring that one visit moves; keeps a fast ring from starving the others.
constexpr size_t kVisitBytes = size_t{1} << 20;
// A device that comes back more often than that tells the same story each time.
constexpr size_t kMaxEpochs = 1000;
// Gaps kept in memory. A ring that is full all the time makes few long gaps, not many.
constexpr size_t kMaxGaps = 10'000;
constexpr auto kClockPeriod = std::chrono::seconds(1);

}  // namespace

DeviceSource::DeviceSource(DeviceSession& session) : session_(session), routes_(session.rings()) {
  for (unsigned ring = 1; ring < routes_.size(); ++ring)
    routes_[ring].meter.Start(session.ring(ring).request.period_ns);
}

void DeviceSource::Route(unsigned ring, trace::RecordFile& file) {
  routes_.at(ring).file = &file;
}

void DeviceSource::Route(unsigned ring, trace::RecordFile& file, std::shared_ptr<Renderer> renderer) {
  routes_.at(ring).rendered.push_back({std::move(renderer), &file, std::make_unique<drain::Ledger>(), {}});
}

uint64_t DeviceSource::cut() const {
  uint64_t cut = 0;
  for (const Target& target : routes_) {
    for (const Rendered& rendered : target.rendered) cut += rendered.renderer->cut();
  }
  return cut;
}

int DeviceSource::WakeFd() const {
  return session_.file().PollFd();
}
void DeviceSource::ClearWake() {
  session_.file().ClearWake();
}

drain::Progress DeviceSource::Poll(const drain::Pass& pass) {
  drain::Progress progress;
  ReadEvents();
  for (unsigned ring = 1; ring < routes_.size(); ++ring) MoveRing(ring, &progress);
  if (pass.final) {
    for (Target& target : routes_) {
      if (!Place(target)) {
        progress.blocked = true;
        continue;
      }
      for (Rendered& rendered : target.rendered) rendered.renderer->Finish(&rendered.pending);
      if (!Place(target)) progress.blocked = true;
    }
  }
  if (!pass.final && pass.now >= next_clock_) {
    // The first visit only sets the pace: whoever starts the session takes a bracket of its own.
    const bool first = next_clock_ == std::chrono::steady_clock::time_point{};
    ClockBracket bracket;
    if (!first && session_.Clock(&bracket).ok()) clocks_.Add(bracket);
    next_clock_ = pass.now + kClockPeriod;
  }
  return progress;
}

void DeviceSource::MoveRing(unsigned ring, drain::Progress* progress) {
  RingReader& reader = session_.ring(ring).reader;
  Target& target = routes_[ring];
  const auto fill = static_cast<unsigned>(reader.waiting() * 100 / reader.slots());
  progress->pressure = std::max(progress->pressure, fill);
  const size_t budget = std::max<size_t>(kVisitBytes / reader.record_size(), 1);
  for (size_t moved = 0; moved < budget;) {
    RingReader::Run run = reader.Peek();
    if (run.count == 0) return;
    run.count = std::min(run.count, budget - moved);
    size_t taken = run.count;
    if (!target.rendered.empty()) {
      taken = Render(target, run.data, run.count, reader.record_size());
    } else if (target.file == nullptr) {
      target.dropped += run.count;
    } else {
      taken = target.file->Append(run.data, run.count, &target.ledger);
    }
    if (target.meter.on()) NoteSamples(ring, run.data, taken);
    if (on_records_ && taken > 0)
      on_records_(session_.ring(ring).request.channel, run.data, taken, reader.record_size());
    reader.Release(taken);
    moved += taken;
    if (taken < run.count) {
      progress->blocked = true;
      return;
    }
  }
  if (reader.waiting() > 0) progress->more = true;
}

// Moves what waits for room into its file. False if there still is none.
bool DeviceSource::Place(Target& target) {
  bool all = true;
  for (Rendered& rendered : target.rendered) {
    if (rendered.pending.empty()) continue;
    // Text that was rendered at once stays together; records may go one by one.
    const size_t record = rendered.file->spec().record_size;
    std::string& pending = rendered.pending;
    if (record != 0) {
      pending.erase(
          0, record * rendered.file->Append(pending.data(), pending.size() / record, rendered.units.get()));
    } else if (rendered.file->AppendUnit(pending.data(), pending.size(), rendered.units.get())) {
      pending.clear();
    }
    all &= pending.empty();
  }
  return all;
}

size_t DeviceSource::Render(Target& target, const std::byte* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) {
    if (!Place(target)) return i;
    for (Rendered& rendered : target.rendered) rendered.renderer->Take(data + i * size, &rendered.pending);
    ++target.taken;
  }
  static_cast<void>(Place(target));
  return count;
}

// A file that failed lost whole units; the ring's records behind them are lost as well.
uint64_t DeviceSource::LostRendered(const Target& target) {
  uint64_t lost = 0;
  for (const Rendered& rendered : target.rendered) {
    const uint64_t units = rendered.units->accepted;
    if (units != 0) lost = std::max(lost, MulDiv(target.taken, rendered.units->lost, units));
  }
  return lost;
}

void DeviceSource::NoteSamples(unsigned ring, const std::byte* data, size_t count) {
  const DeviceSession::Ring& samples = session_.ring(ring);
  const bool core = samples.request.channel == NPUPROF_CHANNEL_CORE_SAMPLE;
  const size_t offset =
      core ? offsetof(npuprof_rec_core_sample, time_ns) : offsetof(npuprof_rec_bandwidth, clock);
  for (size_t i = 0; i < count; ++i) {
    uint64_t time;
    std::memcpy(&time, data + i * samples.reader.record_size() + offset, sizeof time);
    routes_[ring].meter.Note(core ? time : MulDiv(time - base_, 1'000'000'000, session_.query().clock_hz));
  }
}

void DeviceSource::ReadEvents() {
  RingReader& reader = session_.ring(0).reader;
  for (;;) {
    const RingReader::Run run = reader.Peek();
    if (run.count == 0) return;
    const auto* events = reinterpret_cast<const npuprof_rec_event*>(run.data);
    for (size_t i = 0; i < run.count; ++i) {
      const npuprof_rec_event& event = events[i];
      if (event.kind == NPUPROF_EVENT_GAP) {
        if (gaps_.size() < kMaxGaps) {
          gaps_.push_back(event);
        } else {
          ++gaps_not_kept_;
        }
      } else if (event.kind == NPUPROF_EVENT_EPOCH) {
        if (epochs_.size() < kMaxEpochs) epochs_.push_back(event);
      } else if (event.kind == NPUPROF_EVENT_THROTTLE) {
        if (event.ring < routes_.size()) routes_[event.ring].throttled_period_ns = event.count;
      } else if (event.kind == NPUPROF_EVENT_CLOCK) {
        if (marked_.size() < kMaxEpochs) marked_.push_back({event.count, event.first, event.last});
      }
    }
    events_read_ += run.count;
    reader.Release(run.count);
  }
}

void DeviceSource::Describe(trace::Manifest::Device* out) const {
  DescribeSession(out);
  AddFate(&out->rings);
}

void DeviceSource::AddFate(std::vector<trace::Manifest::Ring>* rings) const {
  for (unsigned i = 0; i < routes_.size() && i < rings->size(); ++i) {
    const Target& target = routes_[i];
    trace::Manifest::Ring& entry = (*rings)[i];
    const uint64_t unwritten = target.ledger.lost + LostRendered(target);
    entry.kept = i == 0 ? events_read_ : target.ledger.written + target.taken - LostRendered(target);
    entry.lost += unwritten + target.dropped;
    entry.records = entry.kept + entry.lost;
    if (unwritten > 0) entry.lost_by_cause["write_failed"] = unwritten;
    if (target.dropped > 0) entry.lost_by_cause["no_file"] = target.dropped;
  }
}

void DeviceSource::DescribeSession(trace::Manifest::Device* out) const {
  out->id = session_.id();
  out->backend = BackendName(session_.file().backend());
  out->simulated = (session_.query().device_flags & NPUPROF_DEVICE_SIMULATED) != 0;
  out->rings.clear();
  for (unsigned i = 0; i < routes_.size(); ++i) {
    const DeviceSession::Ring& ring = session_.ring(i);
    const RingReader& reader = ring.reader;
    const Target& target = routes_[i];
    trace::Manifest::Ring entry;
    entry.ring = i;
    entry.channel = ChannelName(ring.request.channel);
    entry.core_kind = CoreKindName(ring.request.core_kind);
    entry.core = ring.request.core;
    entry.slots = reader.slots();
    entry.lost = reader.lost() + reader.overrun();
    entry.sampling = target.meter.Result();
    entry.throttled_period_ns = target.throttled_period_ns;
    for (unsigned cause = 1; cause < 8; ++cause) {
      const uint64_t count = reader.lost_by_cause(cause);
      if (count > 0) entry.lost_by_cause[LossCauseName(cause)] += count;
    }
    if (reader.overrun() > 0) entry.lost_by_cause["overrun"] = reader.overrun();
    out->rings.push_back(std::move(entry));
  }
  out->gaps.clear();
  for (const npuprof_rec_event& gap : gaps_) {
    const bool known = gap.ring < session_.rings();
    out->gaps.push_back({gap.ring, known ? ChannelName(session_.ring(gap.ring).request.channel) : "session",
                         gap.position, gap.count, gap.first - base_, gap.last - base_,
                         LossCauseName(gap.cause)});
  }
  out->interruptions.clear();
  for (const npuprof_rec_event& event : epochs_) {
    const uint64_t clock = event.first == 0 ? 0 : event.first - base_;
    out->interruptions.push_back({event.epoch, LossCauseName(event.cause), clock});
  }
  out->clock.clear();
  std::vector<ClockBracket> clocks = clocks_.All();
  clocks.insert(clocks.end(), marked_.begin(), marked_.end());
  std::stable_sort(clocks.begin(), clocks.end(),
                   [](const auto& a, const auto& b) { return a.host_ns < b.host_ns; });
  for (const ClockBracket& bracket : clocks)
    out->clock.push_back({bracket.host_ns, bracket.device - base_, bracket.width_ns});
}

}  // namespace npuprof::device
