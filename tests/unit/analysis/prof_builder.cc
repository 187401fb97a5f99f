// SPDX-License-Identifier: Apache-2.0
#include "prof_builder.h"

#include <cstring>
#include <stdexcept>

namespace npuprof::test {
namespace fs = std::filesystem;
namespace {

constexpr uint32_t kLaunch = 5;
const char* const kEvents = "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55";

// A record under construction, zero where nothing is put.
class Bytes {
 public:
  explicit Bytes(size_t size) : bytes_(size, '\0') {}
  template <typename T>
  Bytes& Put(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
    return *this;
  }
  operator std::string_view() const { return bytes_; }

 private:
  std::string bytes_;
};

Bytes HostRecord(size_t size, uint16_t level, uint32_t type, uint32_t thread, uint64_t time) {
  Bytes record(size);
  record.Put<uint16_t>(0, 0x5a5a).Put(2, level).Put(4, type).Put(8, thread).Put(16, time);
  record.Put<uint32_t>(12, static_cast<uint32_t>(size) - 24);
  return record;
}

std::string Info(bool host) {
  std::string text =
      R"({"version":"1.0","hostname":"test","platform_version":"5","pid":"4711","pid_name":"app",)"
      R"("memoryTotal":1048576,"netCard":[],"drvVersion":467473,"cannVersion":"9.0.0",)"
      R"("CPU":[{"Frequency":"100.000000"}],)";
  return text + (host ? R"("devices":"64","DeviceInfo":[]})"
                      : R"("devices":"0","DeviceInfo":[{"id":0,"ai_core_num":24,"aiv_num":48,)"
                        R"("hwts_frequency":"50.000000","aic_frequency":"1800","aiv_frequency":"1800"}]})");
}

std::string Sample(bool host) {
  return std::string(R"({"devices":")") + (host ? "64" : "0") +
         R"(","ai_core_profiling":"on","ai_core_profiling_mode":"task-based","ai_core_metrics":"PipeUtilization",)" +
         R"("ai_core_profiling_events":")" + kEvents +
         R"(","aicore_sampling_interval":10,"aiv_profiling":"on",)" +
         R"("aiv_profiling_mode":"task-based","aiv_metrics":"PipeUtilization","aiv_profiling_events":")" +
         kEvents + R"(","aiv_sampling_interval":10,"llc_profiling":""})";
}

}  // namespace

ProfBuilder::ProfBuilder(const fs::path& parent)
    : path_(parent / "PROF_000001_20260101000000123_00004711ABCDEFGH") {
  for (const char* part : {"host", "device_0"}) fs::create_directories(path_ / part / "data");
  MetadataFiles();
  Type(kLevelNode, kLaunch, "launch");
  Type(kLevelAcl, 0x050001, "aclnnMatmul");
  Type(kLevelRuntime, 0, "KERNEL_AICORE");
  Type(kLevelRuntime, 5, "MEMCPY_ASYNC");
  Type(kLevelRuntime, 66, "KERNEL_AIVEC");
  Type(kLevelRuntime, 98, "FLIP_TASK");
  Type(kLevelRuntime, 1010, "KernelLaunch");
}

void ProfBuilder::MetadataFiles() {
  const std::string start = R"({"collectionTimeBegin":")" + std::to_string(kBeginUs) +
                            R"(","clockMonotonicRaw":")" + std::to_string(kBeginNs) + R"("})";
  const std::string log = "clock_monotonic_raw: " + std::to_string(kBeginNs) +
                          "\ncntvct: " + std::to_string(kHostStart) + "\ncntvct_diff: 0\n";
  Write("host/info.json", Info(true));
  Write("host/sample.json", Sample(true));
  Write("host/start_info", start);
  Write("host/host_start.log", "[Host]\n" + log);
  Write("device_0/info.json.0", Info(false));
  Write("device_0/sample.json", Sample(false));
  Write("device_0/start_info.0", start);
  Write("device_0/host_start.log.0", "[Device0]\n" + log);
  Write("device_0/dev_start.log.0",
        "clock_monotonic_raw: 77\ncntvct: " + std::to_string(kDeviceStart) + "\n");
}

