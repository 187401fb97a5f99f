// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/ranks.h"

#include <algorithm>

namespace npuprof::analysis {

void Ranks::Add(const TaskView& view, const Operator& collective) {
  const Key key{view.device, view.track->connection, collective.name};
  const auto [latest, fresh] = latest_.try_emplace(key, instances_.size());
  if (!fresh) {
    Instance& instance = instances_[latest->second];
    // The first task comes again when a captured graph is replayed.
    if (instance.first_track != view.task->track) {
      instance.end_ns = std::max(instance.end_ns, view.end_ns);
      return;
    }
    latest->second = instances_.size();
  }
  instances_.push_back({view.device, collective.name, view.task->track, view.start_ns, view.end_ns});
}

std::vector<std::pair<int64_t, int64_t>> Ranks::Spans(int device) const {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const Instance& instance : instances_) {
    if (instance.device == device) spans.emplace_back(instance.begin_ns, instance.end_ns);
  }
  std::sort(spans.begin(), spans.end());
  size_t out = 0;
  for (const auto& span : spans) {
    if (out > 0 && span.first <= spans[out - 1].second)
      spans[out - 1].second = std::max(spans[out - 1].second, span.second);
    else
      spans[out++] = span;
  }
  spans.resize(out);
  return spans;
}

void Ranks::Match(const StringPool& pool, Insight* into) {
  std::map<uint32_t, std::map<int, std::vector<Instance*>>> by_name;
  std::map<int, RankSum> ranks;
  std::map<std::pair<int, uint32_t>, CollectiveSum> sums;
  for (Instance& instance : instances_) {
    by_name[instance.name][instance.device].push_back(&instance);
    ++ranks[instance.device].collectives;
    CollectiveSum& sum = sums[{instance.device, instance.name}];
    ++sum.count;
    sum.total_ns += instance.end_ns - instance.begin_ns;
    sum.max_ns = std::max(sum.max_ns, instance.end_ns - instance.begin_ns);
  }
  for (auto& [name, devices] : by_name) {
    const size_t count = devices.begin()->second.size();
    const bool equal = std::all_of(devices.begin(), devices.end(),
                                   [&](const auto& device) { return device.second.size() == count; });
    if (devices.size() < 2 || !equal) continue;
    for (size_t k = 0; k < count; ++k) {
      std::vector<Instance*> group;
      for (auto& [device, list] : devices) group.push_back(list[k]);
      const auto by_begin = [](const Instance* a, const Instance* b) { return a->begin_ns < b->begin_ns; };
      const Instance* last = *std::max_element(group.begin(), group.end(), by_begin);
      const bool overlap = std::all_of(group.begin(), group.end(),
                                       [&](const Instance* i) { return i->end_ns >= last->begin_ns; });
      if (!overlap) continue;
      ++ranks[last->device].last;
      for (Instance* instance : group) {
        instance->last = last->device;
        RankSum& rank = ranks[instance->device];
        ++rank.matched;
        rank.waiting_ns += last->begin_ns - instance->begin_ns;
        ranks[last->device].held_up_ns += last->begin_ns - instance->begin_ns;
      }
    }
  }
  for (auto& [device, rank] : ranks) {
    rank.device = device;
    into->ranks.push_back(rank);
  }
  for (auto& [key, sum] : sums) {
    sum.device = key.first;
    sum.name = pool[key.second];
    into->collectives.push_back(std::move(sum));
  }
  Blame(into);
}

// The collective that a gap waits in is the one that covers most of it.
void Ranks::Blame(Insight* into) const {
  for (DeviceInsight& device : into->devices) {
    std::vector<const Instance*> mine;
    for (const Instance& instance : instances_) {
      if (instance.device == device.device && instance.last >= 0) mine.push_back(&instance);
    }
    std::sort(mine.begin(), mine.end(),
              [](const Instance* a, const Instance* b) { return a->begin_ns < b->begin_ns; });
    for (Gap& gap : device.gaps) {
      if (gap.cause != Cause::kCollectiveWait) continue;
      int64_t most = 0;
      auto it = std::partition_point(mine.begin(), mine.end(),
                                     [&](const Instance* i) { return i->begin_ns < gap.end_ns; });
      // Collectives of a device follow each other, but for those on different streams.
      for (int looked = 0; looked < 16 && it != mine.begin(); ++looked) {
        const Instance& instance = **--it;
        const int64_t common =
            std::min(instance.end_ns, gap.end_ns) - std::max(instance.begin_ns, gap.begin_ns);
        if (common <= most) continue;
        most = common;
        gap.straggler = instance.last == device.device ? -1 : instance.last;
      }
    }
  }
}

}  // namespace npuprof::analysis
