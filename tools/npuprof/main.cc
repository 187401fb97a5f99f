// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "analysis/error.h"
#include "npuprof/commands.h"
#include "npuprof/error.h"
#include "npuprof/output.h"

using namespace npuprof::cli;

namespace {

std::vector<std::string> Names(const std::vector<CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

int Complain(const std::string& sentence, int status) {
  fmt::print(stderr, "npuprof: {}\n", sentence);
  return status;
}

/// What is wrong with the command line, and whose --help tells more.
std::string Misuse(const CLI::App& app, const std::vector<CLI::App*>& commands, const CLI::ParseError& e) {
  const auto named = [&](const CLI::App* command) { return app.got_subcommand(command->get_name()); };
  const auto used = std::find_if(commands.begin(), commands.end(), named);
  const std::string command = used == commands.end() ? "npuprof" : "npuprof " + (*used)->get_name();
  const std::string see = fmt::format("see {} --help", command);
  if (dynamic_cast<const CLI::RequiredError*>(&e) && used == commands.end()) {
    return fmt::format("a command is missing; known are {}", fmt::join(Names(commands), ", "));
  }
  // What is written wrong comes before what is missing.
  if (dynamic_cast<const CLI::ExtrasError*>(&e) ||
      (dynamic_cast<const CLI::RequiredError*>(&e) && !app.remaining(true).empty())) {
    const bool program = command == "npuprof record" && app.remaining(true).front()[0] != '-';
    return fmt::format("{} does not take '{}'; {}", command, fmt::join(app.remaining(true), "' '"),
                       program ? "write the program to run after '--'" : see);
  }
  return fmt::format("{}; {}", e.what(), see);
}

}  // namespace

int main(int argc, char** argv) {
  // What follows the first "--" belongs to the profiled program and is none of the parser's business.
  char** const end = argv + argc;
  char** const separator =
      std::find_if(argv + 1, end, [](const char* word) { return std::string_view(word) == "--"; });
  const std::vector<std::string> program(separator == end ? end : separator + 1, end);

  CLI::App app("Profiles programs on NPUs and reads what was collected.", "npuprof");
  app.set_version_flag("--version", "npuprof " NPUPROF_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.footer(
      "Examples:\n"
      "  npuprof record -o out -- ./my_program\n"
      "  npuprof report out\n"
      "  npuprof export out\n"
      "`npuprof COMMAND --help` explains a command.");
  Action action;
  AddRecord(app, action, program);
  AddExport(app, action);
  AddInfo(app, action);
  AddList(app, action);
  AddVerify(app, action);
  AddRepair(app, action);
  AddReport(app, action);

  const std::vector<CLI::App*> commands = app.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* command : commands) command->group("Commands");
  const auto named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::none_of(commands.begin(), commands.end(), named)) {
    return Complain(
        fmt::format("'{}' is no command; known are {}", argv[1], fmt::join(Names(commands), ", ")), kUsage);
  }
  try {
    app.parse(static_cast<int>(separator - argv), argv);
    if (!program.empty() && !app.got_subcommand("record")) {
      return Complain(fmt::format("'{}' after '--': only record runs a program", program[0]), kUsage);
    }
    const int status = action();
    CheckPrinted();
    return status;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return Complain(Misuse(app, commands, e), kUsage);
  } catch (const Error& e) {
    return Complain(e.what(), e.status);
  } catch (const npuprof::analysis::Error& e) {
    return Complain(e.what(), kFailure);
  } catch (const std::exception& e) {
    return Complain(e.what(), kFailure);
  }
}
