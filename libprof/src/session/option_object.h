// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "session/record_request.h"

namespace npuprof {

/// Where profiling is configured by an object of JSON text; each has keys and defaults of its own.
enum class OptionSource {
  kAclJson,       ///< the file given to aclInit(): its object `profiler`, or that object alone
  kGeOptions,     ///< options of the graph engine
  kSampleConfig,  ///< PROFILER_SAMPLECONFIG, and what a dynamic client sends: the switches of sample.json
};

/// "acl.json", "the options of GE", "PROFILER_SAMPLECONFIG"
const char* OptionSourceName(OptionSource source);

/// What @p text asks for; @p out stays empty where it says that profiling is off.
/// kInvalidConfig: a text that is no object, an unknown key of the first two, a value that is not allowed; the sentence
/// names source, key and value.
Result ReadOptions(OptionSource source, std::string_view text, std::optional<RecordRequest>* out);

/// Where results go if nothing says so: $ASCEND_WORK_PATH/profiling_data, else the directory of the program.
std::string DefaultOutput();

}  // namespace npuprof
