// SPDX-License-Identifier: Apache-2.0
// PROF_* directories as `list` and `record` show them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "npuprof/manifest.h"

namespace npuprof::cli {

/** One PROF_* directory. */
struct Found {
  std::filesystem::path path;
  uint64_t bytes = 0;                ///< all files below
  std::optional<Manifest> manifest;  ///< nothing if written by another tool
  std::string problem;               ///< why the manifest could not be read; else empty
};

/** Paths of the PROF_* directories at or directly below @p directory, sorted by name. */
std::vector<std::filesystem::path> ProfPaths(const std::filesystem::path& directory);

/** Looks into @p path; never throws for what is wrong inside it. */
Found Inspect(const std::filesystem::path& path);

/** The facts of @p found for scripts: path, bytes, and from the manifest simulated, complete, kept, lost,
 * causes. */
nlohmann::json ToJson(const Found& found);

}  // namespace npuprof::cli
