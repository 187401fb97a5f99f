// SPDX-License-Identifier: Apache-2.0
#include "msprof/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace msprof {
namespace {

constexpr const char* kOnOff = "on|off";
constexpr int64_t kMost = 4294967295;
constexpr size_t kLongestPath = 1024, kLongestCommand = 2048;
constexpr const char* kLevels = "on|off|l0|l1|l2|l3";

std::string Listed(const char* words) {
  std::string text = words;
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, ", ");
  return text;
}

void Check(const Option& rule, const std::string& value) {
  const auto refuse = [&](const std::string& allowed) {
    throw Misuse(fmt::format("Argument --{}: invalid value: {}. Allowed is {}", rule.name,
                             value.empty() ? "nothing" : value, allowed));
  };
  if (value.empty()) refuse("a value");
  if (rule.kind == Option::kWord) {
    const std::string words = fmt::format("|{}|", rule.words);
    if (value.find('|') != std::string::npos || words.find("|" + value + "|") == std::string::npos)
      refuse(Listed(rule.words));
  } else if (rule.kind == Option::kNumber) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < rule.low || number > rule.high)
      refuse(fmt::format("{} to {}", rule.low, rule.high));
  }
  const std::string_view name = rule.name;
  if (name == "output" && value.size() > kLongestPath)
    refuse(fmt::format("a path of at most {} bytes", kLongestPath));
  if (name == "application" && value.size() > kLongestCommand)
    refuse(fmt::format("a command of at most {} bytes", kLongestCommand));
  if (name == "rule") {
    for (std::string_view rest = value; !rest.empty();) {
      const auto word = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      if (word != "communication" && word != "communication_matrix")
        refuse("communication, communication_matrix");
    }
  }
}

}  // namespace

