// SPDX-License-Identifier: Apache-2.0
// Collectives in the tables of operators.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/communication.h"
#include "analysis/string_pool.h"
#include "analysis/text.h"

namespace npuprof::analysis {

/// Collectives of one device, by start.
std::vector<const Collective*> CollectivesOf(const Communication& communication, int device);

/// Writes communication_statistic: collectives summed up by device and type, largest total first. Returns the rows;
/// without any, no file is written.
uint64_t WriteCommunicationStatistic(const TablePlace& place, const std::vector<Collective>& collectives,
                                     const StringPool& pool);

}  // namespace npuprof::analysis
