// SPDX-License-Identifier: Apache-2.0
#include "analysis/collective_tables.h"

#include <algorithm>
#include <map>
#include <utility>

namespace npuprof::analysis {

std::vector<const Collective*> CollectivesOf(const Communication& communication, int device) {
  std::vector<const Collective*> out;
  for (const Collective& collective : communication.collectives()) {
    if (collective.device == device) out.push_back(&collective);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Collective* a, const Collective* b) { return a->start_ns < b->start_ns; });
  return out;
}

uint64_t WriteCommunicationStatistic(const TablePlace& place, const std::vector<Collective>& collectives,
                                     const StringPool& pool) {
  struct Sum {
    uint64_t count = 0;
    int64_t total = 0, min = INT64_MAX, max = 0;
  };
  std::map<std::pair<int, uint32_t>, Sum> sums;
  std::map<int, int64_t> totals;
  for (const Collective& instance : collectives) {
    Sum& sum = sums[{instance.device, instance.type}];
    const int64_t duration = instance.end_ns - instance.start_ns;
    ++sum.count;
    sum.total += duration;
    sum.min = std::min(sum.min, duration);
    sum.max = std::max(sum.max, duration);
    totals[instance.device] += duration;
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
