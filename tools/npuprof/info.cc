// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "npuprof/commands.h"
#include "npuprof/devices.h"
#include "npuprof/directories.h"
#include "npuprof/error.h"
#include "npuprof/names.h"
#include "npuprof/output.h"
#include "npuprof/patience.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

using nlohmann::json;

struct Options {
  std::string directory;
  bool device = false;
  bool json = false;
};

/// The library sets this bit in every session; it says nothing about what was asked for.
constexpr uint64_t kImplied = uint64_t{1} << 62;

void Line(std::string_view name, std::string_view value) {
  if (!value.empty()) fmt::print("{:<14}{}\n", name, value);
}

std::string Causes(const json& by_cause) {
  std::vector<std::string> out;
  for (const auto& [cause, records] : by_cause.items()) {
    if (records.get<uint64_t>() > 0) out.push_back(cause + " " + Count(records.get<uint64_t>()));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

// Rings of cores that lost nothing, by channel and kind of core.
struct WholeRings {
  uint64_t cores = 0, records = 0;
};

void PrintRings(const json& manifest, bool colour) {
  Table table({"DEVICE", "RING", "CHANNEL", "CORE", "RECORDS", "KEPT", "LOST", "CAUSES"});
  bool any = false;
  for (const json& device : manifest.value("devices", json::array())) {
    const std::string id = std::to_string(device.value("id", 0));
    std::map<std::pair<std::string, std::string>, WholeRings> whole;
    for (const json& ring : device.value("rings", json::array())) {
      const std::string kind = ring.value("core_kind", "none"), channel = ring.value("channel", "");
      const uint64_t records = ring.value("records", uint64_t{0}), lost = ring.value("lost", uint64_t{0});
      if (records == 0) continue;
      any = true;
      // A profile of 72 cores has more rings than a screen has lines; those with a loss are named.
      if (kind != "none" && lost == 0) {
        WholeRings& sum = whole[{channel, kind}];
        ++sum.cores;
        sum.records += records;
        continue;
      }
      table.Add({id, std::to_string(ring.value("ring", 0)), channel,
                 kind == "none" ? "-" : fmt::format("{} {}", kind, ring.value("core", 0)), Count(records),
                 Count(ring.value("kept", uint64_t{0})), Count(lost),
                 Causes(ring.value("lost_by_cause", json::object()))});
    }
    for (const auto& [key, sum] : whole) {
      table.Add({id, "-", key.first, fmt::format("{} {}", sum.cores, key.second), Count(sum.records),
                 Count(sum.records), "0", ""});
    }
  }
  if (any) fmt::print("\n{}", table.Render(colour));
  Table host({"HOST DATA", "RECORDS", "LOST"});
  any = false;
  for (const json& kind : manifest.value("host", json::object()).value("kinds", json::array())) {
    any = true;
    host.Add({kind.value("kind", ""), Count(kind.value("records", uint64_t{0})),
              Count(kind.value("lost", uint64_t{0}))});
  }
  if (any) fmt::print("\n{}", host.Render(colour));
}

// Where in the window records of the host are missing.
void PrintHostLosses(const json& manifest, bool colour) {
  const json losses = manifest.value("host", json::object()).value("losses", json::array());
  if (losses.empty()) return;
  const uint64_t begin =
      manifest.value("window", json::object()).value("begin_monotonic_raw_ns", uint64_t{0});
  const auto at = [&](const json& loss, const char* key) {
    const uint64_t time = loss.value(key, uint64_t{0});
    return Duration(time > begin ? time - begin : 0);
  };
  Table table({"HOST LOSSES OF THREAD", "LOST", "CAUSE", "FROM", "TO"});
  for (const json& loss : losses) {
    const json thread = loss.value("thread", json());
    table.Add({thread.is_string() ? thread.get<std::string>() : thread.dump(),
               Count(loss.value("count", uint64_t{0})), loss.value("cause", ""),
               at(loss, "first_monotonic_raw_ns"), at(loss, "last_monotonic_raw_ns")});
  }
  fmt::print("\n{}", table.Render(colour));
}

// "npuprof 0.1.0, driver interface 0.1, ..." of all that took part.
std::string Versions(const json& manifest) {
  const json versions = manifest.value("versions", json::object());
  std::string line = "npuprof " + manifest.value("npuprof", "unknown");
  if (versions.contains("abi")) line += ", driver interface " + versions.value("abi", "");
  if (versions.contains("record_formats")) {
    line += fmt::format(", record formats {}", versions.value("record_formats", 0));
  }
  if (versions.contains("file_formats")) line += ", file formats " + versions.value("file_formats", "");
  if (const std::string runtime = versions.value("runtime", ""); !runtime.empty()) {
    line += ", runtime " + runtime;
  }
  return line;
}

void PrintDrivers(const json& manifest) {
  for (const json& device : manifest.value("devices", json::array())) {
    const json driver = device.value("driver", json::object());
    if (!driver.contains("abi")) continue;
    const std::string version = driver.value("version", "");
    Line("", fmt::format("device {}: {}, driver {}, interface {}, record formats {}", device.value("id", 0),
                         device.value("name", ""), version.empty() ? "of unknown version" : version,
                         driver.value("abi", ""), driver.value("record_formats", 0)));
  }
}

void PrintFiles(const analysis::Profile& profile, bool colour) {
  if (profile.files().empty()) return;
  Table table({"FILE", "RECORDS", "SIZE", "SLICES"});
  for (const analysis::DataFile& file : profile.files()) {
    table.Add({file.path, file.record_bytes ? Count(file.records) : "-", Bytes(file.bytes),
               std::to_string(file.slices)});
  }
  fmt::print("\n{}", table.Render(colour));
}

json ProfileJson(const analysis::Profile& profile, const std::optional<Manifest>& manifest) {
  json out = {{"path", profile.path().string()},
              {"pid", profile.pid()},
              {"process", profile.process_name()},
              {"command", profile.command()},
              {"hostname", profile.hostname()},
              {"platform_version", profile.platform_version()},
              {"begin_us", profile.begin_us()},
              {"host_hz", profile.host_hz()},
              {"simulated", profile.simulated()},
              {"complete", profile.complete()},
              {"lost", profile.lost()},
              {"devices", json::array()},
              {"files", json::array()},
              {"losses", json::array()},
              {"warnings", json::array()}};
  if (profile.end_us()) out["end_us"] = *profile.end_us();
  for (const analysis::DeviceInfo& d : profile.devices()) {
    json device = {{"id", d.id},
                   {"backend", d.backend},
                   {"simulated", d.simulated},
                   {"clock_hz", d.clock_hz},
                   {"cube_cores", d.cube_cores},
                   {"vector_cores", d.vector_cores},
                   {"cube_mhz", d.cube_mhz},
                   {"mode", d.mode},
                   {"cube_metrics", d.cube_metrics},
                   {"vector_metrics", d.vector_metrics}};
    if (d.tasks) {
      device["tasks"] = {{"started", d.tasks->started},
                         {"ended", d.tasks->ended},
                         {"straddling_start", d.tasks->straddling_start},
                         {"straddling_stop", d.tasks->straddling_stop}};
    }
    out["devices"].push_back(std::move(device));
  }
  for (const analysis::DataFile& f : profile.files()) {
    out["files"].push_back(
        {{"path", f.path}, {"slices", f.slices}, {"bytes", f.bytes}, {"records", f.records}});
  }
  for (const analysis::Loss& l : profile.losses()) {
    out["losses"].push_back(
        {{"device", l.device}, {"where", l.where}, {"cause", l.cause}, {"records", l.records}});
  }
  for (const analysis::Warning& w : profile.warnings()) out["warnings"].push_back(w.Line());
  if (profile.aged()) {
    out["aged"] = {{"records", profile.aged()->records},
                   {"bytes", profile.aged()->bytes},
                   {"slices", profile.aged()->slices},
                   {"collection_starts_us", profile.aged()->complete_from_us}};
  }
  if (manifest) {
    if (const auto patience = PatienceOf(manifest->json())) out["stalled_disk"] = patience->Json();
    out["manifest"] = manifest->json();
  }
  return out;
}

/// The decoder repeats the messages of the manifest, which are shown with the records already.
bool SaidByManifest(const analysis::Warning& warning, const Manifest& manifest) {
  const auto& lines = manifest.complaints();
  return warning.file.empty() && std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
           return line.ends_with(": " + warning.text);
         });
}

