// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device_file.h"
#include "npuprof.h"

/// Why a driver refuses, in sentences that a person can act on: which device, what it refused, why, and what
/// would help. The errnos are those of uapi/npuprof.h and docs/kernel.md.
namespace npuprof::device {

/// The kind of failure that a driver's errno (positive) stands for.
ErrorKind KindOfErrno(int error);

/// A request of an open device that failed.
/// @param device  as people call it: "/dev/npuprof0"
/// @param what  the verb and its object: "start", "add a ring for task_log"
/// @param request  NPUPROF_IOC_*, or 0 for mmap()
/// @param argument  the request's structure after the call: some answers are in it; may be null
/// @param error  errno, positive
/// @param has  what the device has, for rings that it does not offer; null if that is not known
Status Refused(Backend backend, const std::string& device, const std::string& what, unsigned long request,
               const void* argument, int error, const npuprof_query* has = nullptr);

/// What there is to know about why /dev/npuprof<N> does not open.
struct OpenFacts {
  bool module_loaded = false;     ///< /sys/module/npuprof exists
  std::vector<uint32_t> devices;  ///< ids of the nodes there are
};
Status OpenRefused(uint32_t id, int error, const OpenFacts& facts);

/// A device whose interface or record formats are not this library's.
Status VersionRefused(Backend backend, const std::string& device, const npuprof_query& query);

}  // namespace npuprof::device
