// SPDX-License-Identifier: Apache-2.0
#include "npuprof/record_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "acl/acl_prof.h"
#include "npuprof/error.h"
#include "session/settings.h"

namespace npuprof::cli {
namespace {

struct Setting {
  int type;
  const char* option;
  const char* meaning;
};

constexpr Setting kSettings[] = {
    {ACL_PROF_STORAGE_LIMIT, "--storage-limit",
     "Most that a directory may take, as 500MB (200MB or more); the oldest data goes (default: no limit)"},
    {ACL_PROF_SYS_HARDWARE_MEM_FREQ, "--memory-freq", "Sample HBM and the last-level cache, 1 to 100 Hz"},
    {ACL_PROF_LLC_MODE, "--llc-mode", "What of the last-level cache: read or write (default: read)"},
    {ACL_PROF_SYS_IO_FREQ, "--network-freq",
     "Sample the network of the device, 1 to 100 Hz; not in a container"},
    {ACL_PROF_SYS_INTERCONNECTION_FREQ, "--link-freq", "Sample PCIe and the links between chips, 1 to 50 Hz"},
    {ACL_PROF_DVPP_FREQ, "--dvpp-freq", "Sample the media engines, 1 to 100 Hz"},
    {ACL_PROF_HOST_SYS_USAGE, "--system", "Sample the whole host: cpu, mem or cpu,mem"},
    {ACL_PROF_HOST_SYS_USAGE_FREQ, "--host-freq",
     "How often --host and --system sample, 1 to 50 Hz (default: 50)"},
    {ACL_PROF_SYS_MEM_SERVICEFLOW, "--service-flow",
     "Service flows of the memory: a comma list of cores, copies, host, peers, network; named in the "
     "manifest where drivers have none"},
};

// The program's settings are judged by the same code, so that what it would refuse is said before it runs.
void Check(Settings* settings, int type, const std::string& option, const std::string& text) {
  if (const Result result = settings->Set(type, text); !result.ok() || text.empty()) {
    const size_t allowed = result.text.find("; allowed is ");
    throw Error(fmt::format("{} is '{}'{}", option, text,
                            text.empty()                   ? "; leave it out to collect nothing"
                            : allowed == std::string::npos ? "; " + result.text
                                                           : result.text.substr(allowed)),
                kUsage);
  }
  if (text.find(';') != std::string::npos)
    throw Error(fmt::format("{} is '{}'; it cannot hold ';'", option, text), kUsage);
}

}  // namespace

void AddRecordOptions(CLI::App* command, RecordOptions* options) {
  command->add_option("--data-types", options->data_types,
                      fmt::format("What to collect, comma list (default: {})", kDefaultDataTypes));
  command->add_option("--metrics", options->metrics,
                      "Counter group, or Custom: and up to 8 events (default: PipeUtilization)");
  command->add_option("--devices", options->devices,
                      "Device ids, comma list, or 'all' the program opens (default: all)");
  command->add_option("--host", options->host,
                      "Sample the program on the host: comma list of cpu, mem, disk, network");
  command->add_option("--delay", options->delay,
                      "Begin so long after the program's runtime, as 2.5, 100ms, 3m (default: at once)");
  command->add_option("--duration", options->duration, "End after so long (default: with the program)");
  auto* include = command->add_option("--mstx-domain-include", options->domains,
                                      "Domains of mstx marks to record, comma list (default: all)");
  command
      ->add_option("--mstx-domain-exclude", options->other_domains,
                   "Domains of mstx marks to leave out, comma list; 'default' is that of marks without one")
      ->excludes(include);
  options->settings.clear();
  for (const Setting& setting : kSettings) options->settings.emplace_back(setting.type, "");
  for (size_t i = 0; i < options->settings.size(); ++i)
    command->add_option(kSettings[i].option, options->settings[i].second, kSettings[i].meaning);
}

std::string RecordNames() {
  std::string text = "Data types:\n";
  for (const DataType& t : DataTypes()) text += fmt::format("  {:<16}{}\n", t.name, t.meaning);
  text += "\nCounter groups:\n";
  for (const std::string& group : MetricGroups()) text += "  " + group + "\n";
  text += "  Custom:EVENT[,EVENT...], counted on every kind of core; by number or name:\n";
  for (const auto& [number, name] : EventNames()) text += fmt::format("    {:<6}{}\n", number, name);
  return text;
}

Variables RecordVariables(const RecordOptions& options) {
  Settings settings;
  if (!options.host.empty()) Check(&settings, ACL_PROF_HOST_SYS, "--host", options.host);
  std::string list;
  for (size_t i = 0; i < options.settings.size(); ++i) {
    const auto& [type, text] = options.settings[i];
    if (text.empty()) continue;
    Check(&settings, type, kSettings[i].option, text);
    list += fmt::format("{}{}={}", list.empty() ? "" : ";", Settings::Name(type), text);
  }
  const auto time = [](const char* option, const std::string& text) {
    return text.empty() ? "" : fmt::format("{}", ParseTime(option, text));
  };
  return {
      {"NPUPROF_RECORD_TYPES", fmt::format("{:#x}", ParseDataTypes(options.data_types))},
      {"NPUPROF_RECORD_METRICS", ParseMetricGroup(options.metrics)},
      {"NPUPROF_RECORD_DEVICES", ParseDevices(options.devices)},
      {"NPUPROF_RECORD_HOST", options.host},
      {"NPUPROF_RECORD_SETTINGS", list},
      {"NPUPROF_RECORD_MSTX_INCLUDE", options.domains},
      {"NPUPROF_RECORD_MSTX_EXCLUDE", options.other_domains},
      {"NPUPROF_RECORD_DELAY_MS", time("--delay", options.delay)},
      {"NPUPROF_RECORD_DURATION_MS", time("--duration", options.duration)},
  };
}

}  // namespace npuprof::cli
