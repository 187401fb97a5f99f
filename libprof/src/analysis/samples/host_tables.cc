// SPDX-License-Identifier: Apache-2.0
// What the profiled process used of its machine: processors, memory, network and disk. Of each the table tells the peak
// and what is recommended, so that the peak takes 80 % of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/samples/jobs.h"
#include "analysis/samples/line_reader.h"

namespace npuprof::analysis {
namespace {

constexpr double kShareOfRecommended = 0.8;
constexpr double kPageKilobytes = 4;

// Host samples tell CLOCK_MONOTONIC_RAW in ns.
int64_t Wall(const SampleRun& run, uint64_t ns) {
  return static_cast<int64_t>(ns) + run.in.profile.host_anchor().wall_minus_raw_ns;
}

/// "time <ns>" begins a sample.
bool ReadTime(std::string_view line, uint64_t* ns) {
  const auto words = Words(line);
  if (words.size() != 2 || words[0] != "time") return false;
  const auto value = ParseUnsigned(words[1]);
  if (value) *ns = *value;
  return value.has_value();
}

struct Thread {
  uint64_t ticks = 0;
  uint64_t cpu = 0;
};

// A line of /proc/<pid>/task/<tid>/stat. The name may hold blanks and parentheses.
bool ReadThread(std::string_view line, uint64_t* id, Thread* thread) {
  constexpr size_t kUser = 11, kSystem = 12, kProcessor = 36;  // after the name
  const size_t name = line.find(" ("), end = line.rfind(')');
  if (name == std::string_view::npos || end == std::string_view::npos) return false;
  const auto words = Words(line.substr(end + 1));
  if (words.size() <= kProcessor) return false;
  const auto number = ParseUnsigned(line.substr(0, name)), user = ParseUnsigned(words[kUser]),
             system = ParseUnsigned(words[kSystem]), cpu = ParseUnsigned(words[kProcessor]);
  if (!number || !user || !system || !cpu) return false;
  *id = *number;
  *thread = {*user + *system, *cpu};
  return true;
}

using Threads = std::map<uint64_t, Thread>;

class CpuSamples {
 public:
  CpuSamples(const SampleRun& run, uint64_t cpus, uint64_t ticks_per_second)
      : run_(run),
        counters_(run.Layer(Timeline::kCpuUsage, nullptr)),
        cpus_(cpus),
        ticks_per_second_(static_cast<double>(ticks_per_second)) {}

  void Take(uint64_t ns, Threads threads) {
    if (have_before_ && ns > before_ns_) Interval(ns, threads);
    before_ns_ = ns;
    before_ = std::move(threads);
    have_before_ = true;
  }
  size_t occupied() const { return occupied_.size(); }
  bool any() const { return have_before_; }

 private:
  // What a thread did is told of the processor where it was in the end.
  void Interval(uint64_t ns, const Threads& threads) {
    std::map<uint64_t, double> usage;
    double all = 0;
    for (const auto& [id, thread] : threads) {
      const auto before = before_.find(id);
      const uint64_t then = before == before_.end() ? 0 : before->second.ticks;
      const uint64_t ticks = thread.ticks > then ? thread.ticks - then : 0;
      const double seconds = static_cast<double>(ns - before_ns_) / 1e9;
      const double share = static_cast<double>(ticks) * 100 / (seconds * ticks_per_second_);
      usage[thread.cpu] += share;
      all += share;
      if (ticks > 0) occupied_.insert(thread.cpu);
    }
    const int64_t wall = Wall(run_, before_ns_);  // a step from the beginning of the interval
    counters_.Add("CPU Avg", wall, {{"Usage(%)", cpus_ == 0 ? 0 : all / static_cast<double>(cpus_)}});
    for (const auto& [cpu, share] : usage) run_.Stored("CPU_USAGE", {wall, cpu, share});
    for (const auto& [cpu, share] : usage)
      counters_.Add(fmt::format("CPU {}", cpu), wall, {{"Usage(%)", share}});
  }

