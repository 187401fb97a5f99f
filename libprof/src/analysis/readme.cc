// SPDX-License-Identifier: Apache-2.0
#include "analysis/readme.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "analysis/text.h"

namespace npuprof::analysis {
namespace {

const char* About(const std::string& table) {
  static const std::map<std::string, const char*> kTables = {
      {"op_summary", "operators that ran, one row per task, with their counters"},
      {"op_statistic", "operators summed up by type"},
      {"task_time", "every task the device ran"},
      {"api_statistic", "calls of the host, summed up by name"},
      {"step_trace", "training steps"},
      {"step_trace (json)", "training steps, of the timeline that layer alone"},
      {"msprof_tx (json)", "marks and ranges, of the timeline that layer alone"},
      {"communication_statistic", "collectives summed up by type"},
      {"hbm", "traffic of the main memory, by channel"},
      {"llc_read_write", "traffic of the last-level cache, by slice"},
      {"npu_mem", "memory in use of the device and of the process"},
      {"npu_module_mem", "memory in use by part of the device's software"},
      {"nic", "network ports"},
      {"roce", "network ports, as seen by RoCE"},
      {"hccs", "traffic between chips"},
      {"pcie", "traffic to and from the host"},
      {"dvpp", "media engines"},
      {"cpu_usage", "processors of the devices and of the host's machine"},
      {"sys_mem", "memory of the devices' systems and of the host's machine"},
      {"host_cpu_usage", "processors that the process used"},
      {"host_mem_usage", "memory that the process used"},
      {"host_network_usage", "network of the host"},
      {"host_disk_usage", "disk that the process used"},
      {"memory_record", "memory of operators over time"},
      {"operator_memory", "memory that each operator took and gave back"},
      {"l2_cache", "L2 cache, by task"},
      {"soc_pmu", "translation of addresses, by task"},
      {"aicpu", "tasks of the processors for operators"},
      {"dp", "preparation of data"},
      {"aicpu_mi", "queues of data"},
      {"msprof_tx", "marks and ranges of the program"}};
  const auto found = kTables.find(table);
  return found != kTables.end()
             ? found->second
             : "timeline of host calls, device tasks and counters, for Perfetto or chrome://tracing";
}

}  // namespace

std::filesystem::path WriteReadme(const std::filesystem::path& output, const Profile& profile,
                                  const ExportResult& result, const std::string& timestamp) {
  const std::string simulated =
      "SIMULATED: the device figures come from the simulated NPU and describe no real hardware.\n";
  std::string text;
  if (result.simulated) text += simulated + "\n";
  text += fmt::format("Exported from {}.\n\n", profile.name());
  for (const auto& path : result.files) {
    const std::string name = path.filename().string();
    std::string table = name.substr(0, name.rfind('_'));
    table = table.substr(0, table.find("_slice_"));
    const bool events = path.extension() != ".csv";
    if (table == "msprof") {
      table = "timeline";
    } else if (events) {
      table += " (json)";
    }
    const auto rows = result.rows.find(table);
    text += fmt::format("{:<40} {} ({} {})\n", name, About(table),
                        rows == result.rows.end() ? 0 : rows->second, events ? "events" : "rows");
  }
  text += "\nTimes are wall clock, in microseconds.\n\n";
  if (profile.aged()) text += "Note: " + profile.AgedText() + ".\n";
  uint64_t lost = 0;
  for (const auto& loss : result.losses) lost += loss.records;
  if (lost == 0) {
    text += !profile.has_manifest() ? "Lost while recording: not known, the run left no manifest.\n"
            : profile.complete()    ? "Lost while recording: nothing.\n"
                                    : "Lost while recording: not known, the run was cut off.\n";
  } else {
    text += fmt::format("Lost while recording: {}{} records.\n", profile.complete() ? "" : "at least ", lost);
    for (const auto& loss : result.losses) {
      text +=
          fmt::format("  {}: {} of {}{}\n", loss.device < 0 ? "host" : fmt::format("device {}", loss.device),
                      loss.records, loss.where, loss.cause.empty() ? "" : " (" + loss.cause + ")");
    }
  }
  if (result.broken_records > 0) {
    text += fmt::format("Unreadable in the files: {} records.\n", result.broken_records);
  }
  if (!result.not_exported.empty()) {
    text += fmt::format("Recorded, and in none of these files: {}.\n", fmt::join(result.not_exported, ", "));
  }
  for (const auto& failure : result.failures)
    text += fmt::format("NOT MADE, or not whole: {}: {}\n", failure.tables, failure.text);
  if (!result.warnings.empty()) text += "Remarks:\n";
  for (const auto& warning : result.warnings) text += "  " + warning.Line() + "\n";
  if (result.simulated) text += "\n" + simulated;
  // Under a name of its own until it is whole, for exports of several timestamps may run at once.
  OutputFile file(output / fmt::format("README_{}.txt", timestamp));
  file.Write(text);
  file.CommitAs(output / "README.txt");
  return output / "README.txt";
}

}  // namespace npuprof::analysis