void PrintProfile(const analysis::Profile& profile, const std::optional<Manifest>& manifest) {
  const bool colour = WantsColour(stdout);
  const std::string mark = Paint(kSimulatedMark, Style::kWarn, colour) + "\n";
  if (profile.simulated()) fmt::print("{}", mark);
  Line("directory", profile.path().string());
  Line("program", profile.command().empty() ? profile.process_name() : profile.command());
  Line("process", fmt::format("{} on {}", profile.pid(), profile.hostname()));
  Line("started", LocalTime(profile.begin_us()));
  if (profile.end_us() && *profile.end_us() >= profile.begin_us()) {
    Line("window", Duration((*profile.end_us() - profile.begin_us()) * 1000));
  }
  if (profile.aged()) Line("aged out", Paint(profile.AgedText(), Style::kWarn, colour));
  if (!profile.complete()) Line("state", Paint("incomplete: profiling was not stopped", Style::kBad, colour));
  for (const analysis::DeviceInfo& d : profile.devices()) {
    Line(
        fmt::format("device {}", d.id),
        fmt::format("{} cube and {} vector cores at {:.0f} MHz, clock {:.3g} MHz, {} {}{}{}", d.cube_cores,
                    d.vector_cores, d.cube_mhz, static_cast<double>(d.clock_hz) / 1e6, d.mode, d.cube_metrics,
                    d.backend.empty() ? "" : ", backend " + d.backend, d.simulated ? " (simulated)" : ""));
    if (d.tasks) {
      Line("", fmt::format("{} tasks started, {} ended, {} running at start, {} running at stop",
                           Count(d.tasks->started), Count(d.tasks->ended), Count(d.tasks->straddling_start),
                           Count(d.tasks->straddling_stop)));
    }
  }
  if (manifest) {
    const json& m = manifest->json();
    const std::string mask = m.value("data_types", "");
    if (mask.starts_with("0x")) Line("data types", DataTypeNames(std::stoull(mask, nullptr, 16) & ~kImplied));
    Line("versions", Versions(m));
    PrintDrivers(m);
    const json drain = m.value("drain", json::object());
    const std::string reason = drain.value("reason", "");
    Line("drain", drain.value("path", "") + (reason.empty() ? "" : " (" + reason + ")"));
    if (const auto patience = PatienceOf(m)) Line("stalled disk", patience->Text());
    const json cost = m.value("cost", json::object());
    Line("cost", fmt::format("{} CPU in the drain, {} wakeups, {} written, start {}, stop {}",
                             Duration(cost.value("drain_cpu_ns", uint64_t{0})),
                             Count(cost.value("wakeups", uint64_t{0})),
                             Bytes(cost.value("bytes_written", uint64_t{0})),
                             Duration(cost.value("start_ns", uint64_t{0})),
                             Duration(cost.value("stop_ns", uint64_t{0}))));
    Line("records", Paint(LossLine(*manifest), manifest->lost() ? Style::kBad : Style::kGood, colour));
    for (const std::string& line : manifest->complaints()) Line("", Paint(line, Style::kWarn, colour));
    PrintRings(m, colour);
    PrintHostLosses(m, colour);
  } else {
    Line("records", "losses unknown: the directory has no manifest of npuprof");
  }
  PrintFiles(profile, colour);
  for (const analysis::Warning& w : profile.warnings()) {
    if (manifest && SaidByManifest(w, *manifest)) continue;
    fmt::print("{}\n", Paint("warning: " + w.Line(), Style::kWarn, colour));
  }
  if (profile.simulated()) fmt::print("{}", mark);
}

