// SPDX-License-Identifier: Apache-2.0
// Enumerations of collectives by their published names.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace npuprof::analysis {

using NamedValues = std::vector<std::pair<int64_t, const char*>>;

const NamedValues& HcclDataTypes();
const NamedValues& HcclLinkTypes();
const NamedValues& HcclTransportTypes();
const NamedValues& HcclRdmaTypes();

/// "INVALID_TYPE" if it has none.
const char* NameIn(const NamedValues& names, uint32_t value);

}  // namespace npuprof::analysis
