// SPDX-License-Identifier: Apache-2.0
// The subcommands of npuprof and what they share with main().
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

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

/** What to run once the command line is parsed; returns the exit status. */
using Action = std::function<int()>;

/**
 * Each function adds its subcommand to @p app and sets @p action when that subcommand is chosen.
 * @p app and @p action must outlive parsing.
 */
void AddRecord(CLI::App& app, Action& action, const std::vector<std::string>& program);
void AddExport(CLI::App& app, Action& action);
void AddInfo(CLI::App& app, Action& action);
void AddList(CLI::App& app, Action& action);

}  // namespace npuprof::cli
