// SPDX-License-Identifier: Apache-2.0
#include "trace/metadata.h"

#include <fmt/format.h>
#include <time.h>

#include "trace/json.h"

namespace npuprof::trace {
namespace {

std::string Hex(const std::vector<uint32_t>& events) {
  std::string text;
  for (const uint32_t event : events) text += fmt::format("{}0x{:x}", text.empty() ? "" : ",", event);
  return text;
}

std::string Megahertz(double mhz) {
  return mhz > 0 ? fmt::format("{:.6f}", mhz) : "";
}

const char* OnOff(bool on) {
  return on ? "on" : "off";
}

// Files of a device carry its id as suffix, those of the host carry none.
std::string Place(const ProfDirectory& directory, const char* name, std::optional<uint32_t> device) {
  if (!device) return fmt::format("{}/{}", directory.host(), name);
  return fmt::format("{}/{}.{}", directory.device(*device), name, *device);
}

Json DeviceInfo(const DeviceFacts& device) {
  std::string ai_cpus;
  uint64_t bitmap = 0;
  for (uint32_t cpu = 1; cpu <= device.ai_cpu_cores; ++cpu) {
    ai_cpus += fmt::format("{}{}", ai_cpus.empty() ? "" : ",", cpu);
    bitmap |= uint64_t{1} << (cpu & 63);
  }
  return {{"id", device.id},
          {"env_type", 3},
          {"ctrl_cpu_id", "TaishanV110"},
          {"ctrl_cpu_core_num", 1},
          {"ctrl_cpu_endian_little", 1},
          {"ts_cpu_core_num", 0},
          {"ai_cpu_core_num", device.ai_cpu_cores},
          {"ai_core_num", device.cube_cores},
          {"ai_cpu_core_id", 1},
          {"ai_core_id", 0},
          {"aicpu_occupy_bitmap", bitmap},
          {"ctrl_cpu", "0"},
          {"ai_cpu", ai_cpus},
          {"aiv_num", device.vector_cores},
          {"hwts_frequency", Megahertz(device.clock_mhz)},
          {"aic_frequency", fmt::format("{}", device.cube_mhz)},
          {"aiv_frequency", fmt::format("{}", device.vector_mhz)}};
}

std::string Date(uint64_t realtime_us) {
  const auto seconds = static_cast<time_t>(realtime_us / 1'000'000);
  tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, realtime_us % 1'000'000);
}

// Begin and end files have the same keys; those of the other end are empty.
Status WriteInstant(const std::string& path, const Instant& instant, bool begin) {
  const std::string date = Date(instant.realtime_us);
  const std::string time = fmt::format("{}", instant.realtime_us);
  const Json json = {{"collectionDateBegin", begin ? date : ""},
                     {"collectionDateEnd", begin ? "" : date},
                     {"collectionTimeBegin", begin ? time : ""},
                     {"collectionTimeEnd", begin ? "" : time},
                     {"clockMonotonicRaw", fmt::format("{}", instant.monotonic_raw_ns)}};
  return WriteWhole(path, json.Write(false), true);
}

uint64_t Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

Status WriteInfo(const ProfDirectory& directory, const HostFacts& host,
                 const std::optional<DeviceFacts>& device) {
  Json cards = Json::Array();
  for (const NetCard& card : host.net_cards) {
    cards.Add({{"netCardName", card.name}, {"speed", card.mbit_per_s}});
  }
  Json devices = Json::Array();
  if (device) devices.Add(DeviceInfo(*device));
  const Json cpu = {{"Id", 0},
                    {"Name", host.cpu_name},
                    {"Frequency", host.cycle_mhz > 0 ? fmt::format("{:.9f}", host.cycle_mhz) : ""},
                    {"Logical_CPU_Count", fmt::format("{}", host.cpus)},
                    {"Type", host.cpu_type}};
  Json cpus = Json::Array();
  cpus.Add(cpu);
  const Json json = {{"version", host.version},
                     {"jobInfo", host.job_info},
                     {"OS", host.os},
                     {"hostname", host.hostname},
                     {"hostUid", host.host_uid},
                     {"hwtype", host.hwtype},
                     {"devices", fmt::format("{}", device ? device->id : kHostId)},
                     {"platform", ""},
                     {"platform_version", host.platform_version},
                     {"pid", fmt::format("{}", host.pid)},
                     {"pid_name", host.process_name},
                     {"upTime", host.up_time},
                     {"memoryTotal", host.memory_kb},
                     {"cpuNums", host.cpus},
                     {"sysClockFreq", host.clock_ticks},
                     {"cpuCores", 1},
                     {"netCardNums", host.net_cards.size()},
                     {"rank_id", host.rank},
                     {"drvVersion", host.driver_version},
                     {"cannVersion", host.cann_version},
                     {"netCard", cards},
                     {"CPU", cpus},
                     {"DeviceInfo", devices}};
  const std::optional<uint32_t> id = device ? std::optional(device->id) : std::nullopt;
  return WriteWhole(Place(directory, "info.json", id), json.Write(false), true);
}

Status WriteSample(const ProfDirectory& directory, const SampleFacts& sample,
                   std::optional<uint32_t> device) {
  const char* mode = sample.sample_based ? "sample-based" : "task-based";
  const Json json = {{"devices", fmt::format("{}", device.value_or(kHostId))},
                     {"profLevel", ""},
                     {"prof_level", sample.level},
                     {"ai_core_profiling", OnOff(sample.cube)},
                     {"ai_core_profiling_mode", mode},
                     {"ai_core_metrics", sample.cube_metrics},
                     {"ai_core_profiling_events", Hex(sample.cube_events)},
                     {"aicore_sampling_interval", sample.cube_interval_ms},
                     {"aiv_profiling", OnOff(sample.vector)},
                     {"aiv_profiling_mode", mode},
                     {"aiv_metrics", sample.vector_metrics},
                     {"aiv_profiling_events", Hex(sample.vector_events)},
                     {"aiv_sampling_interval", sample.vector_interval_ms},
                     {"llc_profiling", sample.llc},
                     {"llc_profiling_events", sample.llc},
                     {"ddr_profiling_events", sample.ddr_events},
                     {"hbm_profiling_events", sample.hbm_events},
                     {"l2CacheTaskProfilingEvents", Hex(sample.l2_events)},
                     {"npuEvents", sample.npu_events},
                     {"qosEvents", sample.qos_events},
                     {"instrProfilingFreq", sample.instruction_frequency},
                     {"host_disk_freq", sample.host_disk_hz},
                     {"host_sys_pid", sample.host_sys_pid},
                     {"msprofBinPid", -1},
                     {"jobInfo", ""},
                     {"job_id", "0"}};
  const std::string folder = device ? directory.device(*device) : directory.host();
  return WriteWhole(folder + "/sample.json", json.Write(false), true);
}

Instant Instant::Now() {
  Instant best;
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = Read(CLOCK_MONOTONIC_RAW);
    const uint64_t wall = Read(CLOCK_REALTIME);
    const uint64_t after = Read(CLOCK_MONOTONIC_RAW);
    if (after - before >= width) continue;
    width = after - before;
    best = {wall / 1000, before + width / 2 - wall % 1000};
  }
  return best;
}

