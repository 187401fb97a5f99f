// SPDX-License-Identifier: Apache-2.0
// npuprof/manifest.json: what the run itself knew about losses, clocks and where it ran.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"

namespace npuprof::analysis {

struct ManifestDevice {
  int id = -1;
  std::string backend;
  bool simulated = false;
  TaskTotals tasks;
  std::vector<ClockBracket> brackets;
};

struct RunManifest {
  bool simulated = false, complete = true;
  std::string command, drain_path;
  std::vector<ManifestDevice> devices;
  std::vector<Loss> losses;
  std::optional<AgedOut> aged;
  std::vector<Warning> warnings;  ///< messages of severity warning and error
};

/// Reads the manifest below `root`. Unknown keys are ignored, absent ones keep their defaults.
/// Throws Error if the file cannot be read or is no JSON object.
RunManifest ReadManifest(const std::filesystem::path& root);

}  // namespace npuprof::analysis
