// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace npuprof::trace {

/// What this process may use of the machine, by the control groups (version 2) that it and all above it are in.
struct CgroupLimits {
  std::optional<double> cpus;  ///< CPU time per time, such as 1.5
  std::optional<uint64_t> memory_bytes;

  /// Nothing where no limit is set, and where control groups of version 2 are not in use.
  /// @param root  prefix of the paths below /proc and /sys; for tests
  static CgroupLimits Read(const std::string& root = "");
};

}  // namespace npuprof::trace
