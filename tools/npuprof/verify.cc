// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/last_writes.h"
#include "npuprof/commands.h"
#include "npuprof/error.h"
#include "npuprof/manifest.h"
#include "npuprof/output.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

using analysis::FileCheck;
using analysis::State;
using analysis::Verification;
using nlohmann::json;

/// Exit statuses of verify beside those of every command.
constexpr int kIncomplete = 3;  ///< aged or lossy: what is there is whole
constexpr int kBroken = 4;      ///< torn or damaged

/// How long writes of a process that was killed may take.
constexpr std::chrono::seconds kLastWrites{10};

struct Options {
  std::string directory;
  bool json = false;
  bool slices = false;
  bool dry = false;
};

Style StyleOf(State state) {
  return state == State::kComplete ? Style::kGood : state < State::kTorn ? Style::kWarn : Style::kBad;
}

json ToJson(const Verification& found) {
  json out = {{"path", found.path.string()},    {"state", analysis::StateName(found.state)},
              {"manifest", found.has_manifest}, {"stopped", found.stopped},
              {"repaired", found.repaired},     {"simulated", found.simulated},
              {"problems", found.problems},     {"files", json::array()}};
  for (const FileCheck& file : found.files) {
    json node = {{"path", file.path},
                 {"state", analysis::StateName(file.state)},
                 {"records", file.records},
                 {"bytes", file.bytes},
                 {"aged_records", file.aged_records},
                 {"aged_slices", file.aged_slices},
                 {"lost", file.lost},
                 {"problems", file.problems},
                 {"slices", json::array()}};
    for (const analysis::SliceCheck& slice : file.slices) {
      json entry = {{"name", slice.name},
                    {"state", analysis::StateName(slice.state)},
                    {"bytes", slice.bytes},
                    {"whole_bytes", slice.whole_bytes},
                    {"records", slice.records},
                    {"crc32c", fmt::format("{:08x}", slice.crc32c)},
                    {"crc_was_noted", slice.listed},
                    {"done", slice.has_note}};
      if (!slice.problem.empty()) entry["problem"] = slice.problem;
      node["slices"].push_back(std::move(entry));
    }
    out["files"].push_back(std::move(node));
  }
  return out;
}

std::string Remark(const FileCheck& file) {
  std::vector<std::string> all = file.problems;
  for (const auto& slice : file.slices) {
    if (!slice.problem.empty())
      all.push_back(slice.name.substr(slice.name.rfind('.') + 1) + " " + slice.problem);
  }
  if (all.empty() && file.aged_slices > 0) {
    all.push_back(
        fmt::format("{} records in {} slices aged out", Count(file.aged_records), Count(file.aged_slices)));
  }
  if (all.empty()) return "";
  return all.size() == 1 ? all[0] : fmt::format("{} (and {} more, see --json)", all[0], all.size() - 1);
}

void Print(const Verification& found, bool slices) {
  const bool colour = WantsColour(stdout);
  const std::string mark = Paint(kSimulatedMark, Style::kWarn, colour) + "\n";
  if (found.simulated) fmt::print("{}", mark);
  Table table({"FILE", "STATE", "SLICES", "SUMS", "RECORDS", "LOST", "SIZE", "REMARK"});
  for (const FileCheck& file : found.files) {
    const auto noted =
        std::count_if(file.slices.begin(), file.slices.end(), [](const auto& s) { return s.listed; });
    const auto agree = std::count_if(file.slices.begin(), file.slices.end(),
                                     [](const auto& s) { return s.listed && s.state != State::kDamaged; });
    table.Add({file.path, analysis::StateName(file.state), Count(file.slices.size()),
               noted == 0 ? "-" : fmt::format("{}/{}", agree, noted), Count(file.records), Count(file.lost),
               Bytes(file.bytes), Remark(file)});
  }
  fmt::print("{}", table.Render(colour));
  if (slices) {
    Table each({"SLICE", "STATE", "RECORDS", "BYTES", "CRC-32C", "NOTED"});
    for (const FileCheck& file : found.files) {
      for (const auto& s : file.slices) {
        each.Add({s.name, analysis::StateName(s.state), Count(s.records), Count(s.bytes),
                  fmt::format("{:08x}", s.crc32c), s.listed ? "yes" : "no"});
      }
    }
    fmt::print("\n{}", each.Render(colour));
  }
  for (const std::string& problem : found.problems) fmt::print("{}\n", problem);
  // What is cut off stays so; what is there can be made whole, unless it is.
  const bool mendable =
      found.state == State::kTorn && !analysis::RepairDirectory(found, true).actions.empty();
  fmt::print("{}: {}{}\n", found.path.string(),
             Paint(analysis::StateName(found.state), StyleOf(found.state), colour),
             mendable ? "; npuprof repair makes it whole" : "");
  if (found.simulated) fmt::print("{}", mark);
}

