// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Reports of a form that has no place in the files. They are counted, so that a session can say what it lacks. Any thread.
namespace npuprof::unkept {

void Add(uint32_t module);
/// Since the process began.
uint64_t Count();
/// A sentence if there were more than @p before.
std::vector<std::string> Notes(uint64_t before);

}  // namespace npuprof::unkept