void ProfBuilder::Write(const std::string& file, std::string_view text) {
  std::ofstream out(path_ / file, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void ProfBuilder::Raw(const std::string& file, std::string_view bytes) {
  auto& out = files_[file];
  if (!out.is_open()) out.open(path_ / file, std::ios::binary | std::ios::app);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void ProfBuilder::Manifest(std::string_view text) {
  fs::create_directories(path_ / "npuprof");
  Write("npuprof/manifest.json", text);
}

void ProfBuilder::Close() {
  std::string hashes, types;
  for (const auto& [text, hash] : hashes_) hashes += std::to_string(hash) + ":" + text + "\n";
  for (const auto& [key, name] : types_) {
    types += std::to_string(key.first) + "_" + std::to_string(key.second) + ":" + name + "\n";
  }
  Write("host/data/unaging.additional.hash_dic.slice_0", hashes);
  Write("host/data/unaging.additional.type_info_dic.slice_0", types);
  for (auto& [name, file] : files_) {
    if (!file.flush()) throw std::runtime_error("cannot write " + name);
  }
  files_.clear();
}

uint64_t ProfBuilder::Hash(const std::string& text) {
  return hashes_.try_emplace(text, 0x1000 + hashes_.size()).first->second;
}

void ProfBuilder::Type(uint16_t level, uint32_t type, const std::string& name) {
  types_[{level, type}] = name;
}

void ProfBuilder::Api(uint16_t level, uint32_t type, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                      uint64_t item) {
  Bytes record(40);
  record.Put<uint16_t>(0, 0x5a5a).Put(2, level).Put(4, type).Put(8, thread);
  record.Put(16, Cycles(begin_ns)).Put(24, Cycles(end_ns)).Put(32, item);
  Raw("host/data/aging.api_event.data.slice_0", record);
}

void ProfBuilder::Node(uint32_t thread, uint64_t ns, const std::string& op, const std::string& type,
                       uint32_t task_type, uint32_t blocks) {
  Bytes record = HostRecord(64, kLevelNode, 0, thread, Cycles(ns));
  record.Put(24, Hash(op)).Put(32, task_type).Put(36, Hash(type)).Put(44, blocks);
  Raw("host/data/aging.compact.node_basic_info.slice_0", record);
}

void ProfBuilder::Track(uint32_t thread, uint64_t ns, uint16_t stream, uint16_t task, uint64_t type,
                        const std::string& kernel, uint16_t flip) {
  Bytes record = HostRecord(64, kLevelRuntime, 802, thread, Cycles(ns));
  record.Put(26, stream).Put(28, task).Put(30, flip).Put(32, type);
  if (!kernel.empty()) record.Put(40, Hash(kernel));
  Raw("host/data/aging.compact.task_track.slice_0", record);
}

void ProfBuilder::TaskStart(uint16_t stream, uint16_t task, unsigned sqe, uint64_t ns) {
  Bytes record(64);
  record.Put(0, static_cast<uint16_t>(sqe << 10))
      .Put<uint16_t>(2, 0x6bd3)
      .Put(4, stream)
      .Put(6, task)
      .Put(8, Ticks(ns));
  Raw("device_0/data/stars_soc.data.0.slice_0", record);
}

void ProfBuilder::TaskEnd(uint16_t stream, uint16_t task, unsigned sqe, uint64_t ns) {
  Bytes record(64);
  record.Put(0, static_cast<uint16_t>(sqe << 10 | 1)).Put<uint16_t>(2, 0x6bd3).Put(4, stream).Put(6, task);
  record.Put(8, Ticks(ns));
  Raw("device_0/data/stars_soc.data.0.slice_0", record);
}

void ProfBuilder::Task(uint16_t stream, uint16_t task, unsigned sqe, uint64_t start_ns, uint64_t end_ns) {
  TaskStart(stream, task, sqe, start_ns);
  TaskEnd(stream, task, sqe, end_ns);
}

void ProfBuilder::Pmu(uint16_t stream, uint16_t task, bool vector, uint64_t cycles, uint64_t start_ns,
                      uint64_t end_ns) {
  Bytes record(128);
  record.Put<uint16_t>(0, 0x28).Put<uint16_t>(2, 0x6bd3).Put(4, stream).Put(6, task);
  record.Put<uint16_t>(20, vector ? 1 << 13 : 0).Put(32, cycles);
  for (size_t i = 0; i < 8; ++i) record.Put(48 + 8 * i, cycles / (i + 2));
  record.Put(112, Ticks(start_ns)).Put(120, Ticks(end_ns));
  Raw("device_0/data/ffts_profile.data.0.slice_0", record);
}

void ProfBuilder::Flip(uint16_t stream, uint16_t number, uint64_t ns) {
  Bytes record(40);
  record.Put<uint8_t>(1, 14).Put(8, Ticks(ns)).Put(16, stream).Put(18, number);
  Raw("device_0/data/ts_track.data.0.slice_0", record);
}

void ProfBuilder::Step(uint64_t index, uint64_t model, uint16_t tag, uint64_t ns) {
  Bytes record(40);
  record.Put<uint8_t>(1, 10).Put(8, Ticks(ns)).Put(16, index).Put(24, model).Put(36, tag);
  Raw("device_0/data/ts_track.data.0.slice_0", record);
}

void ProfBuilder::Operator(uint32_t thread, uint16_t stream, uint16_t task, uint64_t host_ns,
                           uint64_t start_ns, uint64_t end_ns, const std::string& name, bool vector) {
  Api(kLevelAcl, 0x050001, thread, host_ns, host_ns + 900);
  Api(kLevelNode, kLaunch, thread, host_ns + 100, host_ns + 800, Hash(name));
  Api(kLevelRuntime, 1010, thread, host_ns + 200, host_ns + 700);
  Node(thread, host_ns + 800, name, vector ? "Add" : "MatMulV2", vector ? 2 : 0, 20);
  Track(thread, host_ns + 500, stream, task, vector ? 66 : 0, "kernel");
  Task(stream, task, vector ? 2 : 0, start_ns, end_ns);
  Pmu(stream, task, vector, (end_ns - start_ns) * 9 / 5 * 20, start_ns, end_ns);
}

}  // namespace npuprof::test
