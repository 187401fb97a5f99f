// SPDX-License-Identifier: Apache-2.0
#include "analysis/host_trace.h"

#include <algorithm>
#include <tuple>

#include "analysis/host_join.h"
#include "analysis/names.h"

namespace npuprof::analysis {
namespace {

// Threads that share a stream may stamp their tasks a little out of order. Around a wrap such a task shows by
// an identifier half the range away from its neighbours.
constexpr size_t kNeighbours = 64;
constexpr int kHalfRange = 0x8000;

void CorrectAroundWrap(SpillSpace* space, Track* first, Track* last, uint16_t before, uint16_t after,
                       bool has_before, bool has_after) {
  const auto count = static_cast<size_t>(last - first);
  if (has_before) {
    int lowest = kHalfRange * 2;
    for (size_t i = std::min(count, 2 * kNeighbours); i-- > 0;) {
      if (i < kNeighbours && first[i].task - lowest >= kHalfRange) first[i].batch = before;
      lowest = std::min<int>(lowest, first[i].task);
    }
  }
  if (has_after) {
    const size_t from = count > kNeighbours ? count - kNeighbours : 0;
    int highest = -1;
    for (size_t i = 0; i < count; ++i) {
      if (i >= from && highest - first[i].task >= kHalfRange) first[i].batch = after;
      highest = std::max<int>(highest, first[i].task);
      space->Tick();
    }
  }
}

}  // namespace

void HostTrace::Load(const Profile& profile, const SliceIndex& index,
                     const std::function<void(uint64_t)>& progress) {
  if (!profile.has_host()) return;
  clock_.emplace(profile);
  names_.Load(index, diagnostics_);
  HostJoin(this, index, progress).Run();
}

uint32_t HostTrace::ApiName(uint16_t level, uint32_t type, uint64_t item) {
  return level == kLevelHccl ? names_.Name(item) : TypeName(level, type);
}

uint32_t HostTrace::TypeName(uint16_t level, uint32_t type) {
  const uint32_t name = names_.Type(level, type);
  return name != 0 ? name : pool_->Add(std::to_string(type));
}

const std::string& HostTrace::type_name(uint16_t type) {
  const auto [it, fresh] = type_names_.try_emplace(type);
  if (fresh) {
    const uint32_t name = names_.Type(kLevelRuntime, type);
    const char* known = RuntimeTaskName(type);
    it->second = name != 0 ? std::string((*pool_)[name])
                 : known   ? known
                           : "TASK_TYPE_" + std::to_string(type);
  }
  return it->second;
}

uint32_t HostTrace::Model(uint16_t device, uint16_t stream, int64_t wall_ns) const {
  if (models_.empty()) return kNoModel;
  const auto it = models_.find(static_cast<uint32_t>(device) << 16 | stream);
  if (it == models_.end()) return kNoModel;
  const auto& captured = it->second;
  const auto next = std::upper_bound(captured.begin(), captured.end(), wall_ns,
                                     [](int64_t time, const Captured& one) { return time < one.from; });
  const Captured& one = next == captured.begin() ? *next : *std::prev(next);
  return wall_ns < one.until ? one.model : kNoModel;
}

void HostTrace::SetBatch(size_t from, size_t to, uint16_t batch) {
  for (size_t i = from; i < to; ++i) {
    tracks_[i].batch = batch;
    space_->Tick();
  }
}

bool HostTrace::has_collectives() const {
  return std::any_of(operator_sets_.begin(), operator_sets_.end(), [](const std::vector<Operator>& set) {
    return std::any_of(set.begin(), set.end(),
                       [](const Operator& op) { return op.task_type == kNodeCommunication; });
  });
}

std::span<const Operator> HostTrace::Operators(const Track& track) const {
  const auto& set = operator_sets_[track.operators];
  if (set.size() != 1) return set;
  named_ = set.front();
  named_.name = track.name;
  return {&named_, 1};
}

void HostTrace::AssignBatches(const Flips& device_flips) {
  for (auto& [key, flips] : flips_) {
    std::sort(flips.begin(), flips.end(), [](const Flip& a, const Flip& b) { return a.time < b.time; });
  }
  tracks_.Sort([](const Track& a, const Track& b) {
    return std::tie(a.device, a.stream, a.time) < std::tie(b.device, b.stream, b.time);
  });
  for (size_t from = 0; from < tracks_.size();) {
    size_t to = from;
    const std::pair key(tracks_[from].device, tracks_[from].stream);
    for (; to < tracks_.size() && tracks_[to].device == key.first && tracks_[to].stream == key.second; ++to)
      space_->Tick();
    const auto own = flips_.find(key);
    const auto other = device_flips.find(key);
    if (own == flips_.end()) {
      // The device meets a wrap after the host did. If only the device has it on record, the host passed it
      // before recording began.
      const uint16_t batch = other == device_flips.end() ? 0 : other->second.back().number;
      SetBatch(from, to, batch);
    } else {
      const auto& flips = own->second;
      size_t segment = from;
      for (size_t next = 0; next <= flips.size(); ++next) {
        size_t end = segment;
        for (; end < to && (next == flips.size() || tracks_[end].time < flips[next].time); ++end)
          space_->Tick();
        const auto first_batch = static_cast<uint16_t>(std::max(flips[0].number - 1, 0));
        const uint16_t batch = next == 0 ? first_batch : flips[next - 1].number;
        SetBatch(segment, end, batch);
        CorrectAroundWrap(space_, tracks_.data() + segment, tracks_.data() + end,
                          next < 2 ? first_batch : flips[next - 2].number,
                          next < flips.size() ? flips[next].number : batch, next > 0, next < flips.size());
        segment = end;
      }
    }
    from = to;
  }
  tracks_.Sort([](const Track& a, const Track& b) {
    return std::tie(a.device, a.stream, a.task, a.batch, a.time) <
           std::tie(b.device, b.stream, b.task, b.batch, b.time);
  });
}

const Track* HostTrace::Find(uint16_t device, uint16_t stream, uint16_t task, uint16_t batch, int64_t wall_ns,
                             bool any_batch) const {
  space_->Tick();
  struct Key {
    uint16_t device, stream, task, batch;
  };
  const auto less = [](const Track& t, const Key& k) {
    return std::tie(t.device, t.stream, t.task, t.batch) < std::tie(k.device, k.stream, k.task, k.batch);
  };
  const Key low{device, stream, task, any_batch ? uint16_t{0} : batch};
  const Key high{device, stream, task, any_batch ? uint16_t{UINT16_MAX} : batch};
  const auto greater = [](const Key& k, const Track& t) {
    return std::tie(k.device, k.stream, k.task, k.batch) < std::tie(t.device, t.stream, t.task, t.batch);
  };
  const auto first = std::lower_bound(tracks_.begin(), tracks_.end(), low, less);
  const auto last = std::upper_bound(first, tracks_.end(), high, greater);
  if (first == last) return nullptr;
  if (last - first == 1) return &*first;
  const auto later =
      std::partition_point(first, last, [&](const Track& t) { return clock_->Wall(t.time) <= wall_ns; });
  return later == first ? &*first : &*(later - 1);
}

int64_t HostTrace::Launched(const Track& track) const {
  return clock_->Wall(track.time);
}

}  // namespace npuprof::analysis
