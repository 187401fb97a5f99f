// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "npuprof/commands.h"
#include "npuprof/directories.h"
#include "npuprof/error.h"
#include "npuprof/output.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

struct Options {
  std::string directory = ".";
  bool json = false;
};

int List(const Options& options) {
  if (!std::filesystem::is_directory(options.directory)) {
    throw Error(
        fmt::format("'{}' is no directory; name one that holds PROF_* directories", options.directory));
  }
  std::vector<Found> all;
  {
    Progress progress("looking into");
    const auto paths = ProfPaths(options.directory);
    for (const auto& path : paths) {
      progress.Update(all.size(), paths.size(), path.filename().string());
      all.push_back(Inspect(path));
    }
  }  // wipes its line away before the table begins

  if (options.json) {
    nlohmann::json out = nlohmann::json::array();
    for (const Found& found : all) out.push_back(ToJson(found));
    fmt::print("{}\n", JsonText(out));
    return 0;
  }
  if (all.empty()) {
    fmt::print("no PROF_* directory in '{}'\n", options.directory);
    return 0;
  }
  const bool colour = WantsColour(stdout);
  const bool simulated = std::any_of(all.begin(), all.end(),
                                     [](const Found& f) { return f.manifest && f.manifest->simulated(); });
  const std::string mark = Paint(kSimulatedMark, Style::kWarn, colour) + "\n";
  if (simulated) fmt::print("{}", mark);
  Table table({"DIRECTORY", "STARTED", "WINDOW", "DEVICES", "RECORDS", "LOST", "SIZE", "STATE"});
  for (const Found& found : all) {
    const std::string name = found.path.filename().string();
    if (!found.manifest) {
      table.Add({name, "-", "-", "-", "-", "-", Bytes(found.bytes),
                 found.problem.empty() ? "no manifest" : "bad manifest"});
      continue;
    }
    const Manifest& m = *found.manifest;
    table.Add({name, LocalTime(m.begin_realtime_us()), m.window_ns() ? Duration(*m.window_ns()) : "-",
               std::to_string(m.devices()), Count(m.kept()), Count(m.lost()), Bytes(found.bytes),
               std::string(m.complete() ? "complete" : "incomplete") + (m.simulated() ? ", simulated" : "")});
  }
  fmt::print("{}", table.Render(colour));
  if (simulated) fmt::print("{}", mark);
  return 0;
}

}  // namespace

void AddList(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("list", "Show the PROF_* directories below a directory.");
  command->add_option("DIR", options->directory, "Where to look (default: the working directory)");
  command->add_flag("--json", options->json, "Print a JSON array instead of a table");
  command->footer(
      "Examples:\n  npuprof list\n  npuprof list --json /data/profiles | jq '.[] | select(.lost > 0).path'");
  command->callback([options, &action] { action = [options] { return List(*options); }; });
}

}  // namespace npuprof::cli
