// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "npuprof/commands.h"
#include "npuprof/directories.h"
#include "npuprof/error.h"
#include "npuprof/names.h"
#include "npuprof/output.h"
#include "npuprof/process.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string directory = ".";
  std::string data_types = kDefaultDataTypes;
  std::string metrics = "PipeUtilization";
  std::string devices = "all";
  std::string host;
  bool json = false;
};

/** aclprofInit() refuses these in a path, so a run into such a directory could never be collected. */
constexpr std::string_view kForbidden = "\"'\\%><|&$;`\n\f\r\b\t\v\x7f";

fs::path PrepareOutput(const std::string& name) {
  std::error_code error;
  fs::path path = fs::absolute(name, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a trailing slash or "."
  if (const size_t at = path.string().find_first_of(kForbidden); at != std::string::npos) {
    throw Error(
        fmt::format(
            "'{}' has a character that profiling does not take in a path (none of \" ' \\ % > < | & $ ; ` "
            "and no control character)",
            path.string()),
        kUsage);
  }
  fs::create_directories(path, error);
  if (error) throw Error(fmt::format("cannot create the directory '{}': {}", path.string(), error.message()));
  if (!fs::is_directory(path)) throw Error(fmt::format("'{}' is no directory", path.string()));
  if (access(path.c_str(), W_OK | X_OK) != 0)
    throw Error(fmt::format("the directory '{}' is not writable", path.string()));
  return path;
}

void Report(const std::vector<Found>& all, const fs::path& output) {
  const bool colour = WantsColour(stderr);
  if (all.empty()) {
    fmt::print(
        stderr,
        "{} no PROF_* directory was written to '{}': a line of the program above says why profiling was "
        "refused, or it never opened a device through libascendcl with libaclprof\n",
        Paint("npuprof:", Style::kWarn, colour), output.string());
    return;
  }
  const bool simulated = std::any_of(all.begin(), all.end(),
                                     [](const Found& f) { return f.manifest && f.manifest->simulated(); });
  const std::string mark = Paint(fmt::format("npuprof: {}", kSimulatedMark), Style::kWarn, colour) + "\n";
  if (simulated) fmt::print(stderr, "{}", mark);
  for (const Found& found : all) {
    fmt::print(stderr, "npuprof: {} ({})\n", Paint(found.path.string(), Style::kBold, colour),
               Bytes(found.bytes));
    if (!found.problem.empty()) fmt::print(stderr, "  {}\n", Paint(found.problem, Style::kBad, colour));
    if (!found.manifest) continue;
    const Manifest& m = *found.manifest;
    fmt::print(stderr, "  {}\n", Paint(LossLine(m), m.lost() ? Style::kBad : Style::kGood, colour));
    if (!m.complete())
      fmt::print(stderr, "  {}\n",
                 Paint("incomplete: the program ended before profiling was stopped", Style::kBad, colour));
    for (const std::string& line : m.complaints())
      fmt::print(stderr, "  {}\n", Paint(line, Style::kWarn, colour));
  }
  fmt::print(stderr, "npuprof: look at it with: npuprof export {}\n", all.back().path.string());
  if (simulated) fmt::print(stderr, "{}", mark);
}

/// The parser never sees what follows "--", so the usage line has to be told about it.
class RecordFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = CLI::Formatter::make_usage(app, name);
    line.erase(line.find_last_not_of('\n') + 1);
    return line + " -- PROGRAM [ARGUMENTS]\n";
  }
};

int Record(const Options& options, const std::vector<std::string>& program) {
  if (program.empty()) {
    throw Error("no program to run; write it after '--', e.g. npuprof record -o out -- ./my_program arg",
                kUsage);
  }
  std::vector<std::pair<std::string, std::string>> environment = {
      {"NPUPROF_RECORD_TYPES", fmt::format("{:#x}", ParseDataTypes(options.data_types))},
      {"NPUPROF_RECORD_METRICS", ParseMetricGroup(options.metrics)},
      {"NPUPROF_RECORD_DEVICES", ParseDevices(options.devices)},
      {"NPUPROF_RECORD_HOST", options.host.empty() ? "" : ParseHostData(options.host)},
  };
  const fs::path output = PrepareOutput(options.directory);
  environment.emplace_back("NPUPROF_RECORD_DIR", output.string());

  const auto before = ProfPaths(output);
  const std::set<fs::path> old(before.begin(), before.end());
  const Outcome outcome = Run(program, environment);

  std::vector<Found> all;
  for (const fs::path& path : ProfPaths(output)) {
    if (!old.contains(path)) all.push_back(Inspect(path));
  }
  if (options.json) {
    nlohmann::json out = {{"directories", nlohmann::json::array()}};
    for (const Found& found : all) out["directories"].push_back(ToJson(found));
    out[outcome.signalled ? "signal" : "exit_status"] = outcome.code;
    fmt::print("{}\n", JsonText(out, -1));
    try {
      CheckPrinted();
    } catch (const Error& e) {
      fmt::print(stderr, "npuprof: {}\n", e.what());  // the status is the program's all the same
    }
  } else {
    Report(all, output);
  }
  EndLike(outcome);
}

}  // namespace

void AddRecord(CLI::App& app, Action& action, const std::vector<std::string>& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("record", "Run a program and profile it; its exit status becomes npuprof's.");
  command->formatter(std::make_shared<RecordFormatter>());
  command->add_option("-o,--output", options->directory,
                      "Directory for the PROF_* directories (default: working directory)");
  command->add_option("--data-types", options->data_types,
                      fmt::format("What to collect, comma list (default: {})", kDefaultDataTypes));
  command->add_option("--metrics", options->metrics, "Counter group (default: PipeUtilization)");
  command->add_option("--devices", options->devices,
                      "Device ids, comma list, or 'all' the program opens (default: all)");
  command->add_option("--host", options->host, "Sample the program on the host: cpu, mem or cpu,mem");
  command->add_flag("--json", options->json,
                    "Print the result as one line of JSON on stdout after the program has ended");
  std::string types = "Data types:\n";
  for (const DataType& t : DataTypes()) types += fmt::format("  {:<16}{}\n", t.name, t.meaning);
  std::string groups = "Counter groups:\n";
  for (const std::string& group : MetricGroups()) groups += "  " + group + "\n";
  command->footer(types + "\n" + groups +
                  "\nExamples:\n"
                  "  npuprof record -o out -- ./infer resnet50.json\n"
                  "  npuprof record --metrics Memory --host cpu,mem -- python3 train.py\n"
                  "  npuprof record --data-types task-time,hccl --devices 0,1 -- ./train");
  command->callback(
      [options, &action, &program] { action = [options, &program] { return Record(*options, program); }; });
}

}  // namespace npuprof::cli
