// SPDX-License-Identifier: Apache-2.0
// What `npuprof record --pid` does to a process, done by the process to itself.
#pragma once

#include <string>

namespace npuprof {

/// Asks for something and waits for the answer; one at a time, as the command sees to. Nothing before a device was opened.
void RequestFromOutside(const std::string& request);

/// As the command asks for sessions, which go below @p output.
std::string StartRequest(const std::string& output);

}  // namespace npuprof
