// SPDX-License-Identifier: Apache-2.0
#include "analysis/api_reader.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "analysis/names.h"
#include "analysis/record_reader.h"

namespace npuprof::analysis {
namespace {

constexpr uint64_t kEventFlag = UINT64_MAX;
using EventKey = std::tuple<uint16_t, uint32_t, uint32_t, uint32_t, uint64_t>;

}  // namespace

void ForEachApi(const SliceIndex& index, Diagnostics* diagnostics,
                const std::function<void(uint64_t)>& progress, const std::function<void(const Api&)>& visit) {
  Diagnostics ignored;
  if (!diagnostics) diagnostics = &ignored;
  uint32_t number = 0;
  std::map<EventKey, uint64_t> open;
  for (const char* base : {"host/data/unaging.api_event.data", "host/data/aging.api_event.data"}) {
    RecordReader reader(index.Get(base), kApiFormat, diagnostics, progress);
    while (const uint8_t* record = reader.Next()) {
      Api api;
      api.level = Get<uint16_t>(record, 2);
      api.type = Get<uint32_t>(record, 4);
      api.thread = Get<uint32_t>(record, 8);
      api.begin = Get<uint64_t>(record, 16);
      api.end = Get<uint64_t>(record, 24);
      api.item = Get<uint64_t>(record, 32);
      if (!IsKnownLevel(api.level)) {
        reader.Broken(fmt::format("unknown level {}", api.level));
        continue;
      }
      if (api.end == kEventFlag) {
        const EventKey key{api.level, api.type, api.thread, Get<uint32_t>(record, 12), api.item};
        const auto [it, first] = open.try_emplace(key, api.begin);
        if (first) continue;
        api.end = api.begin;
        api.begin = it->second;
        open.erase(it);
      }
      if (api.begin == 0 || api.end <= api.begin) {
        reader.Broken("interval that does not end after it begins");
        continue;
      }
      api.number = ++number;
      visit(api);
    }
  }
  if (!open.empty()) {
    diagnostics->Warn("host/data", fmt::format("{} event{} without the second half", open.size(),
                                               open.size() == 1 ? "" : "s"));
  }
}

}  // namespace npuprof::analysis
