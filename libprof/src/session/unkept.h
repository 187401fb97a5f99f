// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Reports of a form that has no place in the files. They are counted, so that a session can say what it lacks. Any thread.
namespace npuprof::unkept {

void Count(uint32_t module);
/// A sentence if there were any since the last call.
std::vector<std::string> Notes();

}  // namespace npuprof::unkept
