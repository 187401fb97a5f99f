// SPDX-License-Identifier: Apache-2.0
// Memory that operators took and gave back.
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "analysis/names.h"
#include "analysis/record_reader.h"
#include "analysis/samples/jobs.h"

namespace npuprof::analysis {
namespace {

struct Event {
  uint64_t address, node, allocated, reserved;
  int64_t size, wall_ns;
  uint32_t device;
};

std::string Kilobytes(uint64_t bytes) {
  return Decimal(static_cast<double>(bytes) / 1024);
}

}  // namespace

void OperatorMemoryTables(SampleRun& run) {
  SampleTable& records = run.Table("memory_record", {"Device_id", "Component", "Timestamp(us)",
                                                     "Total Allocated(KB)", "Total Reserved(KB)", "Device"});
  SampleTable& operators =
      run.Table("operator_memory", {"Device_id", "Name", "Size(KB)", "Allocation Time(us)", "Duration(us)",
                                    "Allocation Total Allocated(KB)", "Allocation Total Reserved(KB)",
                                    "Release Total Allocated(KB)", "Release Total Reserved(KB)", "Device"});
  std::map<std::pair<uint32_t, uint64_t>, Event> open;  // by device and address
  const auto row = [&](const Event& from, const Event* to) {
    const std::string device = std::to_string(from.device);
    operators.Row({device, (*run.in.pool)[run.in.host->names().Name(from.node)],
                   Kilobytes(static_cast<uint64_t>(from.size)), Micros(from.wall_ns) + '\t',
                   to ? JsonMicros(to->wall_ns - from.wall_ns) : "N/A", Kilobytes(from.allocated),
                   Kilobytes(from.reserved), to ? Kilobytes(to->allocated) : "N/A",
                   to ? Kilobytes(to->reserved) : "N/A", "NPU:" + device});
  };
  for (const char* ageing : {"aging", "unaging"}) {
    const Slices& slices = run.HostFile(fmt::format("{}.additional.task_memory_info", ageing));
    if (TotalBytes(slices) == 0) continue;
    if (!run.in.host->has_clock())
      throw Error("times of task_memory_info are the host's, of which nothing is there");
    RecordReader reader(slices, kAdditionalFormat, run.in.diagnostics, run.in.progress("host"));
    while (const uint8_t* record = reader.Next()) {
      if (Get<uint16_t>(record, 2) != kLevelNode) {
        reader.Broken(
            fmt::format("level {}; memory is told by level {}", Get<uint16_t>(record, 2), +kLevelNode));
        continue;
      }
      const Event event{Get<uint64_t>(record, 24), Get<uint64_t>(record, 40),
                        Get<uint64_t>(record, 48), Get<uint64_t>(record, 56),
                        Get<int64_t>(record, 32),  run.in.host->clock().Wall(Get<uint64_t>(record, 16)),
                        Get<uint32_t>(record, 64)};
      const std::string device = std::to_string(event.device);
      records.Row({device, "GE", Micros(event.wall_ns) + '\t', Kilobytes(event.allocated),
                   Kilobytes(event.reserved), "NPU:" + device});
      run.Stored("NPU_OP_MEM",
                 {(*run.in.pool)[run.in.host->names().Name(event.node)], event.address,
                  event.size >= 0 ? "allocate" : "release", std::llabs(event.size), event.wall_ns,
                  static_cast<int64_t>(run.in.profile.pid()) << 32 | Get<uint32_t>(record, 8),
                  event.allocated, event.reserved, "GE", event.device});
      const auto place = open.find({event.device, event.address});
      if (event.size >= 0) {
        // Taken again without having been given back: when that was is not on record.
        if (place != open.end()) row(place->second, nullptr);
        open.insert_or_assign({event.device, event.address}, event);
      } else if (place != open.end()) {
        row(place->second, &event);
        open.erase(place);
      }
    }
  }
  for (const auto& [place, event] : open) row(event, nullptr);
}

}  // namespace npuprof::analysis
