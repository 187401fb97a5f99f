// SPDX-License-Identifier: Apache-2.0
// Bits of dataTypeConfig, as the library and the command that starts programs under it have to agree on them.
#pragma once

#include <cstdint>

namespace npuprof {

/// Always set in a configuration, so that data types are never 0.
inline constexpr uint64_t kAicpuModel = 0x4000000000000000;
/// All bits that a session accepts.
inline constexpr uint64_t kKnownDataTypes = 0x4000000C0100FBFF;

}  // namespace npuprof
