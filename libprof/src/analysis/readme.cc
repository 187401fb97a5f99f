// SPDX-License-Identifier: Apache-2.0
#include "analysis/readme.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/text.h"

namespace npuprof::analysis {
namespace {

const char* About(const std::string& table) {
  if (table == "op_summary") return "operators that ran, one row per task, with their counters";
  if (table == "op_statistic") return "operators summed up by type";
  if (table == "task_time") return "every task the device ran";
  if (table == "api_statistic") return "calls of the host, summed up by name";
  if (table == "step_trace") return "training steps";
  return "timeline of host calls and device tasks, for Perfetto or chrome://tracing";
}

}  // namespace

std::filesystem::path WriteReadme(const std::filesystem::path& output, const Profile& profile,
                                  const ExportResult& result) {
  const std::string simulated =
      "SIMULATED: the device figures come from the simulated NPU and describe no real hardware.\n";
  std::string text;
  if (result.simulated) text += simulated + "\n";
  text += fmt::format("Exported from {}.\n\n", profile.name());
  for (const auto& path : result.files) {
    const std::string name = path.filename().string();
    std::string table = name.substr(0, name.rfind('_'));
    if (table == "msprof") table = "timeline";
    const auto rows = result.rows.find(table);
    text +=
        fmt::format("{:<40} {} ({} {})\n", name, About(table), rows == result.rows.end() ? 0 : rows->second,
                    table == "timeline" ? "events" : "rows");
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
  if (!result.warnings.empty()) text += "Remarks:\n";
  for (const auto& warning : result.warnings) text += "  " + warning.Line() + "\n";
  if (result.simulated) text += "\n" + simulated;
  OutputFile file(output / "README.txt");
  file.Write(text);
  file.Commit();
  return output / "README.txt";
}

}  // namespace npuprof::analysis
