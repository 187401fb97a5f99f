// SPDX-License-Identifier: Apache-2.0
#include "device/device_source.h"

#include <algorithm>

namespace npuprof::device {
namespace {

// Bytes of one ring that one visit moves; keeps a fast ring from starving the others.
constexpr size_t kVisitBytes = size_t{1} << 20;
// Gaps kept in memory. A ring that is full all the time makes few long gaps, not many.
constexpr size_t kMaxGaps = 10'000;
constexpr auto kClockPeriod = std::chrono::seconds(1);

}  // namespace

DeviceSource::DeviceSource(DeviceSession& session) : session_(session), routes_(session.rings()) {}

void DeviceSource::Route(unsigned ring, trace::RecordFile& file) {
  routes_.at(ring).file = &file;
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
  if (!pass.final && pass.now >= next_clock_) {
    // The first visit only sets the pace: whoever starts the session takes a bracket of its own.
    const bool first = next_clock_ == std::chrono::steady_clock::time_point{};
    ClockBracket bracket;
    if (!first && session_.Clock(&bracket).ok()) clocks_.push_back(bracket);
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
    if (target.file == nullptr) {
      target.dropped += run.count;
    } else {
      taken = target.file->Append(run.data, run.count, &target.ledger);
    }
    reader.Release(taken);
    moved += taken;
    if (taken < run.count) {
      progress->blocked = true;
      return;
    }
  }
  if (reader.waiting() > 0) progress->more = true;
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
      } else if (event.kind == NPUPROF_EVENT_CLOCK) {
        clocks_.push_back({event.count, event.first, event.last});
      }
    }
    events_read_ += run.count;
    reader.Release(run.count);
  }
}

void DeviceSource::Describe(trace::Manifest::Device* out) const {
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
    entry.kept = i == 0 ? events_read_ : target.ledger.written;
    entry.lost = reader.lost() + target.ledger.lost + target.dropped + reader.overrun();
    entry.records = entry.kept + entry.lost;
    for (unsigned cause = 1; cause < 8; ++cause) {
      const uint64_t count = reader.lost_by_cause(cause);
      if (count > 0) entry.lost_by_cause[LossCauseName(cause)] += count;
    }
    if (target.ledger.lost > 0) entry.lost_by_cause["write_failed"] = target.ledger.lost;
    if (target.dropped > 0) entry.lost_by_cause["no_file"] = target.dropped;
    if (reader.overrun() > 0) entry.lost_by_cause["overrun"] = reader.overrun();
    out->rings.push_back(std::move(entry));
  }
  out->gaps.clear();
  for (const npuprof_rec_event& gap : gaps_) {
    const bool known = gap.ring < session_.rings();
    out->gaps.push_back({gap.ring, known ? ChannelName(session_.ring(gap.ring).request.channel) : "session",
                         gap.position, gap.count, gap.first, gap.last, LossCauseName(gap.cause)});
  }
  out->clock.clear();
  for (const ClockBracket& bracket : clocks_)
    out->clock.push_back({bracket.host_ns, bracket.device, bracket.width_ns});
}

}  // namespace npuprof::device