Instant Instant::Later(uint64_t raw_ns) const {
  const uint64_t us = raw_ns > monotonic_raw_ns ? (raw_ns - monotonic_raw_ns) / 1000 : 0;
  return {realtime_us + us, monotonic_raw_ns + us * 1000};
}

Status WriteStartInfo(const ProfDirectory& directory, const Instant& begin, std::optional<uint32_t> device) {
  return WriteInstant(Place(directory, "start_info", device), begin, true);
}

Status WriteEndInfo(const ProfDirectory& directory, const Instant& end, std::optional<uint32_t> device) {
  return WriteInstant(Place(directory, "end_info", device), end, false);
}

Status WriteHostStart(const ProfDirectory& directory, const HostStart& start,
                      std::optional<uint32_t> device) {
  const std::string section = device ? fmt::format("Device{}", *device) : "Host";
  return WriteWhole(Place(directory, "host_start.log", device),
                    fmt::format("[{}]\nclock_monotonic_raw: {}\ncntvct: {}\ncntvct_diff: 0\n", section,
                                start.monotonic_raw_ns, start.cycles),
                    true);
}

Status WriteDeviceStart(const ProfDirectory& directory, uint32_t device, uint64_t device_ns,
                        uint64_t counter) {
  return WriteWhole(Place(directory, "dev_start.log", device),
                    fmt::format("clock_monotonic_raw: {}\ncntvct: {}\n", device_ns, counter), true);
}

}  // namespace npuprof::trace
