// SPDX-License-Identifier: Apache-2.0
// Programs that this one runs.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace msprof {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

/// npuprof beside this program, else the one of PATH.
std::string Npuprof();

enum class Errors { kKept, kWithOutput };

/// Starts `words`, the first of which is sought in PATH. What it writes to standard error goes to standard output with
/// kWithOutput: clients take any other for a failure. 0 if it cannot be started, with the reason in `why`.
pid_t Start(const Words& words, const Variables& variables, Errors errors, std::string* why);

/// Waits for the end. The exit status, or 128 and the number of the signal that ended it.
int Wait(pid_t pid);

}  // namespace msprof
