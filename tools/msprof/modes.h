// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "msprof/options.h"

namespace msprof {

/// Does what is asked for and returns the exit code. Throws Misuse if the options do not go together.
int Run(const Request& request);

/// npuprof's options for what is to be collected.
std::vector<std::string> RecordOptions(const Request& request);

}  // namespace msprof
