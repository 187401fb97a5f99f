// SPDX-License-Identifier: Apache-2.0
// How long the disk may stall before records are lost.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace npuprof::cli {

/** At the rate of the run, or of its last second if it still runs. Staging memory fills first, then the rings. */
struct Patience {
  uint64_t staging_bytes = 0, bytes_per_second = 0;
  double staging_seconds = 0;
  double ring_seconds = 0;  ///< of the device ring that fills first
  std::string ring;         ///< "task_log of device 0"; empty if none carried anything

  /** "64.0 MiB of staging hold 12.3 s at 5.2 MiB a second, then rings 0.4 s more (task_log of device 0)" */
  std::string Text() const;
  nlohmann::json Json() const;
};

/** Nothing if @p manifest does not tell, or nothing was written. */
std::optional<Patience> PatienceOf(const nlohmann::json& manifest);

}  // namespace npuprof::cli
