// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "analysis/export.h"

namespace npuprof::analysis {

/// Writes README.txt of the export with this timestamp: what lies beside it, whether it was simulated, what is missing. Returns its path.
std::filesystem::path WriteReadme(const std::filesystem::path& output, const Profile& profile,
                                  const ExportResult& result, const std::string& timestamp);

}  // namespace npuprof::analysis
