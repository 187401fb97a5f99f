// SPDX-License-Identifier: Apache-2.0
// Writes small or large PROF directories for tests, from the published layout alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace npuprof::test {

/// Host cycles and device ticks both count from `begin_ns`, at 100 MHz and 50 MHz.
class ProfBuilder {
 public:
  static constexpr uint64_t kHostHz = 100'000'000, kDeviceHz = 50'000'000;
  static constexpr uint64_t kBeginNs = 1'000'000'000'000, kBeginUs = 1'767'225'600'000'000;
  static constexpr uint64_t kHostStart = 100'000'000'000, kDeviceStart = 50'000'000'000;
  static constexpr uint16_t kLevelAcl = 20000, kLevelNode = 10000, kLevelRuntime = 5000;

  /// Creates `parent`/PROF_000001_... with metadata of the host and of device 0.
  explicit ProfBuilder(const std::filesystem::path& parent);
  const std::filesystem::path& path() const { return path_; }

  static uint64_t Cycles(uint64_t ns) { return kHostStart + ns / 10; }
  static uint64_t Ticks(uint64_t ns) { return kDeviceStart + ns / 20; }

  uint64_t Hash(const std::string& text);
  void Type(uint16_t level, uint32_t type, const std::string& name);
  void Api(uint16_t level, uint32_t type, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
           uint64_t item = 0);
  void Node(uint32_t thread, uint64_t ns, const std::string& op, const std::string& type, uint32_t task_type,
            uint32_t blocks);
  void Track(uint32_t thread, uint64_t ns, uint16_t stream, uint16_t task, uint64_t type,
             const std::string& kernel, uint16_t flip = 0);
  void Task(uint16_t stream, uint16_t task, unsigned sqe, uint64_t start_ns, uint64_t end_ns);
  void TaskStart(uint16_t stream, uint16_t task, unsigned sqe, uint64_t ns);
  void TaskEnd(uint16_t stream, uint16_t task, unsigned sqe, uint64_t ns);
  void Pmu(uint16_t stream, uint16_t task, bool vector, uint64_t cycles, uint64_t start_ns, uint64_t end_ns);
  void Flip(uint16_t stream, uint16_t number, uint64_t ns);
  void Step(uint64_t index, uint64_t model, uint16_t tag, uint64_t ns);
  /// An operator launched at `host_ns` that runs from `start_ns` to `end_ns`, with every record a runtime
  /// writes.
  void Operator(uint32_t thread, uint16_t stream, uint16_t task, uint64_t host_ns, uint64_t start_ns,
                uint64_t end_ns, const std::string& name, bool vector = false);
  /// npuprof/manifest.json with this text.
  void Manifest(std::string_view text);
  /// Flushes everything; call before reading.
  void Close();
  /// Appends bytes to a record file below the directory ("host/data/...").
  void Raw(const std::string& file, std::string_view bytes);

 private:
  void Write(const std::string& file, std::string_view text);
  void MetadataFiles();

  std::filesystem::path path_;
  std::map<std::string, std::ofstream> files_;
  std::map<std::string, uint64_t> hashes_;
  std::map<std::pair<uint16_t, uint32_t>, std::string> types_;
};

}  // namespace npuprof::test
