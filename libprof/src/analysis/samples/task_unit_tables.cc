// SPDX-License-Identifier: Apache-2.0
// What single tasks did in units that records tell apart by stream and task: the L2 cache, address translation, and the
// processors for operators.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/record_reader.h"
#include "analysis/samples/jobs.h"

namespace npuprof::analysis {
namespace {

constexpr RecordFormat kSocPmuFormat{80, false, 0, 0};
enum SocData : uint16_t { kL2 = 1, kTranslation = 2, kPageFault = 4 };

std::vector<std::string> List(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    items.emplace_back(item);
  }
  return items;
}

// Events of one unit in "HA:0xfb,0xfc;SMMU:0x8a,0x8c".
std::vector<std::string> EventsOf(std::string_view all, std::string_view unit) {
  while (!all.empty()) {
    const auto part = all.substr(0, all.find(';'));
    all.remove_prefix(std::min(all.size(), part.size() + 1));
    if (part.starts_with(unit) && part.substr(unit.size()).starts_with(':'))
      return List(part.substr(unit.size() + 1));
  }
  return {};
}

/// Sums counters of a record by the names of their events.
class EventSum {
 public:
  EventSum(const std::vector<std::string>& events, std::initializer_list<const char*> wanted) {
    for (const char* name : wanted) {
      const auto place = std::find(events.begin(), events.end(), name);
      const auto i = static_cast<size_t>(place - events.begin());
      if (i < 8 && place != events.end()) places_.push_back(i);
    }
    whole_ = places_.size() == wanted.size();
  }
  /// Whether all of the events were counted.
  bool whole() const { return whole_; }
  double Of(const uint8_t* record) const {
    double sum = 0;
    for (const size_t i : places_) sum += static_cast<double>(Get<uint64_t>(record, 16 + 8 * i));
    return sum;
  }

 private:
  std::vector<size_t> places_;
  bool whole_ = false;
};

std::string Share(const EventSum& part, const EventSum& whole, const uint8_t* record) {
  if (!part.whole() || !whole.whole()) return "N/A";
  const double all = whole.Of(record);
  return Decimal(all > 0 ? part.Of(record) / all : 0);
}

const TaskNames* NamesOf(const SampleRun& run, const DeviceInfo& device) {
  const auto found = run.in.tasks.find(device.id);
  return found == run.in.tasks.end() ? nullptr : &found->second;
}

}  // namespace

void SocPmuTables(SampleRun& run) {
  SampleTable& cache =
      run.Table("l2_cache", {"Device_id", "Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"});
  SampleTable& translation =
      run.Table("soc_pmu", {"Device_id", "Stream Id", "Task Id", "TLB Hit Rate", "TLB Miss Rate", "Op Name"});
  run.EachDevice({"socpmu.data"}, [&](const SampleDevice& device) {
    const Metadata sample = run.Sample(device.info);
    const auto l2 = List(sample.Text("l2CacheTaskProfilingEvents", ""));
    const auto smmu = EventsOf(sample.Text("npuEvents", ""), "SMMU");
    const EventSum requests(l2, {"0xfb", "0xfc"}), hits(l2, {"0x90", "0x91"}), victims(l2, {"0x9c"});
    const EventSum lookups(smmu, {"0x8a"}), found(smmu, {"0x8c", "0x8d"}), missed(smmu, {"0x2"});
    const Slices& slices = run.File(device.info, "socpmu.data");
    TaskNames::Records cache_tasks(NamesOf(run, device.info)), translation_tasks(NamesOf(run, device.info));
    {
      Diagnostics again;  // what is broken is reported by the second reading
      RecordReader reader(slices, kSocPmuFormat, &again);
      while (const uint8_t* record = reader.Next()) {
        const auto kind = Get<uint16_t>(record, 14);
        if (kind == kL2) cache_tasks.Count(Get<uint16_t>(record, 10), Get<uint16_t>(record, 12));
        if (kind == kTranslation)
          translation_tasks.Count(Get<uint16_t>(record, 10), Get<uint16_t>(record, 12));
      }
    }
    RecordReader reader(slices, kSocPmuFormat, run.in.diagnostics, device.progress);
    while (const uint8_t* record = reader.Next()) {
      const auto stream = Get<uint16_t>(record, 10), task = Get<uint16_t>(record, 12),
                 kind = Get<uint16_t>(record, 14);
      const auto row = [&](SampleTable* table, TaskNames::Records* tasks, const std::string& first,
                           const std::string& second) {
        table->Row({device.id(), std::to_string(stream), std::to_string(task), first, second,
                    (*run.in.pool)[tasks->Next(stream, task)]});
      };
      if (kind == kL2) {
        // Published as N/A, because not every chip counts hits so; the reference NPU does.
        row(&cache, &cache_tasks, device.info.simulated ? Share(hits, requests, record) : "N/A",
            Share(victims, requests, record));
      } else if (kind == kTranslation) {
        row(&translation, &translation_tasks, Share(found, lookups, record), Share(missed, lookups, record));
      } else if (kind == kPageFault) {
        reader.NotShown("page faults are in no table");
      } else {
        reader.Broken(fmt::format("data of type {}; 1 and 2 are known", kind));
      }
    }
  });
}