int StatusOf(State state) {
  return state == State::kComplete ? 0 : state < State::kTorn ? kIncomplete : kBroken;
}

Verification Look(const std::filesystem::path& path) {
  Progress progress("checking");
  uint64_t done = 0;
  return analysis::Verify(path, [&](uint64_t bytes) { progress.Update(done += bytes, 0); });
}

int VerifyCommand(const Options& options) {
  const auto path = analysis::FindForVerify(options.directory);
  // Of what runs, the state of this moment is asked for; of what ended, the last one.
  if (!analysis::Writer(path)) static_cast<void>(analysis::AwaitLastWrites(path, kLastWrites));
  const Verification found = Look(path);
  if (options.json) {
    fmt::print("{}\n", JsonText(ToJson(found)));
  } else {
    Print(found, options.slices);
  }
  return StatusOf(found.state);
}

int RepairCommand(const Options& options) {
  const auto path = analysis::FindForVerify(options.directory);
  if (const auto pid = analysis::Writer(path)) {
    throw Error(
        fmt::format("{} is being written by process {}; stop profiling there first", path.string(), *pid));
  }
  if (const auto slice = analysis::AwaitLastWrites(path, kLastWrites)) {
    throw Error(fmt::format(
        "{} of {} is still being written, though no process profiles into it; repair it once that has ended",
        *slice, path.string()));
  }
  const Verification before = Look(path);
  const analysis::Repair repair = analysis::RepairDirectory(before, options.dry);
  const Verification after = options.dry ? before : Look(path);
  // Cut off it stays: what the process had not written is not there. But all that is there is whole.
  const bool damaged = after.state == State::kDamaged;
  if (options.json) {
    fmt::print("{}\n", JsonText({{"path", path.string()},
                                 {"dry_run", options.dry},
                                 {"actions", repair.actions},
                                 {"cut_slices", repair.cut_slices},
                                 {"cut_bytes", repair.cut_bytes},
                                 {"state_before", analysis::StateName(before.state)},
                                 {"state", analysis::StateName(after.state)}}));
  } else {
    const bool colour = WantsColour(stdout);
    for (const std::string& action : repair.actions)
      fmt::print("{}{}\n", options.dry ? "would have " : "", action);
    if (repair.actions.empty()) fmt::print("nothing to repair\n");
    fmt::print("{}: {}\n", path.string(),
               Paint(analysis::StateName(after.state), StyleOf(after.state), colour));
    if (damaged && !options.dry) {
      fmt::print("{}\n",
                 Paint("what is damaged was left as it is; npuprof verify names it", Style::kBad, colour));
    }
  }
  return damaged ? kBroken : 0;
}

}  // namespace

void AddVerify(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("verify", "Check every byte of a PROF_* directory against what was noted.");
  command->add_option("PROF_DIR", options->directory, "A PROF_* directory, or a directory with exactly one")
      ->required();
  command->add_flag("--slices", options->slices, "Show each slice with its checksum");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "States: complete, aged (the oldest was removed to keep a limit), lossy (records were lost while\n"
      "collecting), torn (collection was cut off), damaged (changed or removed afterwards).\n"
      "Exit status: 0 complete, 3 aged or lossy, 4 torn or damaged, 1 if it could not be checked.\n"
      "Examples:\n"
      "  npuprof verify out/PROF_000001_*\n"
      "  npuprof verify out --json | jq '.files[] | select(.state != \"complete\")'");
  command->callback([options, &action] { action = [options] { return VerifyCommand(*options); }; });
}

void AddRepair(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("repair", "Make a PROF_* directory readable whose process was killed.");
  command->add_option("PROF_DIR", options->directory, "A PROF_* directory, or a directory with exactly one")
      ->required();
  command->add_flag("-n,--dry-run", options->dry, "Say what would be done, and do nothing");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Cuts slices to their whole records, writes missing .done notes, removes half-written files.\n"
      "Exit status: 0 if all that is there is whole now, 4 if something is damaged, 1 if it could not be "
      "done.\n"
      "Examples:\n"
      "  npuprof repair out/PROF_000001_*\n"
      "  npuprof repair --dry-run out");
  command->callback([options, &action] { action = [options] { return RepairCommand(*options); }; });
}

}  // namespace npuprof::cli