const std::vector<Option>& Options() {
  using O = Option;
  static const std::vector<Option> kOptions = {
      {"output", O::kText, "", 0, 0, O::kObeyed,
       "Directory of the results, or with --export and the like the PROF directory"},
      {"application", O::kText, "", 0, 0, O::kObeyed,
       "Program with its arguments; better: write it after the options"},
      {"environment", O::kText, "", 0, 0, O::kObeyed, "Variables for the program, as \"A=b;C=d\""},
      {"type", O::kWord, "text|db", 0, 0, O::kObeyed,
       "Form of the results: text(which will also export the database) or db; default: text"},
      {"storage-limit", O::kText, "", 0, 0, O::kObeyed, "Most that a directory may take, 200MB or more"},
      {"python-path", O::kText, "", 0, 0, O::kNamed, "Not needed: no Python is run"},
      {"summary-format", O::kWord, "csv|json", 0, 0, O::kObeyed, "Tables are csv"},
      {"reports", O::kText, "", 0, 0, O::kNamed, "The timeline is always whole"},
      {"parse", O::kWord, kOnOff, 0, 0, O::kObeyed,
       "Check that a PROF directory can be read, and say what it holds"},
      {"query", O::kWord, kOnOff, 0, 0, O::kObeyed, "Say what a PROF directory holds"},
      {"export", O::kWord, kOnOff, 0, 0, O::kObeyed, "Tables, timeline and database of a PROF directory"},
      {"analyze", O::kWord, kOnOff, 0, 0, O::kObeyed, "Files about communication of a PROF directory"},
      {"clear", O::kWord, kOnOff, 0, 0, O::kObeyed, "There are no intermediate files that it would remove"},
      {"rule", O::kText, "", 0, 0, O::kObeyed, "With --analyze: communication, communication_matrix"},
      {"iteration-id", O::kNumber, "", 1, kMost, O::kNamed, "Everything is exported"},
      {"model-id", O::kNumber, "", -1, kMost, O::kNamed, "Everything is exported"},
      {"dynamic", O::kWord, kOnOff, 0, 0, O::kObeyed, "Begin and end by commands, of --pid or of a program"},
      {"pid", O::kNumber, "", 1, 2147483647, O::kObeyed, "With --dynamic: the running process"},
      {"delay", O::kNumber, "", 1, kMost, O::kObeyed, "Begin so many seconds late"},
      {"duration", O::kNumber, "", 1, kMost, O::kObeyed, "End after so many seconds"},
      {"ascendcl", O::kWord, kOnOff, 0, 0, O::kObeyed, "acl calls; default: on"},
      {"task-time", O::kWord, kLevels, 0, 0, O::kObeyed, "When tasks ran; default: on"},
      {"task-trace", O::kWord, kLevels, 0, 0, O::kObeyed, "The same as --task-time"},
      {"runtime-api", O::kWord, kOnOff, 0, 0, O::kObeyed, "Runtime calls; default: off"},
      {"task-tsfw", O::kWord, kOnOff, 0, 0, O::kNamed, "Not collected"},
      {"task-memory", O::kWord, kOnOff, 0, 0, O::kObeyed, "Memory of operators; default: off"},
      {"aicpu", O::kWord, kOnOff, 0, 0, O::kObeyed, "AI CPU tasks; default: off"},
      {"l2", O::kWord, kOnOff, 0, 0, O::kObeyed, "Events of the L2 cache; default: off"},
      {"msproftx", O::kWord, kOnOff, 0, 0, O::kObeyed, "Marks and ranges of the program; default: off"},
      {"aicore-shape", O::kWord, kOnOff, 0, 0, O::kObeyed, "Shapes with --task-time=l0; default: off"},
      {"instr-profiling", O::kWord, kOnOff, 0, 0, O::kNamed, "Not collected"},
      {"instr-profiling-freq", O::kNumber, "", 300, 30000, O::kNamed, "Not collected"},
      {"ge-api", O::kWord, "off|l0|l1", 0, 0, O::kObeyed, "Host scheduling of dynamic shapes; default: off"},
      {"model-execution", O::kWord, kOnOff, 0, 0, O::kNamed, "Deprecated: has no effect"},
      {"hccl", O::kWord, kOnOff, 0, 0, O::kNamed, "Deprecated: has no effect"},
      {"ai-core", O::kWord, kOnOff, 0, 0, O::kObeyed, "Counters of the cores; default: on"},
      {"aic-mode", O::kWord, "task-based|sample-based", 0, 0, O::kNamed, "Programs are counted by task"},
      {"aic-metrics", O::kText, "", 0, 0, O::kObeyed, "Counter group; default: PipeUtilization"},
      {"aic-freq", O::kNumber, "", 1, 100, O::kNamed, "Programs are counted by task"},
      {"npu-events", O::kText, "", 0, 0, O::kNamed, "Not collected"},
      {"task-block", O::kWord, "off|all|on", 0, 0, O::kNamed, "Not collected"},
      {"mstx-domain-include", O::kText, "", 0, 0, O::kNamed, "Not obeyed: all domains are collected"},
      {"mstx-domain-exclude", O::kText, "", 0, 0, O::kNamed, "Not obeyed: all domains are collected"},
      {"sys-devices", O::kText, "", 0, 0, O::kRefused, "A whole system without a program"},
      {"sys-period", O::kNumber, "", 1, 2592000, O::kRefused, "A whole system without a program"},
      {"sys-cpu-profiling", O::kWord, kOnOff, 0, 0, O::kNamed, "Not collected"},
      {"sys-cpu-freq", O::kNumber, "", 1, 50, O::kNamed, "Not collected"},
      {"sys-profiling", O::kWord, kOnOff, 0, 0, O::kNamed, "Not collected"},
      {"sys-sampling-freq", O::kNumber, "", 1, 10, O::kNamed, "Not collected"},
      {"sys-pid-profiling", O::kWord, kOnOff, 0, 0, O::kNamed, "Not collected"},
      {"sys-pid-sampling-freq", O::kNumber, "", 1, 10, O::kNamed, "Not collected"},
      {"sys-hardware-mem", O::kWord, kOnOff, 0, 0, O::kObeyed,
       "Main memory and last-level cache; default: off"},
      {"sys-hardware-mem-freq", O::kNumber, "", 1, 100, O::kObeyed, "Hz; default: 50"},
      {"sys-mem-serviceflow", O::kText, "", 0, 0, O::kObeyed, "Service flows of the memory"},
      {"llc-profiling", O::kWord, "read|write", 0, 0, O::kObeyed,
       "What of the last-level cache; default: read"},
      {"sys-io-profiling", O::kWord, kOnOff, 0, 0, O::kObeyed, "Network of the device; default: off"},
      {"sys-io-sampling-freq", O::kNumber, "", 1, 100, O::kObeyed, "Hz; default: 100"},
      {"sys-interconnection-profiling", O::kWord, kOnOff, 0, 0, O::kObeyed,
       "PCIe and links between chips; default: off"},
      {"sys-interconnection-freq", O::kNumber, "", 1, 50, O::kObeyed, "Hz; default: 50"},
      {"dvpp-profiling", O::kWord, kOnOff, 0, 0, O::kObeyed, "Media engines; default: off"},
      {"dvpp-freq", O::kNumber, "", 1, 100, O::kObeyed, "Hz; default: 50"},
      {"host-sys", O::kText, "", 0, 0, O::kObeyed,
       "The program on the host: comma list of cpu, mem, disk, network"},
      {"host-sys-pid", O::kNumber, "", 1, 2147483647, O::kRefused, "A process without --dynamic"},
      {"host-sys-usage", O::kText, "", 0, 0, O::kObeyed, "The whole host: comma list of cpu, mem"},
      {"host-sys-usage-freq", O::kNumber, "", 1, 50, O::kObeyed, "Hz; default: 50"},
  };
  return kOptions;
}

