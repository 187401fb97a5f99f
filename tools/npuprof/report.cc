// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/insight/insight.h"
#include "npuprof/commands.h"
#include "npuprof/error.h"
#include "npuprof/insight_json.h"
#include "npuprof/manifest.h"
#include "npuprof/output.h"
#include "npuprof/page.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

using analysis::Cause;

constexpr size_t kTopOperators = 15, kSteps = 10, kLongest = 5;

struct Options {
  std::string directory, html;
  bool json = false, page = false;
};

std::string Time(int64_t ns) {
  return Duration(static_cast<uint64_t>(std::max<int64_t>(ns, 0)));
}

std::string Percent(int64_t part, int64_t whole) {
  return fmt::format("{:.1f} %",
                     whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0);
}

std::string Share(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}%", *value * 100) : "-";
}

const char* Words(Cause cause) {
  switch (cause) {
    case Cause::kHostLate:
      return "host launches late";
    case Cause::kSynchronising:
      return "host synchronises";
    case Cause::kCollectiveWait:
      return "waiting for another rank";
    case Cause::kCommunication:
      return "communication";
    case Cause::kCopy:
      return "copies and data input";
    case Cause::kUnknown:
      break;
  }
  return "unknown";
}

void PrintDevice(const analysis::DeviceInsight& device, bool colour) {
  const int64_t window = device.time.window_ns;
  fmt::print("\n{}\n", Paint(fmt::format("device {}: {} operators in {}", device.device,
                                         Count(device.operators), Time(window)),
                             Style::kBold, colour));
  if (window == 0) return;
  Table table({"WHERE THE TIME WENT", "TIME", "SHARE", "GAPS"});
  table.Add({"computing", Time(device.time.compute_ns), Percent(device.time.compute_ns, window), "-"});
  for (size_t i = 0; i < analysis::kCauses; ++i) {
    if (device.time.idle[i] == 0 && device.gap_counts[i] == 0) continue;
    table.Add({Words(static_cast<Cause>(i)), Time(device.time.idle[i]), Percent(device.time.idle[i], window),
               Count(device.gap_counts[i])});
  }
  table.Add({"between tasks", Time(device.time.between_ns), Percent(device.time.between_ns, window), "-"});
  fmt::print("{}", table.Render(colour));
  const auto& overlap = device.overlap;
  if (overlap.communication_ns > 0) {
    fmt::print("communication {}: {} beside computing, {} exposed\n", Time(overlap.communication_ns),
               Percent(overlap.communication_ns - overlap.exposed_ns, overlap.communication_ns),
               Time(overlap.exposed_ns));
  }
  int64_t idle = 0, span = 0;
  for (const auto& phase : device.phases) {
    idle += phase.idle_ns;
    span += phase.end_ns - phase.begin_ns;
  }
  if (span > 0) {
    fmt::print("{}\n",
               Paint(fmt::format("host-bound: {} phases of together {}, in which the device waited {}",
                                 device.phases.size(), Time(span), Time(idle)),
                     Style::kWarn, colour));
  }
}

void PrintGaps(const analysis::Insight& insight, bool colour) {
  std::vector<std::pair<int, const analysis::Gap*>> gaps;
  for (const auto& device : insight.devices) {
    for (const auto& gap : device.gaps) gaps.emplace_back(device.device, &gap);
  }
  if (gaps.empty()) return;
  std::stable_sort(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) {
    return a.second->end_ns - a.second->begin_ns > b.second->end_ns - b.second->begin_ns;
  });
  Table table({"LONGEST GAPS", "DEVICE", "AT", "CAUSE", "BEFORE"});
  for (size_t i = 0; i < std::min(kLongest, gaps.size()); ++i) {
    const auto& [id, gap] = gaps[i];
    int64_t begin = gap->begin_ns;
    for (const auto& device : insight.devices) begin = std::min(begin, device.begin_ns);
    std::string cause = Words(gap->cause);
    if (gap->straggler >= 0) cause += fmt::format(" (device {})", gap->straggler);
    table.Add({Time(gap->end_ns - gap->begin_ns), std::to_string(id), Time(gap->begin_ns - begin), cause,
               gap->next.empty() ? "-" : gap->next});
  }
  fmt::print("\n{}", table.Render(colour));
}

void PrintOperators(const analysis::Insight& insight, bool colour) {
  std::vector<const analysis::OperatorSum*> order;
  int64_t all = 0;
  for (const auto& op : insight.operators) {
    order.push_back(&op);
    all += op.total_ns;
  }
  if (order.empty()) return;
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->total_ns > b->total_ns; });
  Table table({"OPERATOR", "TYPE", "DEVICE", "COUNT", "TOTAL", "SHARE", "BOUND", "CUBE", "VECTOR", "MTE2",
               "OF ROOF"});
  for (size_t i = 0; i < std::min(kTopOperators, order.size()); ++i) {
    const auto& op = *order[i];
    const auto busy = [&](analysis::Pipe pipe) { return Share(op.busy[static_cast<size_t>(pipe)]); };
    table.Add({op.name, op.type, std::to_string(op.device), Count(op.count), Time(op.total_ns),
               Percent(op.total_ns, all), BoundName(op.bound), busy(analysis::Pipe::kCube),
               busy(analysis::Pipe::kVector), busy(analysis::Pipe::kMte2),
               op.rate && op.roof && *op.roof > 0 ? Share(*op.rate / *op.roof) : "-"});
  }
  fmt::print("\n{}", table.Render(colour));
  if (order.size() > kTopOperators) fmt::print("and {} more; --json has all\n", order.size() - kTopOperators);
}

