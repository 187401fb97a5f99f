// SPDX-License-Identifier: Apache-2.0
#include "msprof/modes.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>

#include "msprof/child.h"

namespace msprof {
namespace fs = std::filesystem;
namespace {

void Say(const char* kind, const std::string& text) {
  fmt::print("[{}] {}\n", kind, text);
  std::fflush(stdout);  // children write to the same place
}
void Inform(const std::string& text) {
  Say("INFO", text);
}
void Warn(const std::string& text) {
  Say("WARNING", text);
}
int Fail(const std::string& text) {
  Say("ERROR", text);
  return kFailed;
}

bool IsProfile(const fs::path& path) {
  // Directories that are called "host" or "device_0" are many.
  std::error_code error;
  if (fs::is_regular_file(path / "host" / "info.json", error)) return true;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with("device_") &&
        fs::is_regular_file(it->path() / ("info.json." + name.substr(7)), ignored))
      return true;
  }
  return false;
}

/// The directory itself, or what it holds.
std::set<fs::path> Profiles(const fs::path& directory) {
  if (IsProfile(directory)) return {directory};
  std::set<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("PROF_") && IsProfile(it->path()))
      found.insert(it->path());
  }
  return found;
}

int RunNpuprof(Words words, Errors errors, const Variables& variables = {}) {
  words.insert(words.begin(), Npuprof());
  std::string why;
  std::fflush(stdout);
  const pid_t pid = Start(words, variables, errors, &why);
  return pid == 0 ? Fail(why) : Wait(pid);
}

int ExportOne(const fs::path& profile, const std::string& formats) {
  Inform(fmt::format("Start export data in {}.", profile.string()));
  const int status = RunNpuprof({"export", profile.string(), "--format", formats}, Errors::kWithOutput);
  if (status != 0) return Fail(fmt::format("Export of {} ended with code {}.", profile.string(), status));
  Inform(fmt::format("Export all data in {} done.", profile.string()));
  return kGood;
}

int EachProfile(const Request& request, const std::function<int(const fs::path&)>& act) {
  const fs::path output = request.Text("output");
  const auto profiles = Profiles(output);
  if (profiles.empty()) return Fail(fmt::format("{} is no PROF directory and holds none.", output.string()));
  int worst = kGood;
  for (const fs::path& profile : profiles) worst = std::max(worst, act(profile));
  return worst;
}

std::string ExportFormats(const Request& request) {
  return request.Text("type") == "db" ? "db" : "csv,json,db";
}

void Forbid(const Request& request, const char* mode, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (request.Has(name))
      throw Misuse(fmt::format("The argument {} is forbidden when --{} is not empty", name, mode));
  }
}

void Need(const Request& request, const char* mode, const char* name) {
  if (!request.Has(name))
    throw Misuse(fmt::format("The argument {} is necessary when --{} is not empty", name, mode));
}

int Export(const Request& request) {
  Need(request, "export", "output");
  if (request.Text("type") == "db")
    Forbid(request, "type=db", {"iteration-id", "model-id", "summary-format", "clear", "reports"});
  if (request.Text("summary-format") == "json") Warn("--summary-format=json: tables are written as csv");
  const std::string formats = ExportFormats(request);
  return EachProfile(request, [&](const fs::path& profile) { return ExportOne(profile, formats); });
}

int Analyze(const Request& request) {
  Need(request, "analyze", "output");
  const std::string format = request.Text("type") == "db" ? "communication-db" : "communication";
  return EachProfile(request, [&](const fs::path& profile) {
    const int status = RunNpuprof({"export", profile.string(), "--format", format}, Errors::kWithOutput);
    return status == 0 ? kGood
                       : Fail(fmt::format("Analysis of {} ended with code {}.", profile.string(), status));
  });
}

int Query(const Request& request, const char* mode) {
  Need(request, mode, "output");
  return EachProfile(request, [&](const fs::path& profile) {
    const int status = RunNpuprof({"info", profile.string()}, Errors::kWithOutput);
    return status == 0 ? kGood : Fail(fmt::format("{} cannot be read (code {}).", profile.string(), status));
  });
}

/// The program and its arguments, whichever way they were given.
Words Program(const Request& request) {
  if (!request.Has("application")) return request.program;
  Words words;
  const std::string text = request.Text("application");
  for (size_t at = 0; at < text.size();) {
    const size_t from = text.find_first_not_of(' ', at);
    if (from == std::string::npos) break;
    at = std::min(text.find(' ', from), text.size());
    words.push_back(text.substr(from, at - from));
  }
  return words;
}

fs::path Output(const Request& request, const Words& program) {
  if (request.Has("output")) return request.Text("output");
  if (const char* work = std::getenv("ASCEND_WORK_PATH"); work && *work)
    return fs::path(work) / "profiling_data";
  std::error_code error;
  if (request.Has("application") && !program.empty()) return fs::absolute(program[0], error).parent_path();
  return fs::current_path(error);
}

Variables Environment(const Request& request) {
  Variables variables;
  std::string text = request.Text("environment");
  for (size_t from = 0; from < text.size();) {
    const size_t to = std::min(text.find(';', from), text.size());
    const std::string one = text.substr(from, to - from);
    const size_t sign = one.find('=');
    if (sign == std::string::npos || sign == 0)
      throw Misuse(fmt::format("Argument --environment: invalid value: {}. Allowed is A=b;C=d", text));
    variables.emplace_back(one.substr(0, sign), one.substr(sign + 1));
    from = to + 1;
  }
  return variables;
}

