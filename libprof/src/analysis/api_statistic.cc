// SPDX-License-Identifier: Apache-2.0
#include "analysis/api_statistic.h"

#include <algorithm>
#include <vector>

#include "analysis/names.h"
#include "analysis/text.h"

namespace npuprof::analysis {

uint64_t WriteApiStatistic(const TablePlace& place, const HostTrace& host, const StringPool& pool) {
  std::vector<decltype(host.api_sums().begin())> order;
  for (auto it = host.api_sums().begin(); it != host.api_sums().end(); ++it) {
    if (*LevelName(it->first.first) != '\0') order.push_back(it);  // marks of frameworks are not calls
  }
  if (order.empty()) return 0;
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    const std::string_view x = pool[a->first.second], y = pool[b->first.second];
    return x != y ? x < y : a->first.first < b->first.first;
  });
  CsvFile file(place);
  for (const char* name :
       {"Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"}) {
    file.Cell(name);
  }
  file.EndRow();
  // Sums are kept in cycles, where they are exact; one rate turns them all into microseconds.
  const long double to_us =
      host.clock().hertz() == 0 ? 1e-3L : 1e6L / static_cast<long double>(host.clock().hertz());
  for (const auto& it : order) {
    const ApiSum& sum = it->second;
    const auto count = static_cast<long double>(sum.count);
    const long double mean = static_cast<long double>(sum.sum) / count;
    const long double variance = std::max(sum.squares / count - mean * mean, 0.0L);
    file.Cell("host")
        .Cell(LevelName(it->first.first))
        .Cell(pool[it->first.second])
        .ShortDecimal(static_cast<double>(static_cast<long double>(sum.sum) * to_us))
        .Number(sum.count)
        .ShortDecimal(static_cast<double>(mean * to_us))
        .ShortDecimal(static_cast<double>(static_cast<long double>(sum.min) * to_us))
        .ShortDecimal(static_cast<double>(static_cast<long double>(sum.max) * to_us))
        .ShortDecimal(static_cast<double>(variance * to_us * to_us));
    file.EndRow();
  }
  file.Commit();
  return order.size();
}

}  // namespace npuprof::analysis
