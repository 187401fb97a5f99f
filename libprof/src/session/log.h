// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace npuprof {

/// One line "npuprof: <text>" on the standard error stream, once per text, unless NPUPROF_LOG=0.
void LogError(std::string_view text);
/// The same, only if NPUPROF_LOG=1.
void LogDetail(std::string_view text);

}  // namespace npuprof
