// SPDX-License-Identifier: Apache-2.0
#include "analysis/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "database/analyze.h"
#include "database/export.h"
#include "npuprof/commands.h"
#include "npuprof/error.h"
#include "npuprof/interruption.h"
#include "npuprof/manifest.h"
#include "npuprof/output.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

using nlohmann::json;

struct Options {
  std::string directory;
  std::string output;
  std::vector<std::string> formats;
  uint64_t memory_mib = 0;
  bool json = false;
};

// The most memory that this process ever had, 0 if the system does not tell.
uint64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

constexpr const char *kDatabase = "db", *kCommunication = "communication",
                     *kCommunicationDb = "communication-db";

std::vector<std::string> Formats() {
  std::vector<std::string> formats = analysis::KnownFormats();
  formats.insert(formats.end(), {kDatabase, kCommunication, kCommunicationDb});
  return formats;
}

void CheckFormats(const std::vector<std::string>& formats) {
  const auto known = Formats();
  for (const std::string& format : formats) {
    if (std::find(known.begin(), known.end(), format) == known.end()) {
      throw Error(fmt::format("'{}' is no export format; known are {}", format, fmt::join(known, ", ")),
                  kUsage);
    }
  }
}

json ToJson(const analysis::ExportResult& result) {
  json out = {{"simulated", result.simulated},
              {"files", json::array()},
              {"rows", result.rows},
              {"devices", json::array()},
              {"broken_records", result.broken_records},
              {"losses", json::array()},
              {"not_exported", result.not_exported},
              {"failures", json::array()},
              {"warnings", json::array()}};
  for (const auto& file : result.files) out["files"].push_back(file.string());
  for (const analysis::DeviceCounts& d : result.devices) {
    out["devices"].push_back({{"device", d.device},
                              {"task_starts", d.task_starts},
                              {"task_ends", d.task_ends},
                              {"tasks", d.tasks},
                              {"unpaired", d.unpaired},
                              {"tracked", d.tracked},
                              {"operators", d.operators},
                              {"pmu_records", d.pmu_records},
                              {"pmu_matched", d.pmu_matched},
                              {"block_records", d.block_records}});
  }
  for (const analysis::Loss& l : result.losses) {
    out["losses"].push_back(
        {{"device", l.device}, {"where", l.where}, {"cause", l.cause}, {"records", l.records}});
  }
  for (const analysis::ExportFailure& f : result.failures)
    out["failures"].push_back({{"tables", f.tables}, {"reason", f.text}});
  for (const analysis::Warning& w : result.warnings) out["warnings"].push_back(w.Line());
  return out;
}

std::string LostAltogether(const analysis::Profile& profile, const analysis::ExportResult& result) {
  if (!profile.has_manifest()) return "losses unknown: the directory has no manifest of npuprof";
  uint64_t lost = 0;
  for (const analysis::Loss& l : result.losses) lost += l.records;
  return fmt::format("lost {}{} records", profile.complete() ? "" : "at least ", Count(lost));
}