int Info(const Options& options) {
  if (options.device == !options.directory.empty()) {
    throw Error("info takes either one PROF_* directory or --device", kUsage);
  }
  if (options.device) return ShowDevices(options.json);
  const analysis::Profile profile = analysis::Profile::Open(options.directory);
  const std::optional<Manifest> manifest = Manifest::Read(profile.path());
  if (options.json) {
    fmt::print("{}\n", JsonText(ProfileJson(profile, manifest)));
  } else {
    const Error strange(fmt::format("'{}/npuprof/manifest.json' has a value of a wrong type or size",
                                    profile.path().string()));
    try {
      PrintProfile(profile, manifest);
    } catch (const json::exception&) {
      throw strange;
    } catch (const std::logic_error&) {  // of reading a number
      throw strange;
    }
  }
  return 0;
}

}  // namespace

void AddInfo(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("info", "Say what a PROF_* directory holds and lacks, or what devices there are.");
  command->add_option("PROF_DIR", options->directory, "A PROF_* directory, or a directory with exactly one");
  command->add_flag("--device", options->device, "Show the devices of this machine instead");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Examples:\n  npuprof info out/PROF_000001_*\n  npuprof info --json out | jq .losses\n  npuprof info "
      "--device");
  command->callback([options, &action] { action = [options] { return Info(*options); }; });
}

}  // namespace npuprof::cli
