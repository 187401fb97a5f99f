// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "npuprof/attach.h"
#include "npuprof/commands.h"
#include "npuprof/directories.h"
#include "npuprof/error.h"
#include "npuprof/interruption.h"
#include "npuprof/output.h"
#include "npuprof/process.h"
#include "npuprof/record_options.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string directory = ".";
  RecordOptions record;
  int pid = 0;
  bool start = false, stop = false, status = false;
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

/// A file in which the program's library says what the directory cannot: that there is none, and why.
class Notes {
 public:
  Notes() {
    const char* temporary = std::getenv("TMPDIR");
    path_ = fmt::format("{}/npuprof-record-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    const int fd = mkstemp(path_.data());
    if (fd < 0) {
      path_.clear();  // it is then not said
    } else {
      close(fd);
    }
  }
  ~Notes() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  const std::string& path() const { return path_; }

  /// Sentences for the user.
  std::vector<std::string> Read() const {
    std::vector<std::string> sentences;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("own "))
        sentences.push_back("the program profiled itself; its session is in " + line.substr(4));
      else if (line == "early")
        sentences.emplace_back("the program ended before the delay had passed");
    }
    return sentences;
  }

 private:
  std::string path_;
};

void Report(const std::vector<Found>& all, const fs::path& output, const std::vector<std::string>& notes) {
  const bool colour = WantsColour(stderr);
  for (const std::string& note : notes)
    fmt::print(stderr, "npuprof: {}\n", Paint(note, Style::kWarn, colour));
  if (all.empty()) {
    if (notes.empty()) {
      fmt::print(
          stderr,
          "{} no PROF_* directory was written to '{}': a line of the program above says why profiling was "
          "refused, or it never opened a device through libascendcl with libaclprof\n",
          Paint("npuprof:", Style::kWarn, colour), output.string());
    }
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
    return line + " -- PROGRAM [ARGUMENTS]\n" + line + " --pid PID [--start | --stop | --status]\n";
  }
};

/// The directories that a run adds to an output directory.
class NewDirectories {
 public:
  explicit NewDirectories(const fs::path& output) : output_(output) {
    const auto before = ProfPaths(output);
    old_.insert(before.begin(), before.end());
  }
  std::vector<Found> Find() const {
    std::vector<Found> all;
    for (const fs::path& path : ProfPaths(output_)) {
      if (!old_.contains(path)) all.push_back(Inspect(path));
    }
    return all;
  }

 private:
  fs::path output_;
  std::set<fs::path> old_;
};

nlohmann::json AsJson(const std::vector<Found>& all, const std::vector<std::string>& notes) {
  nlohmann::json out = {{"directories", nlohmann::json::array()}, {"notes", notes}};
  for (const Found& found : all) out["directories"].push_back(ToJson(found));
  return out;
}

int RunAndRecord(const Options& options, const std::vector<std::string>& program) {
  Variables environment = RecordVariables(options.record);
  const fs::path output = PrepareOutput(options.directory);
  auto notes = std::make_unique<const Notes>();
  environment.emplace_back("NPUPROF_RECORD_DIR", output.string());
  environment.emplace_back("NPUPROF_RECORD_NOTES", notes->path());

  const NewDirectories directories(output);
  const Outcome outcome = Run(program, environment);

  const std::vector<Found> all = directories.Find();
  if (options.json) {
    nlohmann::json out = AsJson(all, notes->Read());
    out[outcome.signalled ? "signal" : "exit_status"] = outcome.code;
    fmt::print("{}\n", JsonText(out, -1));
    try {
      CheckPrinted();
    } catch (const Error& e) {
      fmt::print(stderr, "npuprof: {}\n", e.what());  // the status is the program's all the same
    }
  } else {
    Report(all, output, notes->Read());
  }
  notes.reset();  // EndLike() does not return
  EndLike(outcome);
}

int ShowStatus(const Options& options) {
  const bool used = HasUsedRuntime(options.pid);
  const Target::Answer answer = used ? Target(options.pid).Status() : Target::Answer{"none", "", ""};
  if (options.json) {
    fmt::print(
        "{}\n",
        JsonText({{"pid", options.pid}, {"state", answer.state}, {"directory", answer.directory}}, -1));
    return 0;
  }
  const std::string last = answer.directory.empty() ? "" : "; the last session is in " + answer.directory;
  if (answer.state == "recording")
    fmt::print("process {} is recorded into {}\n", options.pid, answer.directory);
  else if (answer.state == "own")
    fmt::print("process {} profiles itself into {}\n", options.pid, answer.directory);
  else if (answer.state == "waiting")
    fmt::print("process {} will be recorded when the delay has passed\n", options.pid);
  else if (!used)
    fmt::print("process {} is not recorded; it has not used a runtime yet\n", options.pid);
  else
    fmt::print("process {} is not recorded{}\n", options.pid, last);
  return 0;
}

int StopRecording(const Options& options) {
  const Target::Answer answer = Target(options.pid).Stop();
  std::vector<Found> all;
  if (!answer.directory.empty()) all.push_back(Inspect(answer.directory));
  if (options.json)
    fmt::print("{}\n", JsonText(AsJson(all, {}), -1));
  else if (all.empty())
    fmt::print(stderr, "npuprof: process {} is not recorded; its delay had not passed, nothing was written\n",
               options.pid);
  else
    Report(all, fs::path(answer.directory).parent_path(), {});
  return 0;
}