void PrintSteps(const analysis::Insight& insight, bool colour) {
  size_t all = 0;
  Table table({"STEP", "DEVICE", "LASTS", "COMPUTING", "COMMUNICATION", "COPIES", "HOST", "OTHER"});
  for (const auto& device : insight.devices) {
    for (const auto& step : device.steps) {
      if (++all > kSteps) continue;
      const auto& time = step.time;
      const auto idle = [&](Cause cause) { return time.idle[static_cast<size_t>(cause)]; };
      const int64_t communication = idle(Cause::kCollectiveWait) + idle(Cause::kCommunication);
      const int64_t host = idle(Cause::kHostLate) + idle(Cause::kSynchronising);
      table.Add({std::to_string(step.index), std::to_string(device.device), Time(step.end_ns - step.begin_ns),
                 Percent(time.compute_ns, time.window_ns), Percent(communication, time.window_ns),
                 Percent(idle(Cause::kCopy), time.window_ns), Percent(host, time.window_ns),
                 Percent(idle(Cause::kUnknown) + time.between_ns, time.window_ns)});
    }
  }
  if (all == 0) return;
  fmt::print("\n{}", table.Render(colour));
  if (all > kSteps) fmt::print("and {} more; --json has all\n", all - kSteps);
}

void PrintRanks(const analysis::Insight& insight, bool colour) {
  if (insight.ranks.size() < 2) return;
  Table table({"RANK ON DEVICE", "COLLECTIVES", "CAME LAST", "WAITED", "HELD OTHERS UP"});
  for (const auto& rank : insight.ranks) {
    table.Add({std::to_string(rank.device), Count(rank.collectives), Count(rank.last), Time(rank.waiting_ns),
               Time(rank.held_up_ns)});
  }
  fmt::print("\n{}", table.Render(colour));
}

void Print(const analysis::Profile& profile, const analysis::Insight& insight, const std::string& page) {
  const bool colour = WantsColour(stdout);
  const std::string mark = Paint(kSimulatedMark, Style::kWarn, colour) + "\n";
  if (profile.simulated()) fmt::print("{}", mark);
  fmt::print("{}{}\n", profile.name(), profile.command().empty() ? "" : ": " + profile.command());
  if (profile.aged()) fmt::print("{}\n", Paint(profile.AgedText(), Style::kWarn, colour));
  for (const auto& device : insight.devices) PrintDevice(device, colour);
  PrintGaps(insight, colour);
  PrintOperators(insight, colour);
  PrintSteps(insight, colour);
  PrintRanks(insight, colour);
  fmt::print("\n");
  for (const auto& text : insight.missing)
    fmt::print("{}\n", Paint("not collected: " + text, Style::kWarn, colour));
  for (const auto& warning : insight.warnings)
    fmt::print("{}\n", Paint("warning: " + warning.Line(), Style::kWarn, colour));
  if (!page.empty()) fmt::print("page: {}\n", page);
  if (!profile.has_manifest())
    fmt::print("losses unknown: the directory has no manifest of npuprof\n");
  else
    fmt::print(
        "lost {}{} records{}\n", profile.complete() ? "" : "at least ", Count(profile.lost()),
        insight.broken_records > 0 ? fmt::format(", {} unreadable", Count(insight.broken_records)) : "");
  if (profile.simulated()) fmt::print("{}", mark);
}

int Report(const Options& options) {
  if (options.page && options.html.empty()) throw Error("--html needs the name of a file", kUsage);
  const analysis::Profile profile = analysis::Profile::Open(options.directory);
  analysis::Insight insight;
  {
    Progress progress("reading");
    analysis::InsightOptions request;
    request.overview = !options.html.empty();
    request.progress = [&](const std::string& stage, uint64_t done, uint64_t total) {
      progress.Update(done, total, stage);
    };
    insight = analysis::Analyse(profile, request);
  }
  if (!options.html.empty()) WritePage(options.html, profile, insight);
  if (options.json)
    fmt::print("{}\n", JsonText(ToJson(profile, insight)));
  else
    Print(profile, insight, options.html);
  return insight.failures.empty() ? 0 : 1;
}

}  // namespace

void AddReport(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Say where the time of a PROF_* directory went, and why.");
  command->add_option("PROF_DIR", options->directory, "A PROF_* directory, or a directory with exactly one")
      ->required();
  command->add_flag("--json", options->json, "Print everything as JSON");
  command
      ->add_option("--html", options->html,
                   "Also write a page with plots and tables that needs no other file")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  npuprof report out\n"
      "  npuprof report out --html report.html\n"
      "  npuprof report out --json | jq '.devices[].time'\n"
      "docs/insight.md says how each figure is computed.");
  command->callback([command, options, &action] {
    options->page = command->count("--html") > 0;
    action = [options] { return Report(*options); };
  });
}

}  // namespace npuprof::cli
