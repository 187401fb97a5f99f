// SPDX-License-Identifier: Apache-2.0
// What the library wrote about its own run: PROF_*/npuprof/manifest.json (docs/manifest.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace npuprof::cli {

/** A manifest with the sums that summaries show. Immutable after Read(). */
class Manifest {
 public:
  /**
   * The manifest of @p prof_directory; nothing if it has none.
   * @throws Error if it is there and cannot be read, is no JSON, or lacks a key that every version has
   */
  static std::optional<Manifest> Read(const std::filesystem::path& prof_directory);

  /** The file as it is. */
  const nlohmann::json& json() const { return *json_; }

  bool simulated() const { return simulated_; }
  bool complete() const { return complete_; }
  uint64_t pid() const { return pid_; }
  const std::string& command() const { return command_; }
  uint64_t begin_realtime_us() const { return begin_us_; }
  /** Length of the window; nothing while it is open or after a crash. */
  std::optional<uint64_t> window_ns() const { return window_ns_; }
  size_t devices() const { return devices_; }

  /** Records of devices and host that reached the files. */
  uint64_t kept() const { return kept_; }
  /** Records of devices and host that did not. */
  uint64_t lost() const { return lost_; }
  /** Lost records by cause, "device.<cause>" and "host.<cause>" joined. */
  const std::map<std::string, uint64_t>& lost_by_cause() const { return lost_by_cause_; }

  /** Messages of severity "error" and "warning", in order, as "severity: text". */
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  explicit Manifest(const nlohmann::json& json);
  void AddCauses(const nlohmann::json& owner, const std::string& prefix);

  std::shared_ptr<const nlohmann::json> json_;
  bool simulated_ = false, complete_ = false;
  uint64_t pid_ = 0, begin_us_ = 0, kept_ = 0, lost_ = 0;
  size_t devices_ = 0;
  std::string command_;
  std::optional<uint64_t> window_ns_;
  std::map<std::string, uint64_t> lost_by_cause_;
  std::vector<std::string> complaints_;
};

/** "kept 1,234 records, lost 5 (ring_full 5)". */
std::string LossLine(const Manifest& manifest);

/** The mark of summaries that rest on simulated figures. */
inline constexpr const char* kSimulatedMark =
    "simulated: device times and counters come from the NPU model, not from hardware";

}  // namespace npuprof::cli
