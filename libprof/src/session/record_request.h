// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "session/config.h"
#include "session/result.h"
#include "session/settings.h"

namespace npuprof {

/// What the npuprof command asks a program to record, in variables that a program which it launches finds in its
/// environment and one that it attaches to is sent:
///   NPUPROF_RECORD_DIR       directory for PROF_*; unset: nothing is asked for
///   NPUPROF_RECORD_TYPES     ACL_PROF_* bits, 0x.. or decimal; default ACL_API, TASK_TIME, AICORE_METRICS
///   NPUPROF_RECORD_METRICS   counter group, name or number, or Custom: and events; default PipeUtilization
///   NPUPROF_RECORD_DEVICES   "all" the program opens (default), or a comma list of ids
///   NPUPROF_RECORD_HOST      comma list of cpu, mem, disk, network: what is sampled of the process
///   NPUPROF_RECORD_SETTINGS  NAME=TEXT joined by ';', names as aclprofConfigType spells them
///   NPUPROF_RECORD_DELAY_MS, NPUPROF_RECORD_DURATION_MS
///   NPUPROF_RECORD_NOTES     file to which it is told that the program profiles itself
struct RecordRequest {
  std::string output;
  Wanted wanted;
  bool all_devices = true;
  Settings settings;
  std::string job;                         ///< name for info.json; "": the environment decides
  std::string mstx_include, mstx_exclude;  ///< comma lists of domains; see mstx.h
  std::vector<std::string> notes;          ///< what was asked for and is not collected
  std::chrono::milliseconds delay{0};      ///< from the beginning of the program, or from the request
  std::chrono::milliseconds duration{0};   ///< 0: to the end
  std::string notes_file;                  ///< of the command, or ""
};

/// Text of a variable, or NULL.
using Variables = std::function<const char*(const char* name)>;

/// @p out stays empty if nothing is asked for. kInvalidConfig: a variable that is not understood.
Result ReadRecordRequest(const Variables& variables, std::optional<RecordRequest>* out);
/// The same from the environment.
Result ReadRecordRequest(std::optional<RecordRequest>* out);

/// Tells the command something, if it wants to know; a failure is nobody's concern.
void TellRecorder(const RecordRequest& request, const std::string& line);

}  // namespace npuprof
