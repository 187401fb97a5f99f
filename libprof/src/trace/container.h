// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace npuprof::trace {

/// Whether this process runs in a container: NPUPROF_CONTAINER says so (yes or no; auto asks the machine), or one of the marks that the common
/// container managers leave is there, or the process numbers are not the machine's.
/// @param complaint  a sentence about the variable, if it says anything else; may be null
/// @param root  prefix of the paths that are looked at; for tests
bool InContainer(std::string* complaint = nullptr, const std::string& root = "");

}  // namespace npuprof::trace
