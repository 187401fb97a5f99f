// SPDX-License-Identifier: Apache-2.0
// What the kernel module says about a device in sysfs, readable by everybody (docs/kernel-sysfs.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace npuprof::cli {

/** Facts about /dev/npuprof<N>; what sysfs does not have is empty. */
struct KernelFacts {
  std::string node;    ///< "/dev/npuprof0"
  std::string bus;     ///< "0000:00:04.0"
  std::string driver;  ///< "npuprof.ko 0.1.0", without the version if the module does not tell
  std::string perf;    ///< name of its perf PMU, "npuprof_0"
  std::map<std::string, std::string> attributes;  ///< by name of the file

  /** One line for people: what QUERY does not say. */
  std::string Line() const;
};

/** Reads the facts of device @p id below @p sysfs ("/sys"). */
KernelFacts ReadKernelFacts(const std::string& sysfs, uint32_t id);

}  // namespace npuprof::cli