void Print(const analysis::ExportResult& result, const std::string& aged, const std::string& lost_altogether,
           uint64_t elapsed_ns) {
  const bool colour = WantsColour(stdout);
  const std::string mark = Paint(kSimulatedMark, Style::kWarn, colour) + "\n";
  if (result.simulated) fmt::print("{}", mark);
  for (const auto& file : result.files) fmt::print("{}\n", file.string());
  if (!aged.empty()) fmt::print("{}\n", Paint(aged, Style::kWarn, colour));
  std::vector<std::string> rows;
  for (const auto& [table, count] : result.rows) rows.push_back(fmt::format("{} {}", table, Count(count)));
  if (!rows.empty()) fmt::print("rows: {}\n", fmt::join(rows, ", "));
  for (const analysis::DeviceCounts& d : result.devices) {
    fmt::print(
        "device {}: {} tasks ({} started, {} ended, {} without partner), {} operators, {} of {} counter "
        "records joined\n",
        d.device, Count(d.tasks), Count(d.task_starts), Count(d.task_ends), Count(d.unpaired),
        Count(d.operators), Count(d.pmu_matched), Count(d.pmu_records));
  }
  for (const analysis::Loss& l : result.losses) {
    fmt::print("{}\n", Paint(fmt::format("lost: {} records of {}{}{}", Count(l.records),
                                         l.device < 0 ? "the host, " : fmt::format("device {}, ", l.device),
                                         l.where, l.cause.empty() ? "" : " (" + l.cause + ")"),
                             Style::kBad, colour));
  }
  if (result.broken_records > 0) {
    fmt::print("{}\n", Paint(fmt::format("unreadable: {} records", Count(result.broken_records)), Style::kBad,
                             colour));
  }
  for (const analysis::ExportFailure& f : result.failures)
    fmt::print("{}\n",
               Paint(fmt::format("not made, or not whole: {}: {}", f.tables, f.text), Style::kBad, colour));
  const auto said = [&](const analysis::Warning& w) {
    return std::any_of(result.failures.begin(), result.failures.end(), [&](const analysis::ExportFailure& f) {
      return f.tables == w.file && f.text == w.text;
    });
  };
  for (const analysis::Warning& w : result.warnings)
    if (!said(w)) fmt::print("{}\n", Paint("warning: " + w.Line(), Style::kWarn, colour));
  if (!result.not_exported.empty())
    fmt::print("recorded, and in no table or timeline: {}\n", fmt::join(result.not_exported, ", "));
  fmt::print("exported in {}, {}\n", Duration(elapsed_ns), lost_altogether);
  if (result.simulated) fmt::print("{}", mark);
}

void AddDatabase(const analysis::Profile& profile, const analysis::ExportOptions& request, bool alone,
                 analysis::ExportResult* result) {
  const database::Result made = database::Export(profile, request);
  result->files.push_back(made.path);
  if (made.kept) {
    result->warnings.push_back({made.path.string(), 0, 0, "is complete already and was left as it is"});
    return;
  }
  uint64_t rows = 0;
  for (const auto& [table, count] : made.rows) rows += count;
  result->rows[kDatabase] = rows;
  result->failures.insert(result->failures.end(), made.failures.begin(), made.failures.end());
  analysis::AddFailures(made.unusable, &result->failures);
  if (!alone) return;  // the same records have been reported
  result->broken_records = made.broken_records;
  result->warnings.insert(result->warnings.end(), made.warnings.begin(), made.warnings.end());
}

// What the analysis writes, and the formats that need SQLite.
// A stage that fails costs itself, unless nothing else was wanted. `kept` tells at any time what is there.
analysis::ExportResult ExportAll(const analysis::Profile& profile, analysis::ExportOptions request,
                                 std::vector<std::filesystem::path>* kept) {
  const bool database = std::erase(request.formats, kDatabase) > 0;
  const bool text = std::erase(request.formats, kCommunication) > 0;
  const bool communication = std::erase(request.formats, kCommunicationDb) > 0 || text;
  const bool alone = (database || communication) && request.formats.empty();
  analysis::ExportResult result;
  const auto stage = [&](const char* what, const auto& make) {
    try {
      make();
    } catch (const analysis::Error& error) {
      if (alone && !(database && communication)) throw;
      result.failures.push_back({what, error.what()});
    }
    *kept = result.files;
  };
  if (!alone) {
    result = analysis::Export(profile, request);
  } else {
    result.simulated = profile.simulated();
    result.losses = profile.losses();
    result.warnings = profile.warnings();
    analysis::AddFailures(profile.failures(), &result.failures);
  }
  *kept = result.files;
  if (database) stage(kDatabase, [&] { AddDatabase(profile, request, alone, &result); });
  const auto analyse = [&] {
    const database::Analysis analysis = database::Analyze(profile, request, text);
    result.files.insert(result.files.end(), analysis.files.begin(), analysis.files.end());
    result.rows[kCommunication] = analysis.operators;
    analysis::AddFailures(analysis.unusable, &result.failures);
  };
  if (communication) stage(kCommunication, analyse);
  if (database || communication) {
    std::erase_if(result.not_exported, [](const std::string& base) {
      return base.ends_with(".hccl_info") || base.ends_with(".hccl_op_info") ||
             base.ends_with(".mc2_comm_info");
    });
  }
  return result;
}

