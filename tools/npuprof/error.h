// SPDX-License-Identifier: Apache-2.0
// How commands fail.
#pragma once

#include <stdexcept>
#include <string>

namespace npuprof::cli {

/** Exit status for a command line that cannot be understood. */
inline constexpr int kUsage = 2;
/** Exit status for a command that was understood and failed. */
inline constexpr int kFailure = 1;

/** A failure told to the user in one sentence; main() prints it and exits with @ref status. */
struct Error : std::runtime_error {
  explicit Error(const std::string& sentence, int exit_status = kFailure)
      : std::runtime_error(sentence), status(exit_status) {}
  int status;
};

}  // namespace npuprof::cli
