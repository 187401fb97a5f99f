// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/config.h"
#include "session/result.h"
#include "session/settings.h"

namespace npuprof {

/// What the npuprof command asks a program it launches to record:
///   NPUPROF_RECORD_DIR      directory for PROF_*; unset: nothing is asked for
///   NPUPROF_RECORD_TYPES    ACL_PROF_* bits, 0x.. or decimal; default ACL_API, TASK_TIME, AICORE_METRICS
///   NPUPROF_RECORD_METRICS  counter group, name or number; default PipeUtilization
///   NPUPROF_RECORD_DEVICES  "all" the program opens (default), or a comma list of ids
///   NPUPROF_RECORD_HOST     comma list of cpu, mem: what is sampled of the process
struct RecordRequest {
  std::string output;
  Wanted wanted;
  bool all_devices = true;
  Settings settings;
  std::string job;                         ///< name for info.json; "": the environment decides
  std::string mstx_include, mstx_exclude;  ///< comma lists of domains; see mstx.h
  std::vector<std::string> notes;          ///< what was asked for and is not collected
};

/// @p out stays empty if nothing is asked for. kInvalidConfig: a variable that is not understood.
Result ReadRecordRequest(std::optional<RecordRequest>* out);

}  // namespace npuprof
