// SPDX-License-Identifier: Apache-2.0
// How long collectives transferred, waited and idled, and over which links: the published files about communication.
#pragma once

#include <filesystem>
#include <vector>

#include "analysis/export.h"

namespace npuprof::database {

struct Analysis {
  std::vector<std::filesystem::path> files;  ///< none if the profile has no collectives
  uint64_t operators = 0;
  std::vector<analysis::Warning> unusable;  ///< slices that could not be used
};

/// Writes analyze/communication.json, communication_matrix.json (both only with `text`) and communication_analyzer.db into
/// the PROF directory, or into options.output; files of an earlier analysis are replaced. Throws Error if one cannot be written.
Analysis Analyze(const analysis::Profile& profile, const analysis::ExportOptions& options, bool text);

}  // namespace npuprof::database
