// SPDX-License-Identifier: Apache-2.0
#include "analysis/host_join.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/api_reader.h"
#include "analysis/names.h"
#include "analysis/tensors.h"

namespace npuprof::analysis {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kMostContexts = 55;

// For each reference in rising time the innermost interval with begin < time <= end: the public stack stamps
// a record at the end of the launch it belongs to.
template <typename Intervals, typename Items, typename Time, typename Set>
void Assign(const Intervals& intervals, Items first, Items last, Time time, Set set) {
  std::vector<uint32_t> open;
  size_t next = 0;
  for (; first != last; ++first) {
    const uint64_t now = time(*first);
    while (next < intervals.size() && intervals[next].begin < now) {
      while (!open.empty() && intervals[open.back()].end < intervals[next].begin) open.pop_back();
      open.push_back(static_cast<uint32_t>(next++));
    }
    while (!open.empty() && intervals[open.back()].end < now) open.pop_back();
    set(*first, open.empty() ? kNone : open.back());
  }
}

// Records of a thread are nearly always in order already; sorting would want a copy of them.
template <typename Items, typename Less>
void Order(Items* items, Less less) {
  if (!std::is_sorted(items->begin(), items->end(), less))
    std::stable_sort(items->begin(), items->end(), less);
}

void Append(std::string* key, uint32_t value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

void HostJoin::Run() {
  ReadApis();
  ReadNodes();
  ReadTensors();
  ReadContexts();
  ReadCopies();
  ReadTracks();
  ReadCaptures();
  auto& tracks = trace_->tracks_;
  std::sort(tracks.begin(), tracks.end(), [](const Track& a, const Track& b) {
    return std::tie(a.thread, a.time) < std::tie(b.thread, b.time);
  });
  for (size_t from = 0; from < tracks.size();) {
    size_t to = from;
    while (to < tracks.size() && tracks[to].thread == tracks[from].thread) ++to;
    JoinThread(tracks[from].thread, tracks.data() + from, tracks.data() + to);
    threads_[tracks[from].thread] = Thread();
    from = to;
  }
}

uint32_t HostJoin::ThreadIndex(uint32_t id) {
  const auto [it, fresh] = thread_ids_.try_emplace(id, static_cast<uint32_t>(threads_.size()));
  if (fresh) threads_.emplace_back();
  return it->second;
}

void HostJoin::ForEach(const char* form, const char* kind, const RecordFormat& format,
                       const std::function<void(const uint8_t*, uint32_t, bool, RecordReader*)>& visit) {
  for (const bool is_static : {true, false}) {
    const auto base = fmt::format("host/data/{}.{}.{}", is_static ? "unaging" : "aging", form, kind);
    RecordReader reader(index_.Get(base), format, trace_->diagnostics_, progress_);
    while (const uint8_t* record = reader.Next()) {
      const auto level = Get<uint16_t>(record, 2);
      if (!IsKnownLevel(level)) {
        reader.Broken(fmt::format("unknown level {}", level));
        continue;
      }
      visit(record, ThreadIndex(Get<uint32_t>(record, 8)), is_static, &reader);
    }
  }
}

void HostJoin::ReadApis() {
  const bool has_types = trace_->names_.has_types();
  std::unordered_map<uint32_t, bool> is_launch;
  ForEachApi(index_, trace_->diagnostics_, progress_, [&](const Api& api) {
    trace_->apis_ = api.number;
    ApiSum& sum = trace_->api_sums_[{api.level, trace_->ApiName(api.level, api.type, api.item)}];
    const uint64_t cycles = api.end - api.begin;
    ++sum.count;
    sum.sum += cycles;
    sum.squares += static_cast<long double>(cycles) * static_cast<long double>(cycles);
    sum.min = std::min(sum.min, cycles);
    sum.max = std::max(sum.max, cycles);
    if (api.level == kLevelAcl) {
      threads_[ThreadIndex(api.thread)].calls.push_back({api.begin, api.end, api.number});
    } else if (api.level == kLevelNode) {
      auto [it, fresh] = is_launch.try_emplace(api.type, api.type == 5);
      if (fresh && has_types)
        it->second = (*trace_->pool_)[trace_->names_.Type(kLevelNode, api.type)] == "launch";
      if (it->second) threads_[ThreadIndex(api.thread)].launches.push_back({api.begin, api.end, api.number});
    }
  });
}

void HostJoin::ReadNodes() {
  ForEach("compact", "node_basic_info", kCompactFormat,
          [&](const uint8_t* record, uint32_t thread, bool is_static, RecordReader*) {
            const auto blocks = Get<uint32_t>(record, 44);
            const uint32_t block_num = blocks & 0xffff, ratio = blocks >> 16;
            const NodeInfo info{Get<uint32_t>(record, 32),
                                trace_->names_.Name(Get<uint64_t>(record, 36)),
                                block_num,
                                block_num * ratio,
                                Get<uint32_t>(record, 48) != 0,
                                is_static};
            const auto [it, fresh] = node_ids_.try_emplace(info, static_cast<uint32_t>(nodes_.size()));
            if (fresh) nodes_.push_back(info);
            threads_[thread].nodes.push_back(
                {Get<uint64_t>(record, 16), trace_->names_.Name(Get<uint64_t>(record, 24)), it->second});
          });
}

void HostJoin::ReadTensors() {
  ForEach(
      "additional", "tensor_info", kAdditionalFormat,
      [&](const uint8_t* record, uint32_t thread, bool, RecordReader* reader) {
        const auto bytes = TensorBytes(record);
        if (bytes.empty()) {
          if (Get<uint32_t>(record, 32) != 0) {
            reader->Broken(fmt::format("{} tensors in one record, at most 5 fit", Get<uint32_t>(record, 32)));
          }
          return;
        }
        threads_[thread].tensors.push_back({Get<uint64_t>(record, 16),
                                            trace_->names_.Name(Get<uint64_t>(record, 24)),
                                            tensor_pool_.Add(bytes)});
      });
}

void HostJoin::ReadContexts() {
  ForEach("additional", "context_id_info", kAdditionalFormat,
          [&](const uint8_t* record, uint32_t thread, bool, RecordReader* reader) {
            if (Get<uint16_t>(record, 2) != kLevelNode) return;
            const auto count = Get<uint32_t>(record, 32);
            if (count == 0 || count > kMostContexts) {
              reader->Broken(fmt::format("{} context ids in one record, 1 to {} fit", count, kMostContexts));
              return;
            }
            const std::string_view ids(reinterpret_cast<const char*>(record) + 36, count * sizeof(uint32_t));
            threads_[thread].contexts.push_back({Get<uint64_t>(record, 16),
                                                 trace_->names_.Name(Get<uint64_t>(record, 24)),
                                                 context_pool_.Add(ids)});
          });
}

void HostJoin::ReadCopies() {
  ForEach("compact", "memcpy_info", kCompactFormat,
          [&](const uint8_t* record, uint32_t thread, bool, RecordReader*) {
            const Copy copy{Get<uint64_t>(record, 24), Get<uint16_t>(record, 40)};
            const auto [it, fresh] = copy_ids_.try_emplace({copy.bytes, copy.direction},
                                                           static_cast<uint32_t>(trace_->copies_.size()));
            if (fresh) trace_->copies_.push_back(copy);
            threads_[thread].copies.push_back({Get<uint64_t>(record, 16), it->second});
          });
}

void HostJoin::ReadTracks() {
  size_t records = 0;
  for (const char* age : {"unaging", "aging"}) {
    records +=
        LikelyRecords(index_.Get(fmt::format("host/data/{}.compact.task_track", age)), kCompactFormat.bytes);
  }
  trace_->tracks_.reserve(records);
  ForEach("compact", "task_track", kCompactFormat,
          [&](const uint8_t* record, uint32_t thread, bool, RecordReader* reader) {
            const auto type = Get<uint64_t>(record, 32);
            const auto device = Get<uint16_t>(record, 24);
            if (type == kTaskMaintenance || device >> 12 != 0) return;  // upper bits: not an NPU
            Track track;
            track.time = Get<uint64_t>(record, 16);
            track.device = device;
            track.stream = Get<uint16_t>(record, 26);
            track.task = Get<uint16_t>(record, 28);
            if (type == kTaskFlip) {
              trace_->flips_[{track.device, track.stream}].push_back(
                  {track.time, Get<uint16_t>(record, 30), track.task});
              return;
            }
            if (type > UINT16_MAX) {
              reader->Broken(fmt::format("unknown task type {}", type));
              return;
            }
            track.type = static_cast<uint16_t>(type);
            track.thread = thread;
            const auto kernel = Get<uint64_t>(record, 40);
            track.kernel = kernel == 0 ? 0 : trace_->names_.Name(kernel);
            if (RunsOperator(trace_->type_name(track.type))) track.flags |= Track::kRunsOperator;
            trace_->tracks_.push_back(track);
          });
}

void HostJoin::ReadCaptures() {
  ForEach("compact", "capture_stream_info", kCompactFormat,
          [&](const uint8_t* record, uint32_t, bool, RecordReader*) {
            if (Get<uint16_t>(record, 24) != 0) return;  // the end of a capture takes nothing back
            const uint32_t key =
                static_cast<uint32_t>(Get<uint16_t>(record, 32)) << 16 | Get<uint16_t>(record, 26);
            trace_->models_[key] = Get<uint16_t>(record, 30);
          });
}

void HostJoin::ResolveLaunches(Thread* thread) {
  const auto by_begin = [](const Interval& a, const Interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  };
  const auto by_key = [](const Ref& a, const Ref& b) { return a.key < b.key; };
  for (auto* refs : {&thread->nodes, &thread->tensors, &thread->contexts}) {
    Order(refs, by_key);
  }
  if (thread->launches.empty()) {
    // Without launch calls an operator's record closes the stretch of time its tasks were submitted in.
    uint64_t previous = 0;
    for (const auto& node : thread->nodes) {
      if (node.key != previous) thread->launches.push_back({previous, node.key, 0});
      previous = node.key;
    }
  } else {
    Order(&thread->launches, by_begin);
  }
  for (auto* refs : {&thread->nodes, &thread->tensors, &thread->contexts}) {
    Assign(
        thread->launches, refs->begin(), refs->end(), [](const Ref& r) { return r.key; },
        [](Ref& r, uint32_t launch) { r.key = launch; });
    Order(refs, by_key);
  }
  auto& nodes = thread->nodes;
  for (size_t from = 0; from < nodes.size() && nodes[from].key != kNone;) {
    size_t to = from;
    while (to < nodes.size() && nodes[to].key == nodes[from].key) ++to;
    thread->launches[nodes[from].key].operators = InternSet(*thread, from, to);
    from = to;
  }
}

uint32_t HostJoin::InternSet(const Thread& thread, size_t from, size_t to) {
  const uint64_t launch = thread.nodes[from].key;
  const auto of_launch = [&](const std::vector<Ref>& refs) {
    return std::equal_range(refs.begin(), refs.end(), Ref{launch, 0, 0},
                            [](const Ref& a, const Ref& b) { return a.key < b.key; });
  };
  const auto tensors = of_launch(thread.tensors);
  const auto contexts = of_launch(thread.contexts);
  std::string key;
  for (size_t i = from; i < to; ++i) {
    Append(&key, thread.nodes[i].name);
    Append(&key, thread.nodes[i].payload);
  }
  for (const auto& range : {tensors, contexts}) {
    Append(&key, kNone);
    for (auto it = range.first; it != range.second; ++it) {
      Append(&key, it->name);
      Append(&key, it->payload);
    }
  }
  const auto [entry, fresh] =
      set_ids_.try_emplace(std::move(key), static_cast<uint32_t>(trace_->operator_sets_.size()));
  if (!fresh) return entry->second;

  std::vector<Operator> set;
  for (size_t i = from; i < to; ++i) {
    const NodeInfo& info = nodes_[thread.nodes[i].payload];
    Operator op;
    op.name = thread.nodes[i].name;
    op.type = info.type;
    op.task_type = info.task_type;
    op.block_num = info.block_num;
    op.mix_block_num = info.mix_block_num;
    op.hf32 = info.hf32 != 0;
    op.is_static = info.is_static != 0;
    std::vector<std::string_view> parts;
    for (auto it = tensors.first; it != tensors.second; ++it) {
      if (it->name == op.name) parts.push_back(tensor_pool_[it->payload]);
    }
    DescribeTensors(parts, trace_->pool_, &op);
    for (auto it = contexts.first; it != contexts.second; ++it) {
      if (it->name != op.name) continue;
      const std::string& ids = context_pool_[it->payload];
      for (size_t at = 0; at + 4 <= ids.size(); at += 4) {
        op.contexts.push_back(Get<uint32_t>(reinterpret_cast<const uint8_t*>(ids.data()), at));
      }
    }
    set.push_back(std::move(op));
  }
  trace_->operator_sets_.push_back(std::move(set));
  return entry->second;
}

void HostJoin::JoinThread(uint32_t index, Track* first, Track* last) {
  Thread& thread = threads_[index];
  ResolveLaunches(&thread);
  std::sort(thread.calls.begin(), thread.calls.end(), [](const Interval& a, const Interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::sort(thread.copies.begin(), thread.copies.end(),
            [](const CopyRef& a, const CopyRef& b) { return a.time < b.time; });
  const auto time = [](const Track& track) { return track.time; };
  Assign(thread.calls, first, last, time, [&](Track& track, uint32_t call) {
    if (call == kNone) return;
    track.connection = thread.calls[call].number;
    track.flags |= Track::kFromAcl;
  });
  Assign(thread.launches, first, last, time, [&](Track& track, uint32_t launch) {
    if (launch == kNone) return;
    track.operators = thread.launches[launch].operators;
    if (thread.launches[launch].number == 0) return;
    track.connection = thread.launches[launch].number;
    track.flags &= static_cast<uint16_t>(~Track::kFromAcl);
  });
  for (Track* track = first; track != last; ++track) {
    const auto it = std::lower_bound(thread.copies.begin(), thread.copies.end(), track->time,
                                     [](const CopyRef& c, uint64_t value) { return c.time < value; });
    if (it != thread.copies.end() && it->time == track->time) track->copy = it->copy;
  }
}

}  // namespace npuprof::analysis
