// SPDX-License-Identifier: Apache-2.0
// What tests of the kernel module share.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "npuprof.h"

namespace selftest {

inline constexpr unsigned long kRequests[] = {NPUPROF_IOC_QUERY, NPUPROF_IOC_ADD_RING, NPUPROF_IOC_START,
                                              NPUPROF_IOC_STOP,  NPUPROF_IOC_FREEZE,   NPUPROF_IOC_FLUSH,
                                              NPUPROF_IOC_STATS, NPUPROF_IOC_CLOCK};

/// Rounds of a test that takes @p usual; NPUPROF_LAB_EFFORT (percent) makes a slow kernel do less.
int Rounds(int usual);

/// Runs @p body in a child; its return value is the exit code. -1 if a signal ended it.
int InChild(const std::function<int()>& body);

/// Writes a line into a file of sysfs or procfs. @return 0 or a negative errno
int WriteFile(const std::string& path, const std::string& text);
std::string ReadFile(const std::string& path);

/// PCI address of a device, from its class directory.
std::string PciAddress(unsigned device);
/// A function-level reset with the driver's consent, which ends all tasks. @return 0 or a negative errno
int ResetDevice(unsigned device);
/// Until the node is there (or not). False after half a minute.
bool WaitNode(unsigned device, bool present);

}  // namespace selftest