void AicpuTables(SampleRun& run) {
  SampleTable& nodes =
      run.Table("aicpu", {"Device_id", "Timestamp(us)", "Node", "Compute_time(us)", "Memcpy_time(us)",
                          "Task_time(us)", "Dispatch_time(us)", "Total_time(us)", "Stream ID", "Task ID"});
  SampleTable& data =
      run.Table("dp", {"Device_id", "Timestamp(us)", "Action", "Source", "Cached Buffer Size"});
  SampleTable& queues =
      run.Table("aicpu_mi", {"Device_id", "Node Name", "Start Time(us)", "End Time(us)", "Queue Size"});
  run.EachDevice({"aicpu.data"}, [&](const SampleDevice& device) {
    enum Type : uint32_t {
      kNode = 0,
      kData = 1,
      kModel = 2,
      kQueue = 3,
      kCollective = 12,
      kCollectiveTask = 13,
      kLast = 13
    };
    const Slices& slices = run.File(device.info, "aicpu.data");
    TaskNames::Records tasks(NamesOf(run, device.info));
    {
      Diagnostics again;
      RecordReader reader(slices, kAdditionalFormat, &again);
      while (const uint8_t* record = reader.Next()) {
        if (Get<uint32_t>(record, 4) == kNode)
          tasks.Count(Get<uint16_t>(record, 24), Get<uint16_t>(record, 26));
      }
    }
    const auto text = [](const uint8_t* record, size_t offset, size_t length) {
      const char* begin = reinterpret_cast<const char*>(record) + offset;
      return std::string(begin, std::find(begin, begin + length, '\0'));
    };
    RecordReader reader(slices, kAdditionalFormat, run.in.diagnostics, device.progress);
    while (const uint8_t* record = reader.Next()) {
      const auto type = Get<uint32_t>(record, 4);
      const auto at = [&](size_t offset) { return Get<uint64_t>(record, offset); };
      const auto micros = [](uint64_t from, uint64_t to) {
        return Decimal(to > from ? static_cast<double>(to - from) : 0);
      };
      const auto ticks = [&](uint64_t from, uint64_t to) {
        return Decimal(
            to > from ? static_cast<double>(to - from) * 1e6 / static_cast<double>(device.info.clock_hz) : 0);
      };
      if (type == kNode) {
        const auto stream = Get<uint16_t>(record, 24), task = Get<uint16_t>(record, 26);
        nodes.Row({device.id(), Micros(device.times.Ticks(at(40))) + '\t',
                   (*run.in.pool)[tasks.Next(stream, task)], micros(at(48), at(56)), micros(at(56), at(64)),
                   ticks(at(40), at(80)), Decimal(Get<uint32_t>(record, 132)), ticks(at(96), at(120)),
                   std::to_string(stream), std::to_string(task)});
      } else if (type == kData) {
        // Unlike the others these tell the host's CLOCK_MONOTONIC_RAW, and end without a tab.
        const int64_t wall =
            static_cast<int64_t>(at(16)) + run.in.profile.device_anchor(device.place).wall_minus_raw_ns;
        data.Row(
            {device.id(), Micros(wall), text(record, 24, 16), text(record, 40, 64), std::to_string(at(112))});
      } else if (type == kQueue) {
        const auto node = Get<uint32_t>(record, 24);
        queues.Row({device.id(), node == 1 ? "GetNext_dequeue_wait" : std::to_string(node),
                    Decimal(static_cast<double>(at(40))), Decimal(static_cast<double>(at(48))),
                    std::to_string(at(32))});
      } else if (type <= kLast) {
        if (type == kCollective || type == kCollectiveTask) continue;  // the database shows them
        reader.NotShown(fmt::format("records of type {} are in no table", type));
      } else {
        reader.Broken(fmt::format("type {}; 0 to {} are known", type, +kLast));
      }
    }
  });
}

}  // namespace npuprof::analysis