  const SampleRun& run_;
  Counters counters_;
  uint64_t cpus_;
  double ticks_per_second_;
  std::set<uint64_t> occupied_;
  Threads before_;
  uint64_t before_ns_ = 0;
  bool have_before_ = false;
};

}  // namespace

void HostCpuTable(SampleRun& run) {
  SampleTable& table = run.Table(
      "host_cpu_usage", {"Device_id", "Total Cpu Numbers", "Occupied Cpu Numbers", "Recommend Cpu Numbers"});
  const Slices& slices = run.HostFile("host_cpu.data");
  if (TotalBytes(slices) == 0) return;
  const Metadata info = run.HostInfo();
  const uint64_t cpus = info.Number("cpuNums"), rate = info.Number("sysClockFreq");
  if (rate == 0) info.Fail("sysClockFreq", "is 0; ticks per second are needed");
  CpuSamples samples(run, cpus, rate);
  LineReader reader(slices, run.in.diagnostics, run.in.progress("host"));
  std::optional<uint64_t> now;
  bool uptime = false;
  Threads threads;
  std::string_view line;
  while (reader.Next(&line)) {
    uint64_t value = 0;
    Thread thread;
    if (ReadTime(line, &value)) {
      if (now) samples.Take(*now, std::move(threads));
      threads.clear();
      now = value;
      uptime = true;  // the line that follows tells the time since the boot, in less detail
    } else if (uptime && Words(line).size() == 2) {
      uptime = false;
    } else if (!now || !ReadThread(line, &value, &thread)) {
      reader.Broken("a line that is neither a time nor a thread");
    } else {
      threads[value] = thread;
    }
  }
  if (now) samples.Take(*now, std::move(threads));
  if (!samples.any()) return;
  const std::string occupied = std::to_string(samples.occupied());
  table.Row({"host", std::to_string(cpus), occupied, occupied});
}

void HostMemoryTable(SampleRun& run) {
  SampleTable& table = run.Table(
      "host_mem_usage", {"Device_id", "Total Memory(KB)", "Peak Used Memory(KB)", "Recommend Memory(KB)"});
  const Slices& slices = run.HostFile("host_mem.data");
  if (TotalBytes(slices) == 0) return;
  const Metadata info = run.HostInfo();
  const uint64_t total = info.Number("memoryTotal");
  if (total == 0) info.Fail("memoryTotal", "is 0; kilobytes of the machine are needed");
  Counters counters = run.Layer(Timeline::kMemoryUsage, nullptr);
  LineReader reader(slices, run.in.diagnostics, run.in.progress("host"));
  double peak = 0;
  std::optional<uint64_t> before;
  std::string_view line;
  while (reader.Next(&line)) {
    const auto numbers = Numbers(line);  // time, then statm: size, resident, ...
    if (numbers.size() < 3) {
      reader.Broken("a line that is not a time and pages");
      continue;
    }
    // Published with six decimals, and the peak is made of that.
    const double share =
        std::round(static_cast<double>(numbers[2]) * kPageKilobytes * 1e8 / static_cast<double>(total)) / 1e6;
    peak = std::max(peak, share);
    if (before) {
      const int64_t wall = Wall(run, *before);
      run.Stored("HOST_MEM_USAGE", {wall, share});
      counters.Add("Memory Usage", wall, {{"Usage(%)", share}});
    }
    before = numbers[0];
  }
  if (!before) return;
  const double kilobytes = peak * static_cast<double>(total) / 100;
  table.Row({"host", std::to_string(total), Decimal(kilobytes), Decimal(kilobytes / kShareOfRecommended)});
}

void HostNetworkTable(SampleRun& run) {
  SampleTable& table = run.Table("host_network_usage", {"Device_id", "Netcard Speed(KB/s)",
                                                        "Peak Used Speed(KB/s)", "Recommend Speed(KB/s)"});
  const Slices& slices = run.HostFile("host_network.data");
  if (TotalBytes(slices) == 0) return;
  const Metadata info = run.HostInfo();
  double speed = 0;  // KB/s
  std::set<std::string, std::less<>> cards;
  const auto list = info.object().find("netCard");
  if (list == info.object().end() || !list->is_array()) info.Fail("netCard", "is no list");
  for (const auto& card : *list) {
    if (!card.is_object() || !card.contains("speed") || !card["speed"].is_number()) continue;
    const auto megabits = card["speed"].get<double>();
    if (megabits <= 0) continue;  // not known
    speed += megabits * 1e6 / 8 / 1024;
    cards.insert(card.value("netCardName", ""));
  }
  Counters counters = run.Layer(Timeline::kNetworkUsage, nullptr);
  LineReader reader(slices, run.in.diagnostics, run.in.progress("host"));
  struct Moment {
    uint64_t ns = 0, bytes = 0;
  };
  std::optional<Moment> before, now;
  double peak = 0;
  const auto complete = [&] {
    if (before && now && now->ns > before->ns && now->bytes >= before->bytes && speed > 0) {
      const double rate = static_cast<double>(now->bytes - before->bytes) / 1024 /
                          (static_cast<double>(now->ns - before->ns) / 1e9);
      peak = std::max(peak, rate);
      const int64_t wall = Wall(run, before->ns);
      run.Stored("HOST_NETWORK_USAGE", {wall, rate * 100 / speed, rate * 1024});
      counters.Add("Network Usage", wall, {{"Usage(%)", rate * 100 / speed}});
    }
    before = now;
  };
  std::string_view line;
  while (reader.Next(&line)) {
    constexpr size_t kColumns = 16, kReceived = 0, kSent = 8;
    uint64_t ns = 0;
    if (ReadTime(line, &ns)) {
      complete();
      now = Moment{ns, 0};
      continue;
    }
    const size_t colon = line.find(':');
    const auto words = Words(line.substr(0, colon));
    const auto numbers =
        colon == std::string_view::npos ? std::vector<uint64_t>() : Numbers(line.substr(colon + 1));
    if (!now || words.size() != 1 || numbers.size() < kColumns) {
      reader.Broken("a line that is neither a time nor a network card");
      continue;
    }
    if (cards.contains(words[0])) now->bytes += numbers[kReceived] + numbers[kSent];
  }
  complete();
  if (!now) return;
  const bool known = speed > 0;
  table.Row({"host", ShortDecimal(speed), known ? Decimal(peak) : "N/A",
             known ? Decimal(peak / kShareOfRecommended) : "N/A"});
}

void HostDiskTable(SampleRun& run) {
  SampleTable& table =
      run.Table("host_disk_usage", {"Device_id", "Peak Disk Read(KB/s)", "Recommend Disk Read(KB/s)",
                                    "Peak Disk Write(KB/s)", "Recommend Disk Write(KB/s)"});
  LineReader reader(run.HostFile("host_disk.data"), run.in.diagnostics, run.in.progress("host"));
  double read = 0, write = 0;
  bool any = false;
  std::string_view line;
  while (reader.Next(&line)) {
    // "<tid> <priority> <user> <read> K/s <write> K/s ..."
    constexpr size_t kRead = 3, kWrite = 5;
    const auto words = Words(line);
    if (words.empty() || words[0] == "start_time") continue;
    char* end = nullptr;
    const auto number = [&](size_t place) {
      const std::string word(words[place]);
      const double value = std::strtod(word.c_str(), &end);
      return *end == '\0' && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
    };
    const bool form = words.size() > kWrite + 1 && words[kRead + 1] == "K/s" && words[kWrite + 1] == "K/s";
    const auto in = form ? number(kRead) : std::nullopt, out = form ? number(kWrite) : std::nullopt;
    if (!in || !out) {
      reader.Broken("a line without the rates of reading and writing in K/s");
      continue;
    }
    read = std::max(read, *in);
    write = std::max(write, *out);
    any = true;
  }
  if (!any) return;
  table.Row({"host", Decimal(read), Decimal(read / kShareOfRecommended), Decimal(write),
             Decimal(write / kShareOfRecommended)});
}

}  // namespace npuprof::analysis
