// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/insight/insight.h"

namespace npuprof::cli {

/** What `report --json` prints: times in nanoseconds, shares from 0 to 1, absent keys for what is not known. */
nlohmann::json ToJson(const analysis::Profile& profile, const analysis::Insight& insight);

}  // namespace npuprof::cli