int ExportNew(const std::set<fs::path>& before, const fs::path& output, const Request& request) {
  int worst = kGood;
  bool any = false;
  for (const fs::path& profile : Profiles(output)) {
    if (before.contains(profile)) continue;
    any = true;
    worst = std::max(worst, ExportOne(profile, ExportFormats(request)));
  }
  if (any) {
    Inform(fmt::format("Process profiling data complete. Data is saved in {}", output.string()));
    return worst;
  }
  return Fail(
      "Failed to find profiling data, please check that the application executes AI-related business, or "
      "ensure "
      "that aclInit/GEInitialize is invoked in the application");
}

int Application(const Request& request) {
  const Words program = Program(request);
  if (program.empty()) throw Misuse("Argument --application: names no program");
  const fs::path output = Output(request, program);
  Words words = {"record", "-o", output.string()};
  for (const std::string& word : RecordOptions(request)) words.push_back(word);
  words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  const auto before = Profiles(output);
  Inform("Start profiling....");
  const int status = RunNpuprof(words, Errors::kKept, Environment(request));
  constexpr int kNotFound = 127, kNotRun = 126;
  if (status == kNotFound || status == kNotRun) return Fail(fmt::format("{} cannot be run.", program[0]));
  if (status != 0)
    Warn(fmt::format("An exception has occurred in process {}, return code: {}.", program[0], status));
  Inform("Profiling finished.");
  return ExportNew(before, output, request);
}

volatile sig_atomic_t interrupted = 0;

/// The console of --dynamic: commands for one process.
class Console {
 public:
  Console(int pid, fs::path output, Words options)
      : pid_(pid), output_(std::move(output)), options_(std::move(options)) {}

  /// Until the user quits or there is no more input. Returns the exit code.
  int Talk() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    ::sigaction(SIGINT, &action, nullptr);  // without SA_RESTART: reading ends, and the hint is given
    for (std::string line;;) {
      fmt::print("(msprof) ");
      std::fflush(stdout);
      if (!std::getline(std::cin, line)) {
        if (!interrupted) break;
        interrupted = 0;
        std::cin.clear();
        std::clearerr(stdin);
        fmt::print("\n");
        Inform("Use 'quit' or 'q' to exit dynamic profiling.");
        continue;
      }
      if (line == "start") {
        Begin();
      } else if (line == "stop") {
        if (End() == kGood) Inform("Profiling finished.");
      } else if (line == "quit" || line == "q") {
        break;
      } else if (line == "help" || line == "h") {
        fmt::print(
            "start, stop: begin and end; each start makes a directory\nquit or q: end and leave\nhelp or h: "
            "this\n");
      } else if (!line.empty()) {
        Warn(fmt::format("'{}' is no command; known are start, stop, quit, q, help, h", line));
      }
    }
    if (running_) End();
    return failed_ ? kFailed : kGood;
  }

 private:
  void Begin() {
    Words words = {"record", "--pid", std::to_string(pid_), "--start", "-o", output_.string()};
    words.insert(words.end(), options_.begin(), options_.end());
    running_ = RunNpuprof(words, Errors::kWithOutput) == 0 || running_;
    if (running_) {
      Inform("Start profiling....");
    } else {
      failed_ = true;
    }
  }
  int End() {
    const int status = RunNpuprof({"record", "--pid", std::to_string(pid_), "--stop"}, Errors::kWithOutput);
    running_ = false;
    failed_ = failed_ || status != 0;
    return status == 0 ? kGood : kFailed;
  }

  int pid_;
  fs::path output_;
  Words options_;
  bool running_ = false, failed_ = false;
};

int Dynamic(const Request& request) {
  const Words program = Program(request);
  if (request.Has("pid") == !program.empty())
    throw Misuse("--dynamic needs exactly one of --pid and a program");
  for (const char* name : {"sys-cpu-profiling", "delay", "duration"}) {
    if (request.Has(name))
      throw Misuse(fmt::format("The argument {} is forbidden when --dynamic is not empty", name));
  }
  const fs::path output = Output(request, program);
  const Words options = RecordOptions(request);
  if (request.Has("pid")) return Console(std::atoi(request.Text("pid").c_str()), output, options).Talk();
  Variables variables = Environment(request);
  variables.emplace_back("PROFILING_MODE", "dynamic");
  std::string why;
  const pid_t pid = Start(program, variables, Errors::kKept, &why);
  if (pid == 0) return Fail(why);
  const int result = Console(pid, output, options).Talk();
  Wait(pid);
  return result;
}

}  // namespace

int Run(const Request& request) {
  for (const Option& option : Options()) {
    if (!request.Has(option.name)) continue;
    if (option.use == Option::kNamed) Warn(fmt::format("--{} has no effect: {}", option.name, option.about));
    if (option.use == Option::kRefused) {
      Fail(fmt::format("--{} is not supported: {}", option.name, option.about));
      return kUnsupported;
    }
  }
  if (request.On("dynamic")) return Dynamic(request);
  if (request.Has("pid")) throw Misuse("The argument dynamic is necessary when --pid is not empty");
  if (request.Has("application") || !request.program.empty()) return Application(request);
  if (request.On("parse")) return Query(request, "parse");
  if (request.On("query")) return Query(request, "query");
  if (request.On("export")) return Export(request);
  if (request.On("analyze")) return Analyze(request);
  throw Misuse(
      "No valid argument found in --application --sys-devices --host-sys --host-sys-usage --parse --query "
      "--export "
      "--analyze; see --help");
}

}  // namespace msprof
