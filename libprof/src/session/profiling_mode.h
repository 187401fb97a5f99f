// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace npuprof {

/// What PROFILING_MODE asks of the profiler.
enum class ProfilingMode {
  kUnset,
  kDynamic,  ///< the process waits for whoever attaches to it
  kTimed,    ///< "delay_or_duration": PROFILER_SAMPLECONFIG says when its session begins and ends
};

/// @param complaint  a sentence if the text means nothing; "true" and "false" mean something to the graph engine alone
ProfilingMode ReadProfilingMode(std::string* complaint);

}  // namespace npuprof
