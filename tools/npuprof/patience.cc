// SPDX-License-Identifier: Apache-2.0
#include "npuprof/patience.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "npuprof/terminal.h"

namespace npuprof::cli {

using nlohmann::json;

std::string Patience::Text() const {
  std::string line = fmt::format("{} of staging hold {:.1f} s at {} a second", Bytes(staging_bytes),
                                 staging_seconds, Bytes(bytes_per_second));
  if (!ring.empty()) line += fmt::format(", then rings {:.1f} s more ({})", ring_seconds, ring);
  return line;
}

json Patience::Json() const {
  json out = {{"staging_bytes", staging_bytes},
              {"bytes_per_second", bytes_per_second},
              {"staging_seconds", staging_seconds}};
  if (!ring.empty()) {
    out["ring_seconds"] = ring_seconds;
    out["ring"] = ring;
  }
  return out;
}

std::optional<Patience> PatienceOf(const json& manifest) {
  const json drain = manifest.value("drain", json::object());
  Patience out;
  out.bytes_per_second = drain.value("bytes_per_second", uint64_t{0});
  out.staging_bytes = drain.value("staging_bytes", uint64_t{0});
  if (out.bytes_per_second == 0 || out.staging_bytes == 0) return std::nullopt;
  const uint64_t room = drain.value("staging_holds_bytes", out.staging_bytes);
  out.staging_seconds = static_cast<double>(room) / static_cast<double>(out.bytes_per_second);

  const json window = manifest.value("window", json::object());
  const uint64_t begin = window.value("begin_monotonic_raw_ns", uint64_t{0});
  const uint64_t stop = window.value("end_monotonic_raw_ns", uint64_t{0});
  for (const json& device : manifest.value("devices", json::array())) {
    // While it runs, its clock was read last when the manifest was written.
    uint64_t end = stop;
    if (stop == 0) {
      for (const json& reading : device.value("clock", json::array())) {
        end = std::max(end, reading.value("host_ns", uint64_t{0}));
      }
    }
    if (end <= begin) continue;
    const double seconds = static_cast<double>(end - begin) / 1e9;
    for (const json& ring : device.value("rings", json::array())) {
      const auto records = ring.value("records", uint64_t{0});
      if (records == 0) continue;
      const double holds = ring.value("slots", 0u) * seconds / static_cast<double>(records);
      if (!out.ring.empty() && holds >= out.ring_seconds) continue;
      out.ring_seconds = holds;
      out.ring = fmt::format("{} of device {}", ring.value("channel", "ring"), device.value("id", 0));
    }
  }
  return out;
}

}  // namespace npuprof::cli
