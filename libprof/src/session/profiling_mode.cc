// SPDX-License-Identifier: Apache-2.0
#include "session/profiling_mode.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace npuprof {

ProfilingMode ReadProfilingMode(std::string* complaint) {
  const char* value = std::getenv("PROFILING_MODE");
  const std::string_view text = value ? value : "";
  if (text == "dynamic") return ProfilingMode::kDynamic;
  if (text == "delay_or_duration") return ProfilingMode::kTimed;
  if (!text.empty() && text != "true" && text != "false") {
    *complaint = fmt::format(
        "PROFILING_MODE is \"{}\"; allowed are dynamic and delay_or_duration, and true and false for the "
        "graph engine; taken is "
        "none of them",
        text);
  }
  return ProfilingMode::kUnset;
}

}  // namespace npuprof
