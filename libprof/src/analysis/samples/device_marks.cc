// SPDX-License-Identifier: Apache-2.0
#include "analysis/samples/device_marks.h"

#include <algorithm>

namespace npuprof::analysis {

void CollectMarks(const DeviceInfo& info, const DeviceTrace& trace, const DeviceClock& clock,
                  std::map<uint64_t, DeviceMark>* marks) {
  constexpr uint16_t kMark = 11, kRangeEnd = 12;
  for (const StepMark& mark : trace.marks()) {
    if (mark.tag != kMark && mark.tag != kRangeEnd) continue;
    const int64_t wall = clock.Wall(mark.time);
    const auto [place, first] = marks->try_emplace(
        mark.index, DeviceMark{info.id, info.simulated, wall, wall, mark.stream, mark.task});
    if (first) continue;
    place->second.begin_ns = std::min(place->second.begin_ns, wall);
    place->second.end_ns = std::max(place->second.end_ns, wall);
  }
}

}  // namespace npuprof::analysis
