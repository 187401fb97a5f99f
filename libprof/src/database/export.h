// SPDX-License-Identifier: Apache-2.0
// From a PROF_* directory to the published database, msprof_<timestamp>.db.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/export.h"

namespace npuprof::database {

struct Result {
  std::filesystem::path path;
  /// A complete database was there already and was left alone; nothing else is filled in then.
  bool kept = false;
  std::map<std::string, uint64_t> rows;  ///< by table
  uint64_t broken_records = 0;
  std::vector<analysis::Warning> warnings;
  std::vector<analysis::Warning> unusable;        ///< of these, slices that could not be used
  std::vector<analysis::ExportFailure> failures;  ///< tables that are missing, or not whole
};

/// Writes the database of `profile` into the PROF directory itself, or into options.output. A complete one that is there
/// already is left alone, an incomplete one is replaced: the published life cycle, in which STRING_IDS, which is written last,
/// tells the one from the other. options.formats and options.tables have no meaning here. Throws Error if the database
/// cannot be written; nothing of it stays behind then, and no half-written one is ever there under its name. Samples that cannot be
/// read cost only their own table.
Result Export(const analysis::Profile& profile, const analysis::ExportOptions& options);

}  // namespace npuprof::database
