// SPDX-License-Identifier: Apache-2.0
#include "npuprof/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "npuprof/error.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {

std::optional<Manifest> Manifest::Read(const std::filesystem::path& prof_directory) {
  const std::filesystem::path path = prof_directory / "npuprof" / "manifest.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  std::ifstream in(path);
  if (!in) throw Error(fmt::format("cannot read '{}'", path.string()));
  try {
    return Manifest(nlohmann::json::parse(in));
  } catch (const nlohmann::json::exception& e) {
    // "[json.exception.type_error.302] type must be ..." without the part for programmers.
    const std::string_view what = e.what();
    throw Error(fmt::format("'{}' is no manifest of npuprof: {}", path.string(),
                            what.substr(std::min(what.size(), what.find("] ") + 2))));
  }
}

Manifest::Manifest(const nlohmann::json& json) : json_(std::make_shared<nlohmann::json>(json)) {
  simulated_ = json.at("simulated").get<bool>();
  complete_ = json.at("complete").get<bool>();
  pid_ = json.value("pid", uint64_t{0});
  command_ = json.value("command", "");
  const nlohmann::json& window = json.at("window");
  begin_us_ = window.value("begin_realtime_us", uint64_t{0});
  const uint64_t begin = window.value("begin_monotonic_raw_ns", uint64_t{0});
  const uint64_t end = window.value("end_monotonic_raw_ns", uint64_t{0});
  if (end > begin) window_ns_ = end - begin;

  const nlohmann::json devices = json.value("devices", nlohmann::json::array());
  devices_ = devices.size();
  for (const nlohmann::json& device : devices) {
    for (const nlohmann::json& ring : device.value("rings", nlohmann::json::array())) {
      kept_ += ring.value("kept", uint64_t{0});
      lost_ += ring.value("lost", uint64_t{0});
      AddCauses(ring, "device.");
    }
  }
  const nlohmann::json host = json.value("host", nlohmann::json::object());
  for (const nlohmann::json& kind : host.value("kinds", nlohmann::json::array())) {
    // Unlike a ring's, a host kind's count of records is what was kept.
    kept_ += kind.value("records", uint64_t{0});
    lost_ += kind.value("lost", uint64_t{0});
  }
  AddCauses(host, "host.");
  for (const nlohmann::json& message : json.value("messages", nlohmann::json::array())) {
    const std::string severity = message.value("severity", "");
    if (severity == "error" || severity == "warning")
      complaints_.push_back(severity + ": " + message.value("text", ""));
  }
}

void Manifest::AddCauses(const nlohmann::json& owner, const std::string& prefix) {
  const nlohmann::json causes = owner.value("lost_by_cause", nlohmann::json::object());
  for (const auto& [cause, records] : causes.items()) {
    if (records.get<uint64_t>() > 0) lost_by_cause_[prefix + cause] += records.get<uint64_t>();
  }
}

std::string LossLine(const Manifest& manifest) {
  // Sums of a run that was cut off are those of the last moment at which it could tell.
  const char* least = manifest.complete() ? "" : "at least ";
  std::string line = fmt::format("kept {}{} records, lost {}{}", least, Count(manifest.kept()), least,
                                 Count(manifest.lost()));
  std::vector<std::string> causes;
  for (const auto& [cause, records] : manifest.lost_by_cause())
    causes.push_back(cause + " " + Count(records));
  if (!causes.empty()) line += fmt::format(" ({})", fmt::join(causes, ", "));
  return line;
}

}  // namespace npuprof::cli
