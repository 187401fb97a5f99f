// SPDX-License-Identifier: Apache-2.0
// Memory of the device: traffic of the main memory and of the last-level cache, and what is in use.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "analysis/names.h"
#include "analysis/record_reader.h"
#include "analysis/samples/jobs.h"

namespace npuprof::analysis {
namespace {

constexpr RecordFormat kBandwidthFormat{24, false, 0, 0};
constexpr RecordFormat kMemoryFormat{32, false, 0, 0};
constexpr RecordFormat kModuleFormat{24, false, 0, 0};
constexpr double kMegabyte = 1 << 20;
constexpr double kHbmBytes = 32;  // that one count of hbm.data stands for
// Bytes that a count of llc.data stands for in the published analyses. Of the reference NPU it is known to be a
// request of 64 bytes.
constexpr double kLlcBytes = 4096, kReferenceLlcBytes = 64;
constexpr unsigned kLlcEvents = 8;

void CheckVersion(const SampleRun& run, const DeviceInfo& device) {
  const Metadata info = run.Info(device);
  const std::string version = info.Text("version", "1.0");
  if (version != "1.0") info.Fail("version", fmt::format("is \"{}\"; samples of \"1.0\" are read", version));
}

/// Seconds since the last sample of a unit, 0 at the first one. False if time does not rise.
class Intervals {
 public:
  bool Take(int64_t wall_ns, double* seconds) {
    const bool rises = !last_ || wall_ns > *last_;
    *seconds = last_ && rises ? static_cast<double>(wall_ns - *last_) / 1e9 : 0.0;
    if (rises) last_ = wall_ns;
    return rises;
  }

