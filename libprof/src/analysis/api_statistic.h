// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "analysis/dictionary.h"
#include "analysis/host_trace.h"
#include "analysis/text.h"

namespace npuprof::analysis {

/// Writes the host calls summed up by level and name, in the order of their names. Returns the rows.
uint64_t WriteApiStatistic(const TablePlace& place, const HostTrace& host, const StringPool& pool);

}  // namespace npuprof::analysis
