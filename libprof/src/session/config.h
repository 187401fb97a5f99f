// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl_prof.h"
#include "base/data_types.h"
#include "base/owned_mutex.h"
#include "session/result.h"

/// What to collect on which devices. The layout is that of the published library, whose internals some tools read.
struct aclprofConfig {
  uint32_t dev_nums;  ///< used entries of dev_ids, the host among them
  uint32_t dev_ids[65];
  int32_t metrics;  ///< aclprofAicoreMetrics
  uint64_t data_types;
};

namespace npuprof {

/// Stands for the host in device lists.
inline constexpr uint32_t kHostDevice = 64;
inline constexpr uint32_t kMaxDevices = 64;
/// Any of these wants task times.
inline constexpr uint64_t kTaskTimes =
    ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME_L2 | ACL_PROF_TASK_TIME_L3;

/// What a configuration asks for, without the host.
struct Wanted {
  std::vector<uint32_t> devices;
  int metrics = ACL_AICORE_NONE;
  uint64_t data_types = 0;
  std::vector<uint16_t> events = {};  ///< counted instead of a group, unless empty
  uint32_t core_interval_ms = 0;      ///< counters are read so often instead of task by task; 0: by task
};
Wanted ToWanted(const aclprofConfig& config);

/// Bits as they are stored: lower levels of task time and the iteration trace come with higher ones, statistics of
/// calls exclude all else.
uint64_t CompleteDataTypes(uint64_t data_types);

/// Zero, and bits outside kKnownDataTypes, as Start and Stop refuse them.
Result CheckDataTypes(uint64_t data_types);

/// Living configurations, so that a pointer freed twice, or never made here, is refused instead of followed.
/// Any thread.
/// @param devices, devices_present  ids as the program numbers them; the configuration has the driver's (device/visible.h)
/// @param config  on success the new configuration
Result CreateConfig(const uint32_t* devices, uint32_t count, int metrics, const void* events,
                    uint64_t data_types, const std::vector<uint32_t>& devices_present,
                    aclprofConfig** config);
Result DestroyConfig(const aclprofConfig* config);
/// Copies a living configuration.
Result CopyConfig(const aclprofConfig* config, aclprofConfig* copy);

/// The lock of the living configurations, for forks; see fork_locks.h.
OwnedMutex& ConfigLock();

/// "0x807"
std::string Hex(uint64_t value);

}  // namespace npuprof
