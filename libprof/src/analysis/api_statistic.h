// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "analysis/dictionary.h"
#include "analysis/host_trace.h"

namespace npuprof::analysis {

/// Writes the host calls summed up by level and name, in the order of their names. Returns the rows.
uint64_t WriteApiStatistic(const std::filesystem::path& path, const HostTrace& host, const StringPool& pool);

}  // namespace npuprof::analysis
