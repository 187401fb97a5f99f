// SPDX-License-Identifier: Apache-2.0
// The subcommands of npuprof and what they share with main().
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace npuprof::cli {

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
void AddVerify(CLI::App& app, Action& action);
void AddRepair(CLI::App& app, Action& action);
void AddReport(CLI::App& app, Action& action);

}  // namespace npuprof::cli
