// SPDX-License-Identifier: Apache-2.0
#include "trace/manifest.h"

#include <fmt/format.h>

#include "trace/json.h"

namespace npuprof::trace {
namespace {

Json Counts(const std::map<std::string, uint64_t>& counts) {
  Json json = Json::Object();
  for (const auto& [cause, count] : counts) {
    if (count > 0) json[cause] = count;
  }
  return json;
}

// Only where there is a period.
void AddSampling(const Manifest::Sampling& sampling, Json* json) {
  if (sampling.period_ns == 0) return;
  (*json)["sampling"] = {{"period_ns", sampling.period_ns},
                         {"samples", sampling.samples},
                         {"mean_ns", sampling.mean_ns},
                         {"worst_error_ns", sampling.worst_error_ns}};
}

Json ToJson(const Manifest::Ring& ring) {
  Json json = {{"ring", ring.ring}, {"channel", ring.channel}, {"core_kind", ring.core_kind},
               {"core", ring.core}, {"slots", ring.slots},     {"records", ring.records},
               {"kept", ring.kept}, {"lost", ring.lost},       {"lost_by_cause", Counts(ring.lost_by_cause)}};
  AddSampling(ring.sampling, &json);
  if (ring.throttled_period_ns != 0) json["throttled_period_ns"] = ring.throttled_period_ns;
  return json;
}

Json ToJson(const Manifest::Gap& gap) {
  return {{"ring", gap.ring},   {"channel", gap.channel}, {"position", gap.position}, {"count", gap.count},
          {"first", gap.first}, {"last", gap.last},       {"cause", gap.cause}};
}

Json ToJson(const Manifest::Device& device) {
  Json rings = Json::Array(), gaps = Json::Array(), clock = Json::Array(), interruptions = Json::Array();
  for (const auto& ring : device.rings) rings.Add(ToJson(ring));
  for (const auto& gap : device.gaps) gaps.Add(ToJson(gap));
  for (const auto& event : device.interruptions)
    interruptions.Add({{"epoch", event.epoch}, {"cause", event.cause}, {"device", event.device}});
  for (const auto& bracket : device.clock) {
    clock.Add({{"host_ns", bracket.host_ns}, {"device", bracket.device}, {"width_ns", bracket.width_ns}});
  }
  return {{"id", device.id},
          {"backend", device.backend},
          {"name", device.name},
          {"chip", device.chip},
          {"simulated", device.simulated},
          {"tasks",
           {{"started", device.tasks.started},
            {"ended", device.tasks.ended},
            {"straddling_start", device.tasks.straddling_start},
            {"straddling_stop", device.tasks.straddling_stop}}},
          {"rings", rings},
          {"gaps", gaps},
          {"interruptions", interruptions},
          {"clock", clock},
          {"clock_base", device.clock_base},
          {"driver",
           {{"version", device.driver.version},
            {"abi", device.driver.abi},
            {"record_formats", device.driver.record_formats},
            {"interrupts", device.driver.interrupts},
            {"register_reads", device.driver.register_reads},
            {"register_writes", device.driver.register_writes},
            {"busy_ns", device.driver.busy_ns}}}};
}

Json ToJson(const Manifest::Host& host) {
  Json kinds = Json::Array();
  for (const auto& kind : host.kinds) {
    kinds.Add({{"kind", kind.kind}, {"records", kind.records}, {"lost", kind.lost}});
    AddSampling(kind.sampling, &kinds.Last());
  }
  Json losses = Json::Array();
  for (const auto& loss : host.losses) {
    losses.Add({{"thread", loss.others ? Json("others") : Json(loss.thread)},
                {"cause", loss.cause},
                {"count", loss.count},
                {"first_monotonic_raw_ns", loss.first_ns},
                {"last_monotonic_raw_ns", loss.last_ns}});
  }
  return {{"cycle_hz", host.cycle_hz},
          {"threads", host.threads},
          {"kinds", kinds},
          {"lost_by_cause", Counts(host.lost_by_cause)},
          {"losses", losses}};
}

Json ToJson(const Manifest::Storage& storage) {
  Json json = {{"limit_bytes", storage.limit_bytes}, {"used_bytes", storage.used_bytes}};
  if (storage.aged.slices > 0) {
    json["aged"] = {{"records", storage.aged.records},
                    {"bytes", storage.aged.bytes},
                    {"slices", storage.aged.slices},
                    {"complete_from_monotonic_raw_ns", storage.aged.complete_from_monotonic_raw_ns}};
  }
  return json;
}

// "lost" and "error" only where something went wrong.
Json ToJson(const FileReport& file) {
  Json json = {
      {"path", file.path}, {"records", file.records}, {"bytes", file.bytes}, {"slices", file.slices}};
  if (file.record_bytes > 0) json["record_bytes"] = file.record_bytes;
  if (file.aged_slices > 0) {
    json["aged_records"] = file.aged_records;
    json["aged_slices"] = file.aged_slices;
  }
  if (file.lost > 0) json["lost"] = file.lost;
  if (file.error != 0) json["error"] = file.error;
  return json;
}

}  // namespace

std::string ToJson(const Manifest& manifest) {
  Json devices = Json::Array(), files = Json::Array(), messages = Json::Array();
  for (const auto& device : manifest.devices) devices.Add(ToJson(device));
  for (const auto& file : manifest.files) files.Add(ToJson(file));
  for (const auto& message : manifest.messages) {
    messages.Add({{"severity", message.severity}, {"text", message.text}});
  }
  Json json = {{"format", 1},
               {"npuprof", manifest.versions.library},
               {"versions",
                {{"library", manifest.versions.library},
                 {"abi", manifest.versions.abi},
                 {"record_formats", manifest.versions.record_formats},
                 {"file_formats", manifest.versions.file_formats},
                 {"runtime", manifest.versions.runtime}}},
               {"simulated", manifest.simulated},
               {"pid", manifest.pid},
               {"command", manifest.command},
               {"data_types", fmt::format("0x{:x}", manifest.data_types)},
               {"settings", manifest.settings},
               {"complete", manifest.complete},
               {"stopped", manifest.stopped},
               {"window",
                {{"begin_realtime_us", manifest.window.begin_realtime_us},
                 {"begin_monotonic_raw_ns", manifest.window.begin_monotonic_raw_ns},
                 {"end_monotonic_raw_ns", manifest.window.end_monotonic_raw_ns}}},
               {"drain",
                {{"path", manifest.drain.path},
                 {"reason", manifest.drain.reason},
                 {"staging_peak_bytes", manifest.drain.staging_peak_bytes},
                 {"staging_bytes", manifest.drain.staging_bytes},
                 {"staging_holds_bytes", manifest.drain.staging_holds_bytes},
                 {"host_ring_bytes", manifest.drain.host_ring_bytes},
                 {"bytes_per_second", manifest.drain.bytes_per_second}}},
               {"storage", ToJson(manifest.storage)},
               {"devices", devices},
               {"host", ToJson(manifest.host)},
               {"files", files},
               {"cost",
                {{"drain_cpu_ns", manifest.cost.drain_cpu_ns},
                 {"wakeups", manifest.cost.wakeups},
                 {"bytes_written", manifest.cost.bytes_written},
                 {"start_ns", manifest.cost.start_ns},
                 {"stop_ns", manifest.cost.stop_ns},
                 {"device_busy_ns", manifest.cost.device_busy_ns}}},
               {"messages", messages}};
  if (!manifest.continues.directory.empty()) {
    json["continues"] = {{"directory", manifest.continues.directory}, {"gap_ns", manifest.continues.gap_ns}};
  }
  return json.Write(true) + "\n";
}

Status WriteManifest(const ProfDirectory& directory, const Manifest& manifest, bool keep) {
  return WriteWhole(directory.own() + "/manifest.json", ToJson(manifest), false, keep);
}

}  // namespace npuprof::trace
