// SPDX-License-Identifier: Apache-2.0
#include "analysis/collectives.h"

#include <algorithm>

#include "analysis/api_reader.h"
#include "analysis/names.h"
#include "analysis/text.h"

namespace npuprof::analysis {

void Collectives::LoadPlanes(const SliceIndex& index, const Dictionary& names, const StringPool& pool,
                             const std::function<void(uint64_t)>& progress) {
  constexpr uint32_t kLaunch = 5, kSlave = 0x010002;
  struct Call {
    uint64_t begin, end;
    uint32_t number;
  };
  struct Thread {
    std::vector<Call> launches, slaves;
  };
  std::unordered_map<uint32_t, Thread> threads;
  const auto is = [&](const Api& api, uint32_t type, const char* name) {
    const uint32_t known = names.Type(api.level, api.type);
    return names.has_types() ? pool[known] == name : api.type == type;
  };
  ForEachApi(index, nullptr, progress, [&](const Api& api) {
    if (api.level == kLevelHccl && is(api, kSlave, "slave"))
      threads[api.thread].slaves.push_back({api.begin, api.end, api.number});
  });
  if (threads.empty()) return;  // most runs have no collectives, and their launches are many
  ForEachApi(index, nullptr, progress, [&](const Api& api) {
    if (api.level != kLevelNode) return;
    const auto thread = threads.find(api.thread);
    if (thread != threads.end() && is(api, kLaunch, "launch"))
      thread->second.launches.push_back({api.begin, api.end, api.number});
  });
  for (auto& [id, thread] : threads) {
    const auto by_begin = [](const Call& a, const Call& b) { return a.begin < b.begin; };
    std::sort(thread.launches.begin(), thread.launches.end(), by_begin);
    std::sort(thread.slaves.begin(), thread.slaves.end(), by_begin);
    for (const Call& slave : thread.slaves) {
      auto launch = std::upper_bound(thread.launches.begin(), thread.launches.end(), slave, by_begin);
      if (launch == thread.launches.begin() || (--launch)->end < slave.end) continue;
      slaves_[launch->number].push_back({slave.begin, slave.end});
    }
  }
}

bool Collectives::IsSlave(const Track& track) const {
  const auto slaves = slaves_.find(track.connection);
  if (slaves == slaves_.end()) return false;
  const auto after = std::partition_point(slaves->second.begin(), slaves->second.end(),
                                          [&](const Interval& i) { return i.begin < track.time; });
  return after != slaves->second.begin() && std::prev(after)->end >= track.time;
}

void Collectives::Add(const TaskView& view, const Operator& op) {
  if (IsSlave(*view.track)) return;
  const Key key{view.device, view.track->connection, op.name};
  const auto [latest, fresh] = latest_.try_emplace(key, instances_.size());
  if (!fresh && instances_[latest->second].second.first_track != view.task->track) {
    Instance& instance = instances_[latest->second].second;
    instance.end_ns = std::max(instance.end_ns, view.end_ns);
    return;
  }
  latest->second = instances_.size();
  instances_.push_back({view.device, {op.type, view.task->track, view.start_ns, view.end_ns}});
}

uint64_t Collectives::Write(const TablePlace& place, const StringPool& pool) const {
  struct Sum {
    uint64_t count = 0;
    int64_t total = 0, min = INT64_MAX, max = 0;
  };
  std::map<std::pair<int, uint32_t>, Sum> sums;
  std::map<int, int64_t> totals;
  for (const auto& [device, instance] : instances_) {
    Sum& sum = sums[{device, instance.type}];
    const int64_t duration = instance.end_ns - instance.start_ns;
    ++sum.count;
    sum.total += duration;
    sum.min = std::min(sum.min, duration);
    sum.max = std::max(sum.max, duration);
    totals[device] += duration;
  }
  if (sums.empty()) return 0;
  std::vector<decltype(sums)::const_iterator> order;
  for (auto it = sums.begin(); it != sums.end(); ++it) order.push_back(it);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (a->second.total != b->second.total) return a->second.total > b->second.total;
    return a->first.first != b->first.first ? a->first.first < b->first.first
                                            : pool[a->first.second] < pool[b->first.second];
  });
  CsvFile file(place);
  for (const char* name : {"Device_id", "OP Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
                           "Max Time(us)", "Ratio(%)"}) {
    file.Cell(name);
  }
  file.EndRow();
  for (const auto& it : order) {
    const Sum& sum = it->second;
    const double total = static_cast<double>(sum.total), all = static_cast<double>(totals[it->first.first]);
    file.Number(static_cast<uint64_t>(it->first.first))
        .Cell(pool[it->first.second])
        .Number(sum.count)
        .JsonMicros(sum.total)
        .JsonMicros(sum.min)
        .Decimal(total / static_cast<double>(sum.count) / 1000)
        .JsonMicros(sum.max)
        .Decimal(all > 0 ? total / all * 100 : 0);
    file.EndRow();
  }
  file.Commit();
  return order.size();
}

}  // namespace npuprof::analysis
