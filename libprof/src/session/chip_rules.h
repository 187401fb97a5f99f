// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/result.h"

/// Which chip generation has which data types, counter groups and settings, as published. Chips are numbered as in
/// info.json's platform_version. Where the publication does not say who lacks something, everybody has it.
namespace npuprof::chips {

inline constexpr uint32_t kA2 = 5;

/// All chips that the publication names, in rising order.
const std::vector<uint32_t>& All();

/// "A2" or "chip 7".
std::string Name(uint32_t chip);

/// "ACL_PROF_L2CACHE" for the bit 0x10; "" for bits without a name.
const char* DataTypeName(uint64_t bit);
/// Whether @p chip collects the one data type @p bit. Chips that are not named have what A2 has.
bool HasDataType(uint32_t chip, uint64_t bit);
/// kFailure with a sentence that names the first of @p data_types that @p chip lacks.
Result CheckDataTypes(uint32_t chip, uint64_t data_types);

/// Whether @p chip has the counter group @p metrics (aclprofAicoreMetrics; ACL_AICORE_NONE is no group).
bool HasGroup(uint32_t chip, int metrics);

/// Whether @p chip takes the setting @p type (aclprofConfigType).
bool HasSetting(uint32_t chip, int type);
/// Highest frequency in Hz of the frequency setting @p type; 0 for other settings.
uint32_t MostHz(uint32_t chip, int type);

}  // namespace npuprof::chips
