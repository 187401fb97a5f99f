// SPDX-License-Identifier: Apache-2.0
#include "analysis/manifest.h"

#include <fmt/format.h>

#include "analysis/metadata.h"

namespace npuprof::analysis {
namespace {

using nlohmann::json;

// A manifest is an aid: a value of the wrong type must not keep anybody from the data.
const json& Child(const json& object, const char* key) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto it = object.find(key);
  return it == object.end() ? kNone : *it;
}

uint64_t Number(const json& object, const char* key) {
  const auto& value = Child(object, key);
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_string()) return ParseUnsigned(value.get<std::string>()).value_or(0);
  return 0;
}

bool Flag(const json& object, const char* key, bool otherwise) {
  const auto& value = Child(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::string Text(const json& object, const char* key) {
  const auto& value = Child(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

void AddLosses(int device, const std::string& where, uint64_t lost, const json& causes,
               std::vector<Loss>* out) {
  uint64_t named = 0;
  if (causes.is_object()) {
    for (const auto& [cause, count] : causes.items()) {
      if (!count.is_number_unsigned() || count.get<uint64_t>() == 0) continue;
      out->push_back({device, where, cause, count.get<uint64_t>()});
      named += count.get<uint64_t>();
    }
  }
  if (lost > named) out->push_back({device, where, "", lost - named});
}

std::string RingName(const json& ring) {
  std::string name = Text(ring, "channel");
  if (name.empty()) name = "ring";
  const std::string kind = Text(ring, "core_kind");
  if (!kind.empty() && kind != "none") name += fmt::format(" of {} core {}", kind, Number(ring, "core"));
  return name;
}

ManifestDevice ReadDevice(const json& node, std::vector<Loss>* losses) {
  ManifestDevice device;
  device.id = static_cast<int>(Number(node, "id"));
  device.backend = Text(node, "backend");
  device.simulated = Flag(node, "simulated", false);
  const auto& tasks = Child(node, "tasks");
  device.tasks = {Number(tasks, "started"), Number(tasks, "ended"), Number(tasks, "straddling_start"),
                  Number(tasks, "straddling_stop")};
  for (const auto& ring : Child(node, "rings")) {
    AddLosses(device.id, RingName(ring), Number(ring, "lost"), Child(ring, "lost_by_cause"), losses);
  }
  for (const auto& bracket : Child(node, "clock")) {
    device.brackets.push_back(
        {Number(bracket, "host_ns"), Number(bracket, "device"), Number(bracket, "width_ns")});
  }
  return device;
}

std::optional<AgedOut> ReadAged(const json& top) {
  const auto& storage = Child(top, "storage");
  const auto& node = Child(storage, "aged");
  if (!node.is_object()) return std::nullopt;
  AgedOut aged{Number(node, "records"), Number(node, "bytes"), Number(node, "slices"),
               Number(storage, "limit_bytes"), 0};
  const auto& window = Child(top, "window");
  const uint64_t from = Number(node, "complete_from_monotonic_raw_ns"),
                 begin = Number(window, "begin_monotonic_raw_ns");
  aged.complete_from_us = Number(window, "begin_realtime_us") + (from > begin ? (from - begin) / 1000 : 0);
  return aged;
}

}  // namespace

RunManifest ReadManifest(const std::filesystem::path& root) {
  const Metadata file = Metadata::Read(root, "npuprof/manifest.json");
  const json& top = file.object();
  RunManifest out;
  out.simulated = Flag(top, "simulated", false);
  out.complete = Flag(top, "complete", true);
  out.command = Text(top, "command");
  out.aged = ReadAged(top);
  out.drain_path = Text(Child(top, "drain"), "path");
  for (const auto& node : Child(top, "devices")) {
    if (node.is_object()) out.devices.push_back(ReadDevice(node, &out.losses));
  }
  const auto& host = Child(top, "host");
  uint64_t host_lost = 0;
  for (const auto& kind : Child(host, "kinds")) {
    const uint64_t lost = Number(kind, "lost");
    host_lost += lost;
    if (lost > 0) out.losses.push_back({-1, Text(kind, "kind"), "", lost});
  }
  // Causes are given for the host as a whole. If one cause explains everything, it explains each kind.
  const auto& causes = Child(host, "lost_by_cause");
  if (causes.is_object()) {
    uint64_t sum = 0;
    std::string only;
    size_t used = 0;
    for (const auto& [cause, count] : causes.items()) {
      if (!count.is_number_unsigned() || count.get<uint64_t>() == 0) continue;
      sum += count.get<uint64_t>();
      only = cause;
      ++used;
    }
    if (used == 1 && sum == host_lost) {
      for (auto& loss : out.losses) {
        if (loss.device == -1) loss.cause = only;
      }
    } else if (sum > host_lost) {
      out.losses.push_back({-1, "host records", used == 1 ? only : "", sum - host_lost});
    }
  }
  for (const auto& message : Child(top, "messages")) {
    const std::string severity = Text(message, "severity");
    if (severity == "warning" || severity == "error")
      out.warnings.push_back({"", 0, 0, Text(message, "text")});
  }
  return out;
}

}  // namespace npuprof::analysis
