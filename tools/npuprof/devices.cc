// SPDX-License-Identifier: Apache-2.0
#include "npuprof/devices.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "device/device_session.h"
#include "npuprof/error.h"
#include "npuprof/kernel_facts.h"
#include "npuprof/manifest.h"
#include "npuprof/output.h"
#include "npuprof/terminal.h"

namespace npuprof::cli {
namespace {

// The library drives the simulated device only in a process that has the simulated runtime, so npuprof
// becomes one.
void LoadSimulatedRuntime() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto library = self.parent_path().parent_path() / "lib64" / "libruntime.so";
  if (!error && std::filesystem::exists(library, error)) dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

void Check(const Status& status) {
  if (!status.ok()) throw Error(status.text);
}

std::vector<std::string> Channels(const npuprof_query& query) {
  std::vector<std::string> names;
  for (unsigned channel = 0; channel < 64; ++channel) {
    if ((query.channels >> channel) & 1) names.push_back(device::ChannelName(channel));
  }
  return names;
}

nlohmann::json ToJson(device::Backend backend, const npuprof_query& q) {
  return {{"id", q.device_id},
          {"backend", device::BackendName(backend)},
          {"name", q.name},
          {"simulated", (q.device_flags & NPUPROF_DEVICE_SIMULATED) != 0},
          {"chip", q.chip},
          {"abi", fmt::format("{}.{}", q.abi_major, q.abi_minor)},
          {"cube_cores", q.cube_cores},
          {"vector_cores", q.vector_cores},
          {"aicpu_cores", q.aicpu_cores},
          {"counters", q.counters},
          {"counter_bits", q.counter_bits},
          {"cycle_bits", q.cycle_bits},
          {"clock_hz", q.clock_hz},
          {"core_hz", q.core_hz},
          {"min_period_ns", q.min_period_ns},
          {"max_period_ns", q.max_period_ns},
          {"sample_cost_ns", q.sample_cost_ns},
          {"channels", Channels(q)}};
}

void Print(device::Backend backend, const npuprof_query& q, bool colour) {
  fmt::print("{}\n", Paint(fmt::format("device {}: {} (backend {}, chip {})", q.device_id, q.name,
                                       device::BackendName(backend), q.chip),
                           Style::kBold, colour));
  fmt::print("  {} cube and {} vector cores at {} MHz, {} AI CPUs, clock {} MHz\n", q.cube_cores,
             q.vector_cores, q.core_hz / 1'000'000, q.aicpu_cores, static_cast<double>(q.clock_hz) / 1e6);
  fmt::print("  {} counters of {} bits and a cycle counter of {} bits per core\n", q.counters, q.counter_bits,
             q.cycle_bits);
  fmt::print("  sampling every {} to {}, {} host CPU per sample\n", Duration(q.min_period_ns),
             Duration(q.max_period_ns), Duration(q.sample_cost_ns));
  fmt::print("  channels: {}\n", fmt::join(Channels(q), ", "));
}

// A device, or why it does not let itself be asked.
struct Shown {
  uint32_t id = 0;
  npuprof_query query = {};
  std::string refusal;
  KernelFacts facts;

  bool Simulated() const {
    const auto told = facts.attributes.find("simulated");
    return (query.device_flags & NPUPROF_DEVICE_SIMULATED) ||
           (told != facts.attributes.end() && told->second == "1");
  }
};

Shown Look(device::Backend backend, uint32_t id) {
  Shown shown;
  shown.id = id;
  std::unique_ptr<device::DeviceSession> session;
  const Status status = device::DeviceSession::Open(backend, id, &session);
  if (status.ok()) {
    shown.query = session->query();
  } else if (backend == device::Backend::kKernel) {
    shown.refusal = status.text;
  } else {
    Check(status);
  }
  if (backend == device::Backend::kKernel) shown.facts = ReadKernelFacts("/sys", id);
  return shown;
}

nlohmann::json ToJson(device::Backend backend, const Shown& shown) {
  nlohmann::json out = {{"id", shown.id}, {"backend", device::BackendName(backend)}};
  if (shown.refusal.empty()) {
    out = ToJson(backend, shown.query);
  } else {
    out["refused"] = shown.refusal;
  }
  if (backend == device::Backend::kKernel) {
    out["node"] = shown.facts.node;
    out["bus"] = shown.facts.bus;
    out["driver"] = shown.facts.driver;
    out["perf"] = shown.facts.perf;
    out["sysfs"] = shown.facts.attributes;
  }
  return out;
}

}  // namespace

int ShowDevices(bool json) {
  LoadSimulatedRuntime();
  device::Backend backend;
  std::string reason;
  Check(device::ChooseBackend(&backend, &reason));
  std::vector<Shown> all;
  for (const uint32_t id : device::DeviceIds(backend)) all.push_back(Look(backend, id));
  // A device that refuses does not hide the others.
  bool simulated = false, refused = false;
  for (const Shown& shown : all) {
    simulated = simulated || shown.Simulated();
    refused = refused || !shown.refusal.empty();
  }
  if (json) {
    nlohmann::json out = {
        {"backend", device::BackendName(backend)}, {"reason", reason}, {"devices", nlohmann::json::array()}};
    for (const Shown& shown : all) out["devices"].push_back(ToJson(backend, shown));
    fmt::print("{}\n", JsonText(out));
    return refused ? kFailure : 0;
  }
  const bool colour = WantsColour(stdout);
  const std::string mark = Paint(kSimulatedMark, Style::kWarn, colour) + "\n";
  if (simulated) fmt::print("{}", mark);
  if (all.empty()) fmt::print("no NPU: {}\n", reason);
  for (const Shown& shown : all) {
    if (shown.refusal.empty()) {
      Print(backend, shown.query, colour);
    } else {
      fmt::print("{}\n  {}\n", Paint(fmt::format("device {}", shown.id), Style::kBold, colour),
                 Paint(shown.refusal, Style::kBad, colour));
    }
    if (backend == device::Backend::kKernel) fmt::print("  {}\n", shown.facts.Line());
  }
  if (simulated) fmt::print("{}", mark);
  return refused ? kFailure : 0;
}

}  // namespace npuprof::cli
