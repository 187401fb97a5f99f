// SPDX-License-Identifier: Apache-2.0
#include "database/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/payload_runs.h"

namespace npuprof::database {

using namespace analysis;  // NOLINT: the decoder's words are used in every line

namespace {

enum LinkType : uint32_t { kOnChip = 0, kLinkHccs = 1, kLinkPcie = 2, kLinkSio = 4, kLinkHccsSwitch = 5 };
constexpr uint32_t kNoRank = UINT32_MAX;
constexpr double kMillisecond = 1e6;
constexpr double kLarge = 32, kLargeRdma = 0.5;  // MB from which on a packet counts as large

double Rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

Times TimesOf(const std::vector<Moment>& all, std::string_view name) {
  Times out;
  const auto master = std::find_if(all.begin(), all.end(), [](const Moment& m) { return m.task->master; });
  if (master == all.end()) return out;
  std::vector<Moment> plane;
  for (const Moment& moment : all) {
    if (moment.task->transfer.plane == master->task->transfer.plane) plane.push_back(moment);
  }
  const auto runs = PayloadRuns(plane, name);
  const auto run_at = [&](size_t place) {
    return std::find_if(runs.begin(), runs.end(), [&](const PayloadRun& run) { return run.first == place; });
  };
  int64_t end = plane.front().task->start_ns;
  bool moved = false;
  for (size_t i = 0; i < plane.size(); ++i) {
    const Moment& moment = plane[i];
    end = std::max(end, moment.end());
    if (moment.moves() && moment.task->transfer.link_type != kOnChip) {
      out.transit += moment.milliseconds();
      moved = true;
    } else if (const auto run = run_at(i); run != runs.end()) {
      out.transit += run->milliseconds;
      moved = true;
      // What a run waits for is a part of it.
      for (; i < run->last; ++i) end = std::max(end, plane[i + 1].end());
    } else if (moment.name == "Notify_Wait") {
      out.wait += moment.milliseconds();
      if (!moved) out.synchronization += moment.milliseconds();
    }
  }
  out.start_us = static_cast<double>(master->task->start_ns) / 1e3;
  out.elapse = static_cast<double>(end - plane.front().task->start_ns) / kMillisecond;
  return out;
}

void TakeMoves(const std::vector<Moment>& all, std::string_view name, Summary* out) {
  const auto pair = [&](const Transfer& t, const char* transport, double size, double time) {
    Pair& to = out->matrix[{t.local_rank, t.remote_rank == kNoRank ? t.local_rank : t.remote_rank}];
    to.transport = transport;
    to.megabytes += size;
    to.milliseconds += time;
  };
  for (const Moment& moment : all) {
    if (!moment.moves()) continue;
    const Transfer& t = moment.task->transfer;
    const double size = moment.megabytes(), time = moment.milliseconds();
    if (t.link_type == kOnChip) {
      pair(t, "LOCAL", size, time);
      continue;
    }
    const Kind kind = t.link_type == kLinkHccs || t.link_type == kLinkHccsSwitch ? kHccs
                      : t.link_type == kLinkPcie                                 ? kPcie
                      : t.link_type == kLinkSio                                  ? kSio
                                                                                 : kSdma;
    if (kind == kSdma) {
      out->traffic[kSdma].megabytes += size;
      out->traffic[kSdma].milliseconds += time;
    } else {
      out->traffic[kind].Take(size, time, kLarge);
    }
    pair(t, kind == kSdma ? nullptr : kKindNames[kind], size, time);
  }
  for (const PayloadRun& run : PayloadRuns(all, name)) {
    out->traffic[kRdma].Take(run.megabytes, run.milliseconds, kLargeRdma);
    pair(all[run.first].task->transfer, "RDMA", run.megabytes, run.milliseconds);
  }
  for (const Kind kind : {kHccs, kPcie, kSio}) {
    out->traffic[kSdma].megabytes += out->traffic[kind].megabytes;
    out->traffic[kSdma].milliseconds += out->traffic[kind].milliseconds;
  }
}

}  // namespace

double Ratio(double part, double rest) {
  return part + rest > 0 ? Rounded(part / (part + rest)) : 0;
}
double Rate(double megabytes, double milliseconds) {
  return milliseconds > 0 ? Rounded(megabytes / milliseconds) : 0;
}

void Traffic::Take(double size, double time, double large_from) {
  megabytes += size;
  milliseconds += time;
  ++packets;
  large += size > large_from;
  auto& [count, total] = sizes[size];
  ++count;
  total += time;
}

void Traffic::Take(const Traffic& other) {
  megabytes += other.megabytes;
  milliseconds += other.milliseconds;
  packets += other.packets;
  large += other.large;
  for (const auto& [size, sum] : other.sizes) {
    sizes[size].first += sum.first;
    sizes[size].second += sum.second;
  }
}

double Traffic::LargeRatio() const {
  return packets == 0 ? 0 : Rounded(static_cast<double>(large) / static_cast<double>(packets));
}

Summary Summarise(const Collective& collective, const std::vector<const CollectiveTask*>& of,
                  const StringPool& pool) {
  const std::vector<Moment> tasks = InOrder(of, pool);
  Summary out;
  out.label = collective.label;
  out.group = collective.group;
  const std::string_view name = pool[collective.name];
  out.times = TimesOf(tasks, name);
  out.times.idle = out.times.elapse - out.times.transit - out.times.wait;
  TakeMoves(tasks, name, &out);
  return out;
}

void Collected::Take(Summary summary) {
  const std::string key = fmt::format("{}@{}", summary.label, summary.group);
  const auto before = by_key.find(key);
  if (before == by_key.end()) {
    order.push_back(key);
  } else {
    for (const auto& [ranks, pair] : before->second.matrix) summary.matrix.try_emplace(ranks, pair);
  }
  by_key.insert_or_assign(key, std::move(summary));
}

Summary Collected::Total() const {
  Summary total;
  for (const std::string& key : order) {
    const Summary& one = by_key.at(key);
    total.times.elapse += one.times.elapse;
    total.times.transit += one.times.transit;
    total.times.wait += one.times.wait;
    total.times.synchronization += one.times.synchronization;
    total.times.idle += one.times.idle;
    for (size_t kind = 0; kind < kKinds; ++kind) total.traffic[kind].Take(one.traffic[kind]);
    for (const auto& [ranks, pair] : one.matrix) {
      Pair& to = total.matrix[ranks];
      to.transport = pair.transport;
      to.megabytes += pair.megabytes;
      to.milliseconds += pair.milliseconds;
    }
  }
  return total;
}

}  // namespace npuprof::database
