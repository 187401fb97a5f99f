// SPDX-License-Identifier: Apache-2.0
// Stands in for the profiler: defines the Msprof* functions in the test program, where the runtime's libraries find
// them first, and keeps what is reported.
#ifndef NPUPROF_TESTS_RUNTIME_RECORDER_H
#define NPUPROF_TESTS_RUNTIME_RECORDER_H

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "profiling/prof_api.h"

struct Recorder {
  static Recorder& Get();

  // Tells every component that a session begins with these PROF_* bits, or ends.
  void Start(uint64_t bits);
  void Stop();
  void Clear();

  std::string NameOf(uint16_t level, uint32_t type) const;
  std::string Text(uint64_t hash) const;

  std::vector<MsprofApi> Apis(uint16_t level, const std::string& name) const;
  std::vector<MsprofCompactInfo> Compacts(const std::string& name) const;
  std::vector<MsprofAdditionalInfo> Additionals(const std::string& name) const;

  mutable std::mutex mutex;
  std::vector<std::pair<uint32_t, ProfCommandHandle>> callbacks;
  std::map<std::pair<uint16_t, uint32_t>, std::string> types;
  std::map<uint64_t, std::string> texts;
  std::vector<MsprofApi> apis;
  std::vector<std::pair<uint32_t, MsprofCompactInfo>> compacts;  // with the flag nonPersistent
  std::vector<MsprofAdditionalInfo> additionals;
  std::vector<std::pair<uint32_t, bool>> devices;  // MsprofNotifySetDevice
};

#endif  // NPUPROF_TESTS_RUNTIME_RECORDER_H