 private:
  std::optional<int64_t> last_;
};

}  // namespace

void HbmTable(SampleRun& run) {
  SampleTable& table = run.Table("hbm", {"Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"});
  run.EachDevice({"hbm.data"}, [&](const SampleDevice& device) {
    CheckVersion(run, device.info);
    struct Direction {
      Intervals intervals;
      double sum = 0;
      uint64_t samples = 0;
    };
    std::map<uint32_t, std::array<Direction, 2>> units;
    Counters counters = run.Layer(Timeline::kHbm, &device.info);
    constexpr std::array<const char*, 2> kNames = {"Read", "Write"};
    RecordReader reader(run.File(device.info, "hbm.data"), kBandwidthFormat, run.in.diagnostics,
                        device.progress);
    while (const uint8_t* record = reader.Next()) {
      const auto event = Get<uint32_t>(record, 16), unit = Get<uint32_t>(record, 20);
      if (event >= kNames.size()) {
        reader.Broken(fmt::format("event {}; 0 (read) and 1 (write) are known", event));
        continue;
      }
      Direction& direction = units[unit][event];
      const int64_t wall = device.times.Microseconds(Get<uint64_t>(record, 0));
      double seconds;
      if (!direction.intervals.Take(wall, &seconds)) {
        reader.Broken("a sample that is no later than the one before it");
        continue;
      }
      const double rate =
          seconds > 0 ? static_cast<double>(Get<uint64_t>(record, 8)) * kHbmBytes / kMegabyte / seconds : 0;
      direction.sum += rate;
      ++direction.samples;
      run.Stored("HBM", {device.info.id, wall, rate * kMegabyte, unit, event == 0 ? "read" : "write"});
      counters.Add(fmt::format("HBM {}/{}", unit, kNames[event]), wall,
                   {{fmt::format("{}(MB/s)", kNames[event]), rate}});
    }
    std::array<double, 2> sums{};
    std::array<uint64_t, 2> samples{};
    for (const auto& [unit, directions] : units) {
      for (size_t i = 0; i < sums.size(); ++i) {
        sums[i] += directions[i].sum;
        samples[i] += directions[i].samples;
      }
    }
    if (units.empty()) return;
    table.Row({device.id(), "Average", Mean(sums[0], samples[0]), Mean(sums[1], samples[1])});
    for (const auto& [unit, directions] : units) {
      table.Row({device.id(), std::to_string(unit), Mean(directions[0].sum, directions[0].samples),
                 Mean(directions[1].sum, directions[1].samples)});
    }
  });
}

void LlcTable(SampleRun& run) {
  SampleTable& table =
      run.Table("llc_read_write", {"Device_id", "Mode", "Task", "Hit Rate(%)", "Throughput(MB/s)"});
  run.EachDevice({"llc.data"}, [&](const SampleDevice& device) {
    CheckVersion(run, device.info);
    const Metadata sample = run.Sample(device.info);
    const std::string mode = sample.Text("llc_profiling");
    if (mode != "read" && mode != "write")
      sample.Fail("llc_profiling", fmt::format("is '{}'; read and write are known", mode));
    const std::string title = mode == "read" ? "Read" : "Write";
    const double bytes = device.info.simulated ? kReferenceLlcBytes : kLlcBytes;
    struct Unit {
      Intervals intervals;
      uint64_t time = 0;
      std::array<uint64_t, kLlcEvents> counts{};
      unsigned have = 0;
      double hit_rates = 0, throughputs = 0;
      uint64_t samples = 0;
    };
    std::map<uint32_t, Unit> units;
    Counters counters = run.Layer(Timeline::kLlc, &device.info);
    const auto complete = [&](uint32_t number, Unit* unit) {
      const int64_t wall = device.times.Microseconds(unit->time);
      double seconds;
      if (!unit->intervals.Take(wall, &seconds)) return false;
      const auto& counts = unit->counts;
      const uint64_t hits = counts[2] + counts[3] + counts[5] + counts[7], all = counts[4] + counts[6];
      // More hits than requests contradict each other, and say nothing.
      const double hit_rate =
          all > 0 && hits <= all ? static_cast<double>(hits) * 100 / static_cast<double>(all) : 0;
      const double throughput =
          seconds > 0 ? static_cast<double>(counts[0] + counts[1]) * bytes / kMegabyte / seconds : 0;
      unit->hit_rates += hit_rate;
      unit->throughputs += throughput;
      ++unit->samples;
      unit->counts = {};
      unit->have = 0;
      run.Stored("LLC", {device.info.id, number, wall, hit_rate, std::llround(throughput * kMegabyte), mode});
      counters.Add(fmt::format("LLC {} {}/Hit Rate", number, title), wall, {{"Hit Rate(%)", hit_rate}});
      counters.Add(fmt::format("LLC {} {}/Throughput", number, title), wall,
                   {{"Throughput(MB/s)", throughput}});
      return true;
    };
    RecordReader reader(run.File(device.info, "llc.data"), kBandwidthFormat, run.in.diagnostics,
                        device.progress);
    constexpr const char* kLate = "a sample that is no later than the one before it";
    while (const uint8_t* record = reader.Next()) {
      const auto event = Get<uint32_t>(record, 16), number = Get<uint32_t>(record, 20);
      if (event >= kLlcEvents) {
        reader.Broken(fmt::format("event {}; 0 to {} are known", event, kLlcEvents - 1));
        continue;
      }
      Unit& unit = units[number];
      const auto time = Get<uint64_t>(record, 0);
      if (unit.have != 0 && time != unit.time && !complete(number, &unit)) reader.Broken(kLate);
      unit.time = time;
      unit.counts[event] = Get<uint64_t>(record, 8);
      unit.have |= 1u << event;
    }
    double hit_rates = 0, throughputs = 0;
    uint64_t samples = 0;
    for (auto& [number, unit] : units) {
      if (unit.have != 0) complete(number, &unit);
      hit_rates += unit.hit_rates;
      throughputs += unit.throughputs;
      samples += unit.samples;
    }
    if (units.empty()) return;
    table.Row({device.id(), mode, "Average", Mean(hit_rates, samples), Mean(throughputs, samples)});
    for (const auto& [number, unit] : units) {
      table.Row({device.id(), mode, std::to_string(number), Mean(unit.hit_rates, unit.samples),
                 Mean(unit.throughputs, unit.samples)});
    }
  });
}

void NpuMemoryTable(SampleRun& run) {
  SampleTable& table =
      run.Table("npu_mem", {"Device_id", "event", "ddr(KB)", "hbm(KB)", "memory(KB)", "timestamp(us)"});
  run.EachDevice({"npu_mem.data", "npu_mem.app"}, [&](const SampleDevice& device) {
    CheckVersion(run, device.info);
    Counters counters = run.Layer(Timeline::kNpuMemory, &device.info);
    constexpr std::array<const char*, 2> kEvents = {"APP", "Device"};
    for (const char* kind : {"npu_mem.data", "npu_mem.app"}) {
      RecordReader reader(run.File(device.info, kind), kMemoryFormat, run.in.diagnostics, device.progress);
      uint64_t wraps = 0;
      uint32_t last = 0;
      while (const uint8_t* record = reader.Next()) {
        const auto time = Get<uint32_t>(record, 0), event = Get<uint32_t>(record, 4);
        if (event >= kEvents.size()) {
          reader.Broken(fmt::format("event {}; 0 (process) and 1 (device) are known", event));
          continue;
        }
        // 32 bits of microseconds come round after 71 minutes.
        if (time < last && last - time > UINT32_MAX / 2) ++wraps;
        last = time;
        const int64_t wall = device.times.Microseconds(wraps << 32 | time);
        const auto ddr = Get<uint64_t>(record, 16), hbm = Get<uint64_t>(record, 24);
        table.Row({device.id(), kEvents[event], std::to_string(ddr / 1024), std::to_string(hbm / 1024),
                   std::to_string((ddr + hbm) / 1024), Micros(wall) + '\t'});
        run.Stored("NPU_MEM", {event == 0 ? "app" : "device", ddr, hbm, wall, device.info.id});
        const auto kilobytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1024; };
        counters.Add(fmt::format("{}/DDR", kEvents[event]), wall, {{"KB", kilobytes(ddr)}});
        counters.Add(fmt::format("{}/HBM", kEvents[event]), wall, {{"KB", kilobytes(hbm)}});
        counters.Add(fmt::format("{}/Memory", kEvents[event]), wall, {{"KB", kilobytes(ddr + hbm)}});
      }
    }
  });
}

void ModuleMemoryTable(SampleRun& run) {
  SampleTable& table = run.Table("npu_module_mem",
                                 {"Device_id", "Component", "Timestamp(us)", "Total Reserved(KB)", "Device"});
  run.EachDevice({"npu_module_mem.data"}, [&](const SampleDevice& device) {
    if (!run.in.profile.has_host())
      throw Error("times of npu_module_mem.data are the host's, of which nothing is there");
    const HostClock clock(run.in.profile);
    RecordReader reader(run.File(device.info, "npu_module_mem.data"), kModuleFormat, run.in.diagnostics,
                        device.progress);
    while (const uint8_t* record = reader.Next()) {
      const auto module = Get<uint32_t>(record, 0);
      const int64_t wall = clock.Wall(Get<uint64_t>(record, 8));
      const auto reserved = Get<uint64_t>(record, 16);
      table.Row({device.id(), ModuleName(module), Micros(wall) + '\t', std::to_string(reserved / 1024),
                 "NPU:" + device.id()});
      run.Stored("NPU_MODULE_MEM", {module, wall, reserved, device.info.id});
    }
  });
}

}  // namespace npuprof::analysis
