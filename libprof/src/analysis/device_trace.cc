// SPDX-License-Identifier: Apache-2.0
#include "analysis/device_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/clock.h"
#include "analysis/names.h"
#include "analysis/record_reader.h"
#include "npuprof_records.h"

namespace npuprof::analysis {
namespace {

// A sub-task may begin in the same tick as its task and comes after it.
bool ByIdAndStart(const DeviceTask& a, const DeviceTask& b) {
  return std::tie(a.stream, a.task, a.start, a.is_subtask) <
         std::tie(b.stream, b.task, b.start, b.is_subtask);
}

// Start and end records find each other by this.
uint64_t PairKey(bool subtask, uint16_t stream, uint16_t task, uint16_t context) {
  return static_cast<uint64_t>(subtask) << 48 | static_cast<uint64_t>(stream) << 32 |
         static_cast<uint64_t>(task) << 16 | context;
}

uint64_t Overlap(const DeviceTask& task, uint64_t start, uint64_t end) {
  const uint64_t from = std::max(task.start, start), to = std::min(task.end, end);
  return to > from ? to - from : 0;
}

bool IsMixed(unsigned subtask) {
  return subtask == NPUPROF_SUBTASK_MIX_AIC || subtask == NPUPROF_SUBTASK_MIX_AIV;
}

}  // namespace

DeviceTrace::DeviceTrace(int device, const SliceIndex& index, SpillSpace* space, Diagnostics* diagnostics)
    : device_(device),
      index_(index),
      space_(space),
      diagnostics_(diagnostics),
      tasks_(space),
      side_sums_(space) {
  side_sums_.resize(1);
  counts_.device = device;
  ReadExpansion();
}

std::string DeviceTrace::Base(const char* kind) const {
  return fmt::format("device_{}/data/{}.data.{}", device_, kind, device_);
}

void DeviceTrace::ReadExpansion() {
  for (const char* base :
       {"host/data/unaging.compact.expand_stream_spec", "host/data/aging.compact.expand_stream_spec"}) {
    RecordReader reader(index_.Get(base), kCompactFormat, diagnostics_);
    while (const uint8_t* record = reader.Next()) expanded_streams_ |= record[24] != 0;
  }
}

// Wide ids travel in bits that narrow ones leave free; plain small ids pass unchanged.
DeviceTrace::Ids DeviceTrace::Resolve(uint16_t s, uint16_t t, unsigned sqe) const {
  const auto narrow = [](unsigned value) { return static_cast<uint16_t>(value); };
  if (expanded_streams_) {
    if (sqe == NPUPROF_SQE_PLACE_HOLDER || sqe == NPUPROF_SQE_EVENT_RECORD) return {narrow(s & 0x7fff), t};
    if (s & 0x8000) return {narrow(t & 0x7fff), narrow((t & 0x8000) | (s & 0x7fff))};
    return {narrow(s & 0x7fff), t};
  }
  if (s & 0x1000) return {narrow(s % 2048), narrow((t & 0x1fff) | (s & 0xe000))};
  if (s & 0x2000) return {narrow((t & 0x0fff) % 2048), narrow((s & 0x0fff) | (t & 0xf000))};
  return {narrow(s % 2048), t};
}

void DeviceTrace::LoadMarks(const std::function<void(uint64_t)>& progress) {
  RecordReader reader(index_.Get(Base("ts_track")), kTsTrackFormat, diagnostics_, progress);
  while (const uint8_t* record = reader.Next()) {
    const auto time = Get<uint64_t>(record, 8);
    const uint8_t tag = record[1];
    if (tag == NPUPROF_TS_STEP) {
      marks_.push_back({time, Get<uint64_t>(record, 16), Get<uint64_t>(record, 24),
                        static_cast<uint16_t>(Get<uint16_t>(record, 32) & 0x7ff), Get<uint16_t>(record, 36),
                        Get<uint16_t>(record, 34)});
    } else if (tag == NPUPROF_TS_FLIP) {
      flips_[{static_cast<uint16_t>(device_), Get<uint16_t>(record, 16)}].push_back(
          {time, Get<uint16_t>(record, 18), Get<uint16_t>(record, 22)});
    } else if (tag >= 10 && tag <= 15) {
      reader.NotShown(fmt::format("marks with tag {} are in no table", tag));
    } else {
      reader.Broken(fmt::format("unknown tag {}", tag));
    }
  }
  for (auto& [key, flips] : flips_) {
    std::sort(flips.begin(), flips.end(), [](const Flip& a, const Flip& b) { return a.time < b.time; });
  }
  LoadFrequencies(progress);
}

void DeviceTrace::LoadFrequencies(const std::function<void(uint64_t)>& progress) {
  constexpr uint32_t kMost = 55;
  RecordReader reader(index_.Get(Base("lpmFreqConv")), kFrequencyFormat, diagnostics_, progress);
  while (const uint8_t* record = reader.Next()) {
    const auto count = Get<uint32_t>(record, 0);
    if (count > kMost) {
      reader.Broken(fmt::format("{} entries in one record, at most {} fit", count, kMost));
      continue;
    }
    if (Get<uint32_t>(record, 4) != 0) continue;  // voltages
    for (uint32_t i = 0; i < count; ++i) {
      frequencies_.emplace_back(Get<uint64_t>(record, 8 + 16 * i), Get<uint32_t>(record, 16 + 16 * i));
    }
  }
  std::stable_sort(frequencies_.begin(), frequencies_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

double DeviceTrace::FrequencyAt(uint64_t ticks) const {
  const auto next = std::upper_bound(frequencies_.begin(), frequencies_.end(), ticks,
                                     [](uint64_t value, const auto& entry) { return value < entry.first; });
  return next == frequencies_.begin() ? 0 : (next - 1)->second;
}

void DeviceTrace::LoadTasks(bool with_counters, const std::function<void(uint64_t)>& progress) {
  LoadTaskLog(progress);
  tasks_.Sort(ByIdAndStart);
  if (with_counters) LoadPmu(progress);
}

void DeviceTrace::LoadTaskLog(const std::function<void(uint64_t)>& progress) {
  std::unordered_map<uint64_t, DeviceTask> started;
  std::unordered_map<uint64_t, uint64_t> ended;  // ends that came before their start
  const auto add = [&](const DeviceTask& task) {
    tasks_.push_back(task);
    if (!task.is_subtask) ++counts_.tasks;
  };
  tasks_.reserve(LikelyRecords(index_.Get(Base("stars_soc")), 2 * kTaskLogFormat.bytes));
  RecordReader reader(index_.Get(Base("stars_soc")), kTaskLogFormat, diagnostics_, progress);
  uint64_t holes = 0;
  while (const uint8_t* record = reader.Next()) {
    if (reader.holes() != holes) {
      // What ends behind a hole may be another task with the same identifiers, which come round.
      holes = reader.holes();
      counts_.unpaired += started.size() + ended.size();
      started.clear();
      ended.clear();
    }
    const auto head = Get<uint16_t>(record, 0);
    const unsigned function = NPUPROF_HEAD_FUNC(head);
    const bool subtask = function == NPUPROF_FUNC_SUBTASK_START || function == NPUPROF_FUNC_SUBTASK_END;
    if (!subtask && function != NPUPROF_FUNC_TASK_START && function != NPUPROF_FUNC_TASK_END) {
      reader.Broken(fmt::format("unknown function type {:#04x}", function));
      continue;
    }
    const unsigned sqe = NPUPROF_HEAD_TYPE(head);
    const Ids ids = Resolve(Get<uint16_t>(record, 4), Get<uint16_t>(record, 6), sqe);
    const auto clock = Get<uint64_t>(record, 8);
    DeviceTask task;
    task.stream = ids.stream;
    task.task = ids.task;
    task.is_subtask = subtask;
    task.context = subtask ? Get<uint16_t>(record, 18) : uint16_t{0};
    task.sqe = static_cast<uint8_t>(sqe);
    const uint64_t key = PairKey(subtask, task.stream, task.task, task.context);
    if (function == NPUPROF_FUNC_TASK_START || function == NPUPROF_FUNC_SUBTASK_START) {
      if (!subtask) ++counts_.task_starts;
      task.start = clock;
      const auto end = ended.find(key);
      if (end != ended.end() && end->second >= clock) {
        task.end = end->second;
        ended.erase(end);
        add(task);
        continue;
      }
      if (!started.insert_or_assign(key, task).second) ++counts_.unpaired;
      continue;
    }
    if (!subtask) ++counts_.task_ends;
    const auto start = started.find(key);
    if (start != started.end() && start->second.start <= clock) {
      start->second.end = clock;
      add(start->second);
      started.erase(start);
    } else if (!ended.try_emplace(key, clock).second) {
      ++counts_.unpaired;
    }
  }
  counts_.unpaired += started.size() + ended.size();
  if (counts_.unpaired > 0) {
    diagnostics_->Warn(Base("stars_soc"),
                       fmt::format("{} task start or end records have no counterpart", counts_.unpaired));
  }
}

TaskPmu DeviceTrace::DecodePmu(const uint8_t* record) {
  npuprof_rec_task_pmu raw;
  std::memcpy(&raw, record, sizeof(raw));
  TaskPmu out;
  const unsigned ffts = raw.ffts_type >> NPUPROF_FFTS_SHIFT, subtask = raw.subtask_type & 0xff;
  const bool cube =
      ffts == NPUPROF_FFTS_AIC ||
      (ffts == NPUPROF_FFTS_PLUS && (subtask == NPUPROF_SUBTASK_AIC || subtask == NPUPROF_SUBTASK_MIX_AIC));
  out.side = cube ? CoreSide::kCube : CoreSide::kVector;
  out.mixed = ffts == NPUPROF_FFTS_PLUS && IsMixed(subtask);
  out.cycles = raw.cycles;
  std::copy(std::begin(raw.counters), std::end(raw.counters), out.counters.begin());
  out.start = raw.start;
  out.end = raw.end;
  return out;
}

// The end of a counter record lies within its task; ids come round, times do not.
DeviceTask* DeviceTrace::Match(const Ids& ids, bool is_subtask, uint16_t context, uint64_t start,
                               uint64_t end) {
  DeviceTask key;
  key.stream = ids.stream;
  key.task = ids.task;
  key.start = end;
  key.is_subtask = true;
  space_->Tick();
  auto* it = std::upper_bound(tasks_.begin(), tasks_.end(), key, ByIdAndStart);
  // The task itself, its sub-tasks and the neighbours of the same ids: a handful.
  constexpr int kLookBack = 80;
  DeviceTask* best = nullptr;
  uint64_t best_score = 0;
  for (int step = 0; step < kLookBack && it != tasks_.begin(); ++step) {
    --it;
    if (it->stream != ids.stream || it->task != ids.task) break;
    uint64_t score = end <= it->end ? 4 : Overlap(*it, start, end) > 0 ? 1 : 0;
    if (score == 0) continue;
    if (it->is_subtask == is_subtask && (!is_subtask || it->context == context)) {
      score += 2;
    } else if (it->is_subtask) {
      continue;  // another part of the same fused task
    }
    if (score > best_score) {
      best = &*it;
      best_score = score;
    }
    if (score == 6) break;
  }
  return best;
}

void DeviceTrace::LoadPmu(const std::function<void(uint64_t)>& progress) {
  RecordReader reader(pmu_slices(), kTaskPmuFormat, diagnostics_, progress);
  uint64_t unmatched = 0;
  while (const uint8_t* record = reader.Next()) {
    const unsigned function = NPUPROF_HEAD_FUNC(Get<uint16_t>(record, 0));
    const Ids ids = Resolve(Get<uint16_t>(record, 4), Get<uint16_t>(record, 6), NPUPROF_SQE_AI_CORE);
    const auto start = Get<uint64_t>(record, 112), end = Get<uint64_t>(record, 120);
    const unsigned subtask = record[16];
    const auto context = Get<uint16_t>(record, 18);
    if (function == NPUPROF_FUNC_TASK_PMU) {
      ++counts_.pmu_records;
      const unsigned ffts = Get<uint16_t>(record, 20) >> NPUPROF_FFTS_SHIFT;
      DeviceTask* task = Match(ids, ffts == NPUPROF_FFTS_PLUS, context, start, end);
      if (task && task->pmu == DeviceTask::kNoPmu) {
        task->pmu = reader.position();
        ++counts_.pmu_matched;
      } else {
        ++unmatched;
      }
    } else if (function == NPUPROF_FUNC_BLOCK_PMU) {
      ++counts_.block_records;
      if (!IsMixed(subtask)) continue;
      const bool vector_core = record[20] & 1;
      if (vector_core != (subtask == NPUPROF_SUBTASK_MIX_AIC))
        continue;  // the main side is in the task record
      DeviceTask* task = Match(ids, true, context, start, end);
      if (!task) {
        ++unmatched;
        continue;
      }
      if (task->side == 0) {
        task->side = static_cast<uint32_t>(side_sums_.size());
        side_sums_.push_back({});
      }
      SideSum& sum = side_sums_[task->side];
      sum.cycles += Get<uint64_t>(record, 32);
      for (size_t i = 0; i < sum.counters.size(); ++i) sum.counters[i] += Get<uint64_t>(record, 48 + 8 * i);
      ++sum.blocks;
    } else {
      reader.Broken(fmt::format("unknown function type {:#04x}", function));
    }
  }
  if (unmatched > 0) {
    diagnostics_->Warn(Base("ffts_profile"),
                       fmt::format("{} counter records belong to no recorded task", unmatched));
  }
}

void DeviceTrace::Join(const HostTrace& host, const DeviceClock& clock, bool keep_wholes) {
  const auto device = static_cast<uint16_t>(device_);
  const std::vector<Flip>* flips = nullptr;
  bool one_sided = false, unwrapped = false;
  int stream = -1;
  for (auto& task : tasks_) {
    space_->Tick();
    if (task.stream != stream) {
      stream = task.stream;
      const auto it = flips_.find({device, task.stream});
      flips = it == flips_.end() ? nullptr : &it->second;
      one_sided = !flips && host.has_flips(device, task.stream);
      // The host's wrap lies before its records or, where they are cut off, behind them.
      unwrapped = flips && !host.has_flips(device, task.stream);
    }
    if (flips) {
      const auto next = std::upper_bound(flips->begin(), flips->end(), task.start,
                                         [](uint64_t time, const Flip& flip) { return time < flip.time; });
      task.batch = next != flips->begin() ? (next - 1)->number
                                          : static_cast<uint16_t>(std::max(flips->front().number - 1, 0));
    }
    const int64_t start = clock.Wall(task.start);
    const Track* track = host.Find(device, task.stream, task.task, task.batch, start, one_sided || unwrapped);
    if (track && unwrapped && host.has_clock() && host.Launched(*track) > start) track = nullptr;
    if (track) task.track = host.IndexOf(track) + 1;
  }
  // A fused task is either shown whole or, where the host names its contexts, by its sub-tasks.
  const auto wanted = [&](const DeviceTask& task) {
    if (task.track == 0) return false;
    const Track& track = host.track(task.track - 1);
    const auto set = host.Operators(track);
    return std::any_of(set.begin(), set.end(), [&](const Operator& op) {
      return std::find(op.contexts.begin(), op.contexts.end(), task.context) != op.contexts.end();
    });
  };
  size_t out = 0;
  for (size_t from = 0; from < tasks_.size();) {
    size_t to = from;
    while (to < tasks_.size() && tasks_[to].stream == tasks_[from].stream &&
           tasks_[to].task == tasks_[from].task)
      ++to;
    DeviceTask whole, part;
    bool has_whole = false, by_parts = false;
    const auto flush = [&] {
      if (has_whole && !by_parts) {
        if (whole.pmu == DeviceTask::kNoPmu) whole.pmu = part.pmu;
        if (whole.side == 0) whole.side = part.side;
        tasks_[out++] = whole;
      } else if (has_whole && keep_wholes) {
        whole.is_whole = true;
        tasks_[out++] = whole;
      }
      has_whole = by_parts = false;
      part = DeviceTask();
    };
    // Tasks of the same ids do not overlap, so a sub-task belongs to the whole that began last.
    for (size_t i = from; i < to; ++i) {
      space_->Tick();
      const DeviceTask task = tasks_[i];
      if (!task.is_subtask) {
        flush();
        whole = task;
        has_whole = true;
      } else if (!has_whole || wanted(task)) {
        tasks_[out++] = task;
        by_parts = true;
      } else if (part.pmu == DeviceTask::kNoPmu) {
        part = task;
      }
    }
    flush();
    from = to;
  }
  tasks_.resize(out);
  for (const DeviceTask& task : tasks_) {
    space_->Tick();
    counts_.tracked += task.track != 0;
  }
}

void DeviceTrace::SortByStart() {
  tasks_.Sort([](const DeviceTask& a, const DeviceTask& b) {
    return std::tie(a.start, a.end, a.stream, a.task) < std::tie(b.start, b.end, b.stream, b.task);
  });
}

}  // namespace npuprof::analysis