/// Until the time is over, somebody ends it or interrupts, or the process ends.
void WaitForTheEnd(Target& target, const std::string& recording, const Interruption& interruption) {
  const auto over = [&] {
    const Target::Answer now = target.Status();
    return now.recording != recording || (now.state != "recording" && now.state != "waiting");
  };
  while (interruption.signal() == 0 && target.lives()) {
    try {
      if (over()) return;
    } catch (const Error&) {
      // A process that is held (SIGSTOP, a debugger) is recorded nevertheless.
    }
    for (int i = 0; i < 10 && interruption.signal() == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!target.lives()) return;
  try {
    if (!over()) target.Stop();
  } catch (const Error& why) {
    if (!target.lives()) return;
    bool ended = false;
    try {
      ended = over();
    } catch (const Error&) {
    }
    if (!ended)
      throw Error(
          fmt::format("{}; it goes on being recorded, end that later with: npuprof record --pid {} --stop",
                      why.what(), target.pid()));
  }
}

int AttachAndRecord(const Options& options) {
  Variables variables = RecordVariables(options.record);
  const fs::path output = PrepareOutput(options.directory);
  const Notes notes;
  variables.emplace_back("NPUPROF_RECORD_DIR", output.string());
  if (!options.start) variables.emplace_back("NPUPROF_RECORD_NOTES", notes.path());
  const NewDirectories directories(output);
  const Interruption interruption;
  if (!HasUsedRuntime(options.pid)) {
    fmt::print(stderr,
               "npuprof: process {} has not used a runtime yet; it is recorded from when it does, Ctrl-C "
               "ends the wait\n",
               options.pid);
    AwaitRuntime(options.pid, interruption);
  }
  Target target(options.pid);
  const Target::Answer answer = target.Start(variables, interruption);
  if (options.start) {
    if (options.json)
      fmt::print(
          "{}\n",
          JsonText({{"pid", options.pid}, {"state", answer.state}, {"directory", answer.directory}}, -1));
    else
      fmt::print(stderr, "npuprof: process {} is {}; end it with: npuprof record --pid {} --stop\n",
                 options.pid,
                 answer.state == "waiting" ? "recorded when the delay has passed"
                                           : "recorded into " + answer.directory,
                 options.pid);
    return 0;
  }
  if (!options.json)
    fmt::print(stderr, "npuprof: recording process {}; Ctrl-C ends it, the process goes on\n", options.pid);
  WaitForTheEnd(target, answer.recording, interruption);
  const std::vector<Found> all = directories.Find();
  if (options.json)
    fmt::print("{}\n", JsonText(AsJson(all, notes.Read()), -1));
  else
    Report(all, output, notes.Read());
  return 0;
}

int Record(const Options& options, const std::vector<std::string>& program) {
  const int verbs = options.start + options.stop + options.status;
  if (options.pid == 0) {
    if (verbs > 0)
      throw Error("--start, --stop and --status are for a running process; name it with --pid", kUsage);
    if (program.empty()) {
      throw Error(
          "no program to run; write it after '--', e.g. npuprof record -o out -- ./my_program arg, or name a "
          "running process with --pid",
          kUsage);
    }
    return RunAndRecord(options, program);
  }
  if (!program.empty())
    throw Error(fmt::format("'{}' after '--': with --pid no program is run", program[0]), kUsage);
  if (verbs > 1) throw Error("--start, --stop and --status exclude each other", kUsage);
  if (options.status) return ShowStatus(options);
  if (options.stop) return StopRecording(options);
  return AttachAndRecord(options);
}

}  // namespace

void AddRecord(CLI::App& app, Action& action, const std::vector<std::string>& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "record",
      "Run a program and profile it; its exit status becomes npuprof's. Or profile a running process.");
  command->formatter(std::make_shared<RecordFormatter>());
  command->add_option("-o,--output", options->directory,
                      "Directory for the PROF_* directories (default: working directory)");
  AddRecordOptions(command, &options->record);
  command
      ->add_option("--pid", options->pid, "Profile this running process until Ctrl-C, --duration or its end")
      ->check(CLI::Range(1, 2147483647));
  command->add_flag("--start", options->start, "With --pid: begin, and return at once");
  command->add_flag("--stop", options->stop, "With --pid: end what was begun");
  command->add_flag("--status", options->status, "With --pid: say what the process does");
  command->add_flag("--json", options->json,
                    "Print the result as one line of JSON on stdout after the program has ended");
  command->footer(RecordNames() +
                  "\nExamples:\n"
                  "  npuprof record -o out -- ./infer resnet50.json\n"
                  "  npuprof record --metrics Memory --host cpu,mem -- python3 train.py\n"
                  "  npuprof record --data-types task-time,hccl --devices 0,1 -- ./train\n"
                  "  npuprof record --metrics Custom:0x8,0x54,icache_misses -- ./infer\n"
                  "  npuprof record --delay 30 --duration 10 --storage-limit 2000MB -- ./serve\n"
                  "  npuprof record -o out --pid 4711 --duration 10");
  command->callback(
      [options, &action, &program] { action = [options, &program] { return Record(*options, program); }; });
}

}  // namespace npuprof::cli
