// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/host_calls.h"

#include <algorithm>
#include <string_view>

#include "analysis/api_reader.h"
#include "analysis/names.h"

namespace npuprof::analysis {
namespace {

constexpr int kDeepest = 3;

struct Call {
  uint64_t begin, end, last_submission;  // host cycles
};

// Calls that come back when the device is done. Those that submit first wait from their last task on.
bool ComesBackWhenDone(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos || name == "aclrtMemcpy" ||
         name == "aclrtMemset" || name == "aclmdlExecute" || name == "MemCopySync" || name == "MemcpySync" ||
         name == "aclopExecWithHandleSync";
}

HostCalls::Spans Merge(const std::vector<Call>& calls, const HostClock& clock) {
  HostCalls::Spans spans;
  for (const Call& call : calls)
    spans.emplace_back(clock.Wall(std::max(call.begin, call.last_submission)), clock.Wall(call.end));
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

}  // namespace

void HostCalls::Load(const SliceIndex& index, HostTrace* host, const StringPool& pool,
                     const std::function<void(uint64_t)>& progress) {
  if (!host->has_clock()) return;
  std::unordered_map<uint32_t, std::vector<Call>> calls;
  std::unordered_map<uint64_t, bool> wanted;  // by level and type
  threads_.assign(size_t{host->apis()} + 1, 0);
  ForEachApi(index, nullptr, progress, [&](const Api& api) {
    if (api.number < threads_.size()) threads_[api.number] = api.thread;
    if (api.level != kLevelAcl && api.level != kLevelRuntime) return;
    known_ = true;
    const auto [it, fresh] = wanted.try_emplace(uint64_t{api.level} << 32 | api.type, false);
    if (fresh) it->second = ComesBackWhenDone(pool[host->ApiName(api.level, api.type, api.item)]);
    if (it->second) calls[api.thread].push_back({api.begin, api.end, 0});
  });
  for (auto& [thread, list] : calls) {
    std::sort(list.begin(), list.end(), [](const Call& a, const Call& b) { return a.begin < b.begin; });
  }
  for (size_t i = 0; i < host->tracks(); ++i) {
    const Track& track = host->track(static_cast<uint32_t>(i));
    if (track.connection == 0 || track.connection >= threads_.size()) continue;
    const auto list = calls.find(threads_[track.connection]);
    if (list == calls.end()) continue;
    auto after = std::partition_point(list->second.begin(), list->second.end(),
                                      [&](const Call& call) { return call.begin <= track.time; });
    // A call of the interface holds one of the runtime, and both submit.
    for (int depth = 0; depth < kDeepest && after != list->second.begin(); ++depth) {
      if ((--after)->end >= track.time) after->last_submission = std::max(after->last_submission, track.time);
    }
  }
  for (const auto& [thread, list] : calls) waits_[thread] = Merge(list, host->clock());
}

const HostCalls::Spans* HostCalls::Waits(const Track& track) const {
  if (track.connection == 0 || track.connection >= threads_.size()) return nullptr;
  const auto found = waits_.find(threads_[track.connection]);
  return found == waits_.end() ? nullptr : &found->second;
}

}  // namespace npuprof::analysis
