// SPDX-License-Identifier: Apache-2.0
#include "analysis/host_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/api_reader.h"
#include "analysis/names.h"
#include "analysis/tensors.h"

namespace npuprof::analysis {
namespace {

constexpr uint64_t kNone = UINT64_MAX;
constexpr uint32_t kMostContexts = 55;

// For each item, in rising order of thread and time, the innermost interval of its thread with begin < time <= end: the
// public stack stamps a record at the end of the launch it belongs to. Intervals are in order of thread and begin.
template <typename Intervals, typename Item, typename Time, typename Set>
void Assign(SpillSpace* space, const Intervals& intervals, Item* first, Item* last, Time time, Set set) {
  std::vector<size_t> open;
  size_t next = 0;
  uint32_t thread = 0;
  for (; first != last; ++first) {
    space->Tick();
    if (first->thread != thread) {
      thread = first->thread;
      open.clear();
      for (; next < intervals.size() && intervals[next].thread < thread; ++next) space->Tick();
    }
    const uint64_t now = time(*first);
    while (next < intervals.size() && intervals[next].thread == thread && intervals[next].begin < now) {
      while (!open.empty() && intervals[open.back()].end < intervals[next].begin) open.pop_back();
      open.push_back(next++);
      space->Tick();
    }
    while (!open.empty() && intervals[open.back()].end < now) open.pop_back();
    set(*first, open.empty() ? kNone : open.back());
  }
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
  const auto by_begin = [](const Interval& x, const Interval& y) {
    return std::tie(x.thread, x.begin, y.end) < std::tie(y.thread, y.begin, x.end);
  };
  for (auto* refs : {&nodes_, &tensors_, &contexts_}) {
    refs->Sort(
        [](const Ref& x, const Ref& y) { return std::tie(x.thread, x.key) < std::tie(y.thread, y.key); });
  }
  launches_.Sort(by_begin);
  AddMissingLaunches();
  launches_.Sort(by_begin);
  calls_.Sort(by_begin);
  ResolveLaunches();
  copies_.Sort([](const CopyRef& x, const CopyRef& y) {
    return std::tie(x.thread, x.time) < std::tie(y.thread, y.time);
  });
  trace_->tracks_.Sort(
      [](const Track& x, const Track& y) { return std::tie(x.thread, x.time) < std::tie(y.thread, y.time); });
  ResolveTracks();
}

uint32_t HostJoin::ThreadIndex(uint32_t id) {
  return thread_ids_.try_emplace(id, static_cast<uint32_t>(thread_ids_.size())).first->second;
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
      calls_.push_back({api.begin, api.end, ThreadIndex(api.thread), api.number});
    } else if (api.level == kLevelNode) {
      auto [it, fresh] = is_launch.try_emplace(api.type, api.type == 5);
      if (fresh && has_types)
        it->second = (*trace_->pool_)[trace_->names_.Type(kLevelNode, api.type)] == "launch";
      if (it->second) launches_.push_back({api.begin, api.end, ThreadIndex(api.thread), api.number});
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
            const auto [it, fresh] = node_ids_.try_emplace(info, static_cast<uint32_t>(node_infos_.size()));
            if (fresh) node_infos_.push_back(info);
            nodes_.push_back({Get<uint64_t>(record, 16), thread,
                              trace_->names_.Name(Get<uint64_t>(record, 24)), it->second});
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
        tensors_.push_back({Get<uint64_t>(record, 16), thread, trace_->names_.Name(Get<uint64_t>(record, 24)),
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
            contexts_.push_back({Get<uint64_t>(record, 16), thread,
                                 trace_->names_.Name(Get<uint64_t>(record, 24)), context_pool_.Add(ids)});
          });
}

void HostJoin::ReadCopies() {
  ForEach("compact", "memcpy_info", kCompactFormat,
          [&](const uint8_t* record, uint32_t thread, bool, RecordReader*) {
            const Copy copy{Get<uint64_t>(record, 24), Get<uint16_t>(record, 40)};
            const auto [it, fresh] = copy_ids_.try_emplace({copy.bytes, copy.direction},
                                                           static_cast<uint32_t>(trace_->copies_.size()));
            if (fresh) trace_->copies_.push_back(copy);
            copies_.push_back({Get<uint64_t>(record, 16), thread, it->second});
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
  struct Destroyed {
    uint32_t device, model;
    int64_t time;
  };
  std::vector<Destroyed> destroyed;
  ForEach("compact", "capture_stream_info", kCompactFormat,
          [&](const uint8_t* record, uint32_t, bool, RecordReader*) {
            const int64_t time = trace_->clock_->Wall(Get<uint64_t>(record, 16));
            const auto device = Get<uint16_t>(record, 32);
            const uint32_t model = Get<uint16_t>(record, 30);
            if (Get<uint16_t>(record, 24) != 0) {
              destroyed.push_back({device, model, time});
              return;
            }
            const uint32_t key = static_cast<uint32_t>(device) << 16 | Get<uint16_t>(record, 26);
            trace_->models_[key].push_back({time, INT64_MAX, model});
          });
  for (auto& [key, captured] : trace_->models_) {
    std::sort(captured.begin(), captured.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    // Numbers of models are used again too.
    for (auto& one : captured) {
      for (const Destroyed& end : destroyed) {
        if (end.device == key >> 16 && end.model == one.model && end.time > one.from)
          one.until = std::min(one.until, end.time);
      }
    }
  }
}

// Without launch calls an operator's record closes the stretch of time its tasks were submitted in.
void HostJoin::AddMissingLaunches() {
  const size_t known = launches_.size();
  size_t launch = 0;
  for (size_t from = 0; from < nodes_.size();) {
    const uint32_t thread = nodes_[from].thread;
    for (; launch < known && launches_[launch].thread < thread; ++launch) trace_->space_->Tick();
    const bool missing = launch == known || launches_[launch].thread != thread;
    uint64_t previous = 0;
    for (; from < nodes_.size() && nodes_[from].thread == thread; ++from) {
      trace_->space_->Tick();
      if (missing && nodes_[from].key != previous)
        launches_.push_back({previous, nodes_[from].key, thread, 0});
      previous = nodes_[from].key;
    }
  }
}

void HostJoin::ResolveLaunches() {
  for (auto* refs : {&nodes_, &tensors_, &contexts_}) {
    Assign(
        trace_->space_, launches_, refs->begin(), refs->end(), [](const Ref& r) { return r.key; },
        [](Ref& r, size_t launch) { r.key = launch; });
    refs->Sort([](const Ref& x, const Ref& y) { return x.key < y.key; });
  }
  // What is of one launch, of three lists in order of launches.
  const auto take = [&](const SpillVector<Ref>& refs, size_t* next, uint64_t launch) {
    for (; *next < refs.size() && refs[*next].key < launch; ++*next) trace_->space_->Tick();
    const Ref* from = refs.data() + *next;
    for (; *next < refs.size() && refs[*next].key == launch; ++*next) trace_->space_->Tick();
    return Range(from, refs.data() + *next);
  };
  size_t node = 0, tensor = 0, context = 0;
  while (node < nodes_.size() && nodes_[node].key != kNone) {
    const uint64_t launch = nodes_[node].key;
    const Range nodes = take(nodes_, &node, launch);
    Interval& interval = launches_[launch];
    interval.name = nodes.first->name;
    interval.operators = InternSet(nodes, take(tensors_, &tensor, launch), take(contexts_, &context, launch));
  }
  for (auto* refs : {&nodes_, &tensors_, &contexts_}) refs->clear();
}

Operator HostJoin::Describe(const Ref& node, Range tensors, Range contexts) {
  const NodeInfo& info = node_infos_[node.payload];
  Operator op;
  op.name = node.name;
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
    const std::string_view ids = context_pool_[it->payload];
    for (size_t at = 0; at + 4 <= ids.size(); at += 4) {
      op.contexts.push_back(Get<uint32_t>(reinterpret_cast<const uint8_t*>(ids.data()), at));
    }
  }
  return op;
}

// Operators differ in name far more than in all else, so the name of a single one stays with its task.
uint32_t HostJoin::InternSet(Range nodes, Range tensors, Range contexts) {
  const bool single = nodes.second - nodes.first == 1;
  set_key_.clear();
  for (auto node = nodes.first; node != nodes.second; ++node) {
    Append(&set_key_, node->payload);
    Append(&set_key_, single ? 0 : node->name);
    for (const Range& range : {tensors, contexts}) {
      for (auto it = range.first; it != range.second; ++it) {
        if (it->name == node->name) Append(&set_key_, it->payload);
      }
      Append(&set_key_, UINT32_MAX);
    }
  }
  const auto known = set_ids_.find(set_key_);
  if (known != set_ids_.end()) return known->second;
  const auto id = static_cast<uint32_t>(trace_->operator_sets_.size());
  set_ids_.emplace(set_key_, id);
  std::vector<Operator> set;
  for (auto node = nodes.first; node != nodes.second; ++node)
    set.push_back(Describe(*node, tensors, contexts));
  trace_->operator_sets_.push_back(std::move(set));
  return id;
}

void HostJoin::ResolveTracks() {
  auto& tracks = trace_->tracks_;
  const auto time = [](const Track& track) { return track.time; };
  Assign(trace_->space_, calls_, tracks.begin(), tracks.end(), time, [&](Track& track, size_t call) {
    if (call == kNone) return;
    track.connection = calls_[call].number;
    track.flags |= Track::kFromAcl;
  });
  Assign(trace_->space_, launches_, tracks.begin(), tracks.end(), time, [&](Track& track, size_t launch) {
    if (launch == kNone) return;
    const Interval& interval = launches_[launch];
    track.operators = interval.operators;
    track.name = interval.name;
    if (interval.number == 0) return;
    track.connection = interval.number;
    track.flags &= static_cast<uint16_t>(~Track::kFromAcl);
  });
  const CopyRef* copy = copies_.begin();
  for (Track& track : tracks) {
    const auto before = [&](const CopyRef& c) {
      return std::tie(c.thread, c.time) < std::tie(track.thread, track.time);
    };
    for (; copy != copies_.end() && before(*copy); ++copy) trace_->space_->Tick();
    if (copy != copies_.end() && copy->thread == track.thread && copy->time == track.time)
      track.copy = copy->copy;
    trace_->space_->Tick();
  }
}

}  // namespace npuprof::analysis
