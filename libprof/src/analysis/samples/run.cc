// SPDX-License-Identifier: Apache-2.0
#include "analysis/samples/run.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace npuprof::analysis {

void SampleTable::Row(Cells cells) {
  if (!place_) return;
  if (!file_) {
    file_.emplace(*place_);
    for (const auto& column : columns_) file_->Cell(column);
    file_->EndRow();
  }
  for (const auto cell : cells) file_->Cell(cell);
  file_->EndRow();
}

void Counters::Add(std::string_view name, int64_t wall_ns, Series series) {
  if (!timeline_) return;
  if (!pid_)
    pid_ = timeline_->BeginCounters(layer_, device_ ? std::optional(device_->id) : std::nullopt,
                                    device_ && device_->simulated);
  std::vector<TimelineArg> values;
  // JSON has no words for what is no number.
  for (const auto& [key, value] : series)
    values.push_back(TimelineArg::Real(key, std::isfinite(value) ? value : 0.0));
  timeline_->Counter(*pid_, name, wall_ns, values);
}

void SampleRun::EachDevice(std::initializer_list<const char*> kinds,
                           const std::function<void(const SampleDevice&)>& read) {
  for (size_t i = 0; i < in.profile.devices().size(); ++i) {
    const DeviceInfo& info = in.profile.devices()[i];
    uint64_t bytes = 0;
    for (const char* kind : kinds) bytes += TotalBytes(File(info, kind));
    if (bytes == 0) continue;
    try {
      read({i, info, DeviceTimes(in.profile, i, in.diagnostics), in.progress(info.directory)});
    } catch (const Error& error) {
      failures_.push_back(fmt::format("{}: {}", info.directory, error.what()));
    }
  }
}

std::string Mean(double sum, uint64_t count) {
  return Decimal(count == 0 ? 0.0 : sum / static_cast<double>(count));
}

}  // namespace npuprof::analysis
