// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npuprof {

/// One line "npuprof: <text>" on the standard error stream, once per text, unless NPUPROF_LOG=0.
void LogError(std::string_view text);
/// The same, only if NPUPROF_LOG=1.
void LogDetail(std::string_view text);
/// Appends a sentence if NPUPROF_LOG is set to something it does not know.
void CheckLogWish(std::vector<std::string>* warnings);

}  // namespace npuprof