int Export(const Options& options) {
  CheckFormats(options.formats);
  const auto begin = std::chrono::steady_clock::now();
  analysis::ExportResult result;
  std::string lost_altogether;
  bool losses_known = false;
  std::string aged;
  json aged_json;
  {
    const Interruption interruption;
    const analysis::Profile profile = analysis::Profile::Open(options.directory);
    Progress progress("exporting");
    analysis::ExportOptions request;
    request.output = options.output;
    request.formats = options.formats;
    request.memory = options.memory_mib << 20;
    request.progress = [&](const std::string& stage, uint64_t done, uint64_t total) {
      progress.Update(done, total, stage);
    };
    std::vector<std::filesystem::path> kept;
    request.check = [&] {
      if (const int signal = interruption.signal(); signal != 0) {
        std::vector<std::string> names;
        for (const auto& file : kept) names.push_back(file.string());
        throw Error(names.empty()
                        ? fmt::format("interrupted by {}; nothing of the export was kept", SignalName(signal))
                        : fmt::format("interrupted by {}; of the export there is only {}", SignalName(signal),
                                      fmt::join(names, ", ")),
                    128 + signal);
      }
    };
    result = ExportAll(profile, request, &kept);
    lost_altogether = LostAltogether(profile, result);
    aged = profile.AgedText();
    if (profile.aged()) {
      aged_json = {{"records", profile.aged()->records},
                   {"bytes", profile.aged()->bytes},
                   {"slices", profile.aged()->slices},
                   {"collection_starts_us", profile.aged()->complete_from_us}};
    }
    losses_known = profile.has_manifest() && profile.complete();
  }
  if (options.json) {
    json out = ToJson(result);
    out["losses_known"] = losses_known;
    out["peak_memory_bytes"] = PeakMemory();
    if (!aged_json.is_null()) out["aged"] = aged_json;
    fmt::print("{}\n", JsonText(out));
  } else {
    Print(result, aged, lost_altogether,
          (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1));
  }
  return result.failures.empty() ? 0 : 1;
}

}  // namespace

void AddExport(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Turn a PROF_* directory into tables and a timeline.");
  command->add_option("PROF_DIR", options->directory, "A PROF_* directory, or a directory with exactly one")
      ->required();
  command->add_option(
      "--output", options->output,
      "Where to write (default: PROF_DIR/mindstudio_profiler_output, of the database PROF_DIR itself)");
  command
      ->add_option("--format", options->formats,
                   fmt::format("Comma list of {} (default: {})", fmt::join(Formats(), ", "),
                               fmt::join(analysis::DefaultFormats(), ",")))
      ->delimiter(',');
  command
      ->add_option("--memory", options->memory_mib,
                   "MiB of records to hold before temporary files beside the results are used (default: 48)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_flag("--json", options->json, "Print the result as JSON");
  command->footer(
      "Examples:\n"
      "  npuprof export out/PROF_000001_*\n"
      "  npuprof export out --format csv --output tables\n"
      "  npuprof export out --format perfetto\n"
      "  npuprof export out --format csv,json,db\n"
      "  npuprof export out --json | jq .rows\n"
      "Tables: " +
      fmt::format("{}", fmt::join(analysis::KnownTables(), ", ")) +
      ".\n"
      "The timeline opens in ui.perfetto.dev, as JSON (msprof_*.json) also in chrome://tracing; \"perfetto\" "
      "writes\n"
      "the same as msprof_*.pftrace, a fraction of the size.\n"
      "\"db\" writes the published SQLite database, msprof_*.db. A complete one that is there is left as it "
      "is.");
  command->callback([options, &action] { action = [options] { return Export(*options); }; });
}

}  // namespace npuprof::cli
