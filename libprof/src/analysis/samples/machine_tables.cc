// SPDX-License-Identifier: Apache-2.0
// What operating systems tell of their processors and memory: that of a device and that of the host, both in the words
// of /proc; and media engines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/samples/jobs.h"
#include "analysis/samples/line_reader.h"

namespace npuprof::analysis {
namespace {

constexpr std::string_view kTime = "TimeStamp:";

/// Time since the boot that processors spent, in ticks.
struct CpuTimes {
  uint64_t user = 0, system = 0, io = 0, irq = 0, soft = 0, idle = 0, all = 0;
  CpuTimes& operator+=(const CpuTimes& other) {
    user += other.user;
    system += other.system;
    io += other.io;
    irq += other.irq;
    soft += other.soft;
    idle += other.idle;
    all += other.all;
    return *this;
  }
  CpuTimes Since(const CpuTimes& before) const {
    const auto rise = [](uint64_t now, uint64_t then) { return now > then ? now - then : 0; };
    CpuTimes since{rise(user, before.user), rise(system, before.system), rise(io, before.io),
                   rise(irq, before.irq),   rise(soft, before.soft),     rise(idle, before.idle)};
    since.all = rise(all, before.all);
    return since;
  }
};

// "cpu3 <user> <nice> <system> <idle> <iowait> <irq> <softirq> ..."
bool ReadCpu(std::string_view line, std::string_view* name, CpuTimes* times) {
  const auto words = Words(line);
  if (words.size() < 8 || !words[0].starts_with("cpu")) return false;
  std::vector<uint64_t> values;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto value = ParseUnsigned(words[i]);
    if (!value) return false;
    values.push_back(*value);
  }
  *name = words[0];
  *times = {values[0] + values[1], values[2], values[4], values[5], values[6], values[3], 0};
  for (const uint64_t value : values) times->all += value;
  return true;
}

void CpuRow(SampleTable* table, std::string_view device, std::string_view type, const CpuTimes& times) {
  const auto share = [&](uint64_t part) {
    return Decimal(times.all == 0 ? 0 : static_cast<double>(part) * 100 / static_cast<double>(times.all));
  };
  table->Row({device, type, share(times.user), share(times.system), share(times.io), share(times.irq),
              share(times.soft), share(times.idle)});
}

// "0,1,2" to "cpu0", "cpu1", "cpu2".
std::vector<std::string> CpuNames(const std::string& list) {
  std::vector<std::string> names;
  for (std::string_view rest = list; !rest.empty();) {
    const auto item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (const auto number = ParseUnsigned(item)) names.push_back(fmt::format("cpu{}", *number));
  }
  return names;
}

void ReadDeviceCpus(SampleRun& run, SampleTable* table, const SampleDevice& device) {
  const Metadata chip = run.Info(device.info).First("DeviceInfo");
  const std::array<std::pair<const char*, std::vector<std::string>>, 2> groups = {
      {{"aicpu", CpuNames(chip.Text("ai_cpu", ""))}, {"ctrlcpu", CpuNames(chip.Text("ctrl_cpu", ""))}}};
  std::array<CpuTimes, 2> sums;
  LineReader reader(run.File(device.info, "SystemCpuUsage.data"), run.in.diagnostics, device.progress);
  std::string_view line, name;
  CpuTimes times;
  while (reader.Next(&line)) {
    if (!line.starts_with("cpu")) continue;
    if (!ReadCpu(line, &name, &times)) {
      reader.Broken("a line that does not tell what a processor did");
      continue;
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto& cpus = groups[i].second;
      if (std::find(cpus.begin(), cpus.end(), name) != cpus.end()) sums[i] += times;
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (sums[i].all > 0) CpuRow(table, device.id(), groups[i].first, sums[i]);
  }
}

// All processors of the host together, from the first sample to the last.
void ReadHostCpus(SampleRun& run, SampleTable* table) {
  std::optional<CpuTimes> first;
  CpuTimes last;
  LineReader reader(run.HostFile("host_sys_cpu.data"), run.in.diagnostics, run.in.progress("host"));
  std::string_view line, name;
  while (reader.Next(&line)) {
    if (!line.starts_with("cpu")) continue;
    CpuTimes times;
    if (!ReadCpu(line, &name, &times)) {
      reader.Broken("a line that does not tell what a processor did");
      continue;
    }
    if (name != "cpu") continue;
    if (!first) first = times;
    last = times;
  }
  if (first) CpuRow(table, "host", "cpu", last.Since(*first));
}

constexpr std::array<std::string_view, 9> kMemoryKeys = {"MemTotal",     "MemFree",         "Buffers",
                                                         "Cached",       "Shmem",           "CommitLimit",
                                                         "Committed_AS", "HugePages_Total", "HugePages_Free"};

void ReadMemory(SampleTable* table, std::string_view device, LineReader* reader) {
  std::array<uint64_t, kMemoryKeys.size()> sums{}, counts{};
  std::string_view line;
  while (reader->Next(&line)) {
    const size_t colon = line.find(':');
    if (line.starts_with(kTime) || colon == std::string_view::npos) continue;
    const auto key = std::find(kMemoryKeys.begin(), kMemoryKeys.end(), line.substr(0, colon));
    if (key == kMemoryKeys.end()) continue;
    const auto words = Words(line.substr(colon + 1));
    const auto value = words.empty() ? std::nullopt : ParseUnsigned(words[0]);
    if (!value) {
      reader->Broken("a line without its number");
      continue;
    }
    const auto i = static_cast<size_t>(key - kMemoryKeys.begin());
    sums[i] += *value;
    ++counts[i];
  }
  if (counts[0] == 0) return;
  std::array<std::string, kMemoryKeys.size()> means;
  for (size_t i = 0; i < means.size(); ++i)
    means[i] = counts[i] == 0 ? "N/A" : std::to_string(sums[i] / counts[i]);
  table->Row(
      {device, means[0], means[1], means[2], means[3], means[4], means[5], means[6], means[7], means[8]});
}

}  // namespace

void CpuUsageTable(SampleRun& run) {
  SampleTable& table = run.Table("cpu_usage", {"Device_id", "Cpu Type", "User(%)", "Sys(%)", "IoWait(%)",
                                               "Irq(%)", "Soft(%)", "Idle(%)"});
  ReadHostCpus(run, &table);
  run.EachDevice({"SystemCpuUsage.data"},
                 [&](const SampleDevice& device) { ReadDeviceCpus(run, &table, device); });
}

void SystemMemoryTable(SampleRun& run) {
  SampleTable& table =
      run.Table("sys_mem", {"Device_id", "Memory Total(kB)", "Memory Free(kB)", "Buffers(kB)", "Cached(kB)",
                            "Share Memory(kB)", "Commit Limit(kB)", "Committed AS(kB)",
                            "Huge Pages Total(pages)", "Huge Pages Free(pages)"});
  LineReader host(run.HostFile("host_sys_mem.data"), run.in.diagnostics, run.in.progress("host"));
  ReadMemory(&table, "host", &host);
  run.EachDevice({"Memory.data"}, [&](const SampleDevice& device) {
    LineReader reader(run.File(device.info, "Memory.data"), run.in.diagnostics, device.progress);
    ReadMemory(&table, device.id(), &reader);
  });
}

void DvppTable(SampleRun& run) {
  SampleTable& table = run.Table("dvpp", {"Device_id", "Dvpp Id", "Engine Type", "Engine ID", "All Time(us)",
                                          "All Frame", "All Utilization(%)"});
  run.EachDevice({"dvpp.data"}, [&](const SampleDevice& device) {
    constexpr std::array<const char*, 7> kTypes = {"VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC", "SCD"};
    constexpr size_t kColumns = 12;
    struct Engine {
      uint64_t time = 0, frames = 0, shares = 0, samples = 0;
    };
    std::map<std::array<uint64_t, 3>, Engine> engines;
    LineReader reader(run.File(device.info, "dvpp.data"), run.in.diagnostics, device.progress);
    std::string_view text;
    while (reader.Next(&text)) {
      if (IsHeading(text)) continue;
      auto words = Words(text);
      std::array<uint64_t, kColumns> line{};
      bool whole = words.size() == line.size();
      for (size_t i = 1; whole && i < line.size(); ++i) {  // the time has no place in the table
        if (words[i].ends_with('%')) words[i].remove_suffix(1);
        const auto value = ParseUnsigned(words[i]);
        whole = value.has_value();
        line[i] = value.value_or(0);
      }
      if (!whole) {
        reader.Broken(fmt::format("a line that is not {} values", kColumns));
        continue;
      }
      Engine& engine = engines[{line[1], line[2], line[3]}];
      engine.time = std::max(engine.time, line[4]);  // both run on
      engine.frames = std::max(engine.frames, line[5]);
      engine.shares += line[6];
      ++engine.samples;
    }
    for (const auto& [place, engine] : engines) {
      const std::string type = place[1] < kTypes.size() ? kTypes[place[1]] : std::to_string(place[1]);
      table.Row({device.id(), std::to_string(place[0]), type, std::to_string(place[2]),
                 Decimal(static_cast<double>(engine.time)), Decimal(static_cast<double>(engine.frames)),
                 ShortDecimal(static_cast<double>(engine.shares) / static_cast<double>(engine.samples))});
    }
  });
}

}  // namespace npuprof::analysis
