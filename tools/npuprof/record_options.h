// SPDX-License-Identifier: Apache-2.0
// What `record` is asked to collect, and how the program is told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "npuprof/names.h"

namespace CLI {
class App;
}

namespace npuprof::cli {

struct RecordOptions {
  std::string data_types = kDefaultDataTypes;
  std::string metrics = "PipeUtilization";
  std::string devices = "all";
  std::string host;
  std::string delay, duration;
  std::string domains, other_domains;  ///< of mstx: to include, or to exclude
  /// Values of settings by aclprofConfigType; "" if not given.
  std::vector<std::pair<int, std::string>> settings;
};

/** Adds the options to a command; the options must outlive parsing. */
void AddRecordOptions(CLI::App* command, RecordOptions* options);

/** Names and meanings that --help shows below the options. */
std::string RecordNames();

using Variables = std::vector<std::pair<std::string, std::string>>;

/** NPUPROF_RECORD_* for the options, without the directory; what is not asked for has an empty value.
 * @throws Error (usage) for what the library would refuse */
Variables RecordVariables(const RecordOptions& options);

}  // namespace npuprof::cli