Request Request::Parse(int argc, char** argv) {
  Request request;
  constexpr int kFirst = 256;  // beyond all characters
  std::vector<option> known;
  // Each has a number of its own: of options with equal ones the C library takes a common beginning for the first.
  for (const Option& each : Options())
    known.push_back({each.name, required_argument, nullptr, kFirst + static_cast<int>(known.size())});
  known.push_back({"help", no_argument, nullptr, 'h'});
  known.push_back({});
  ::opterr = 0;
  ::optind = 1;
  for (;;) {
    const int word = std::min(::optind, argc - 1);
    // "+": what comes after the first word that is no option belongs to the program.
    const int found = ::getopt_long(argc, argv, "+:h", known.data(), nullptr);
    if (found == -1) break;
    if (found == 'h') {
      request.help = true;
    } else if (found == ':') {
      throw Misuse(fmt::format("option '{}' needs a value", argv[word]));
    } else if (found == '?') {
      throw Misuse(
          fmt::format("unrecognized option '{}', or the beginning of several; see --help", argv[word]));
    } else {
      const Option& taken = Options()[static_cast<size_t>(found - kFirst)];
      Check(taken, ::optarg);
      request.values_[taken.name] = ::optarg;
    }
  }
  request.program.assign(argv + ::optind, argv + argc);
  return request;
}

std::string Help() {
  std::string text =
      "msprof collects what a program does on NPUs, and exports what was collected. It runs npuprof for "
      "that.\n\n"
      "usage: msprof [options] program [arguments]\n"
      "       msprof --export=on --output=PROF_DIRECTORY [--type=db]\n\n";
  for (const Option& each : Options()) {
    std::string values = each.kind == Option::kWord     ? fmt::format("<{}>", Listed(each.words))
                         : each.kind == Option::kNumber ? fmt::format("<{} to {}>", each.low, each.high)
                                                        : "<text>";
    text += fmt::format("  --{} {}\n      {}{}\n", each.name, values, each.about,
                        each.use == Option::kRefused ? ": cannot be done" : "");
  }
  return text + "  --help\n";
}

}  // namespace msprof
