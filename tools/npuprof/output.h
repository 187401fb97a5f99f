// SPDX-License-Identifier: Apache-2.0
// What goes to the standard output stream for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace npuprof::cli {

/** @p json as text. Names of files and programs may be any bytes: those that are no UTF-8 become U+FFFD. */
std::string JsonText(const nlohmann::json& json, int indent = 2);

/** Throws Error if what was printed did not reach the standard output stream. */
void CheckPrinted();

}  // namespace npuprof::cli
