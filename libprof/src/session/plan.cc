// SPDX-License-Identifier: Apache-2.0
#include "session/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/environment.h"
#include "metrics/metrics.h"
#include "npuprof.h"
#include "npuprof_records.h"
#include "trace/container.h"

namespace npuprof {
namespace {

constexpr uint32_t kDefaultHostHz = 50;

std::string LevelName(uint64_t data_types) {
  if (data_types & ACL_PROF_TASK_TIME_L3) return "l3";
  if (data_types & ACL_PROF_TASK_TIME_L2) return "l2";
  if (data_types & ACL_PROF_TASK_TIME) return "l1";
  return "l0";
}

std::chrono::nanoseconds Period(uint32_t hz) {
  return std::chrono::nanoseconds(1'000'000'000 / hz);
}

// Every kind of core counts them.
void PlanEvents(const std::vector<uint16_t>& events, Plan* plan) {
  plan->counters = true;
  plan->cube_events = plan->vector_events = events;
  auto& sample = plan->sample;
  sample.cube = sample.vector = true;
  sample.cube_metrics = sample.vector_metrics = "Custom:" + JoinEvents(events);
  sample.cube_events.assign(events.begin(), events.end());
  sample.vector_events = sample.cube_events;
}

// Whether counters are of tasks, or of so long a time. The environment comes first.
void PlanPeriod(uint32_t interval_ms, Plan* plan) {
  const std::string instead =
      interval_ms == 0 ? "counting by task" : fmt::format("every {} ms, as configured", interval_ms);
  if (const auto hz =
          NumberFromEnvironment("NPUPROF_CORE_SAMPLE_HZ", 1, 100, instead, &plan->not_collected)) {
    plan->core_period = Period(static_cast<uint32_t>(*hz));
    interval_ms = static_cast<uint32_t>((1000 + *hz / 2) / *hz);
  } else {
    plan->core_period = std::chrono::milliseconds(interval_ms);
  }
  if (interval_ms == 0) return;
  plan->sample.sample_based = true;
  plan->sample.cube_interval_ms = plan->sample.vector_interval_ms = interval_ms;
}

Result PlanCounters(const Wanted& wanted, Plan* plan) {
  if (!(wanted.data_types & ACL_PROF_AICORE_METRICS)) return Result::Ok();
  if (!wanted.events.empty()) {
    PlanEvents(wanted.events, plan);
    PlanPeriod(wanted.core_interval_ms, plan);
    return Result::Ok();
  }
  if (wanted.metrics == ACL_AICORE_NONE) return Result::Ok();
  const MetricGroup* group = A2().Find(wanted.metrics);
  if (!group) {
    std::string known;
    for (const auto& g : A2().groups) known += fmt::format("{} ({}), ", g.id, g.name);
    return Result::Fail(code::kInvalidParam,
                        fmt::format("counter group {} is not available on chip {}; allowed are {}255 (none)",
                                    wanted.metrics, A2().name, known));
  }
  plan->counters = true;
  plan->cube_events = group->cube.events;
  plan->vector_events = group->vector.events;
  auto& sample = plan->sample;
  sample.cube = sample.vector = true;
  sample.cube_metrics = group->cube.name;
  sample.vector_metrics = group->vector.name;
  sample.cube_events.assign(group->cube.events.begin(), group->cube.events.end());
  sample.vector_events.assign(group->vector.events.begin(), group->vector.events.end());
  PlanPeriod(wanted.core_interval_ms, plan);
  return Result::Ok();
}

void PlanHost(const Settings& settings, Plan* plan) {
  const std::pair<int, std::pair<const char*, host::Sample>> possible[] = {
      {ACL_PROF_HOST_SYS, {"cpu", host::Sample::kProcessCpu}},
      {ACL_PROF_HOST_SYS, {"mem", host::Sample::kProcessMemory}},
      {ACL_PROF_HOST_SYS, {"disk", host::Sample::kProcessDisk}},
      {ACL_PROF_HOST_SYS, {"network", host::Sample::kNetwork}},
      {ACL_PROF_HOST_SYS_USAGE, {"cpu", host::Sample::kSystemCpu}},
      {ACL_PROF_HOST_SYS_USAGE, {"mem", host::Sample::kSystemMemory}},
  };
  for (const auto& [type, choice] : possible) {
    if (settings.Has(type, choice.first)) plan->samples.push_back(choice.second);
  }
  for (const char* item : {"osrt", "numa"}) {
    if (settings.Has(ACL_PROF_HOST_SYS, item)) {
      plan->not_collected.push_back(fmt::format("ACL_PROF_HOST_SYS {} is not collected", item));
    }
  }
  const uint32_t hz = settings.Hz(ACL_PROF_HOST_SYS_USAGE_FREQ).value_or(kDefaultHostHz);
  plan->host_period = Period(hz);
  if (settings.Has(ACL_PROF_HOST_SYS, "disk")) plan->sample.host_disk_hz = hz;
  plan->sample.host_sys_pid = static_cast<uint32_t>(getpid());
}

void PlanMemory(const Settings& settings, Plan* plan) {
  const auto hz = settings.Hz(ACL_PROF_SYS_HARDWARE_MEM_FREQ);
  const auto mode = settings.Text(ACL_PROF_LLC_MODE);
  if (!hz) {
    if (mode)
      plan->not_collected.push_back("ACL_PROF_LLC_MODE has no effect without ACL_PROF_SYS_HARDWARE_MEM_FREQ");
    return;
  }
  plan->memory_period = Period(*hz);
  plan->llc_write = mode == "write";
  plan->sample.llc = plan->llc_write ? "write" : "read";
  plan->sample.hbm_events = "read,write";
  plan->not_collected.emplace_back("ACL_PROF_SYS_HARDWARE_MEM_FREQ: the chip has no DDR");
}

// By NPUPROF_FLOW_*.
constexpr const char* kFlows[] = {"cores", "copies", "host", "peers", "network"};
static_assert(std::size(kFlows) == NPUPROF_FLOWS);

void PlanFlows(const Settings& settings, Plan* plan) {
  constexpr auto kType = ACL_PROF_SYS_MEM_SERVICEFLOW;
  const auto text = settings.Text(kType);
  if (!text) return;
  plan->flow_period = Period(settings.Hz(ACL_PROF_SYS_HARDWARE_MEM_FREQ).value_or(kDefaultHostHz));
  for (size_t begin = 0; begin <= text->size();) {
    const size_t end = std::min(text->find(',', begin), text->size());
    const std::string name = text->substr(begin, end - begin);
    begin = end + 1;
    const auto found =
        std::find_if(std::begin(kFlows), std::end(kFlows), [&](const char* f) { return name == f; });
    if (found == std::end(kFlows)) {
      plan->not_collected.push_back(fmt::format("{}: there is no flow '{}'; there are {}",
                                                Settings::Name(kType), name, fmt::join(kFlows, ", ")));
      continue;
    }
    const auto flow = static_cast<uint32_t>(found - std::begin(kFlows));
    if (std::find(plan->flows.begin(), plan->flows.end(), flow) != plan->flows.end()) continue;
    plan->flows.push_back(flow);
    plan->sample.qos_events += (plan->sample.qos_events.empty() ? "" : ",") + name;
  }
}

// Named in the manifest rather than refused: existing programs ask for them on every device.
void NoteWhatIsNotCollected(uint64_t data_types, Plan* plan) {
  if (data_types & ACL_PROF_API_STATS) {
    plan->not_collected.emplace_back(
        "ACL_PROF_API_STATS: every call is collected instead of statistics made while running");
  }
}

void PlanUnits(const Settings& settings, bool container, Plan* plan) {
  if (const auto hz = settings.Hz(ACL_PROF_SYS_INTERCONNECTION_FREQ)) plan->link_period = Period(*hz);
  if (const auto hz = settings.Hz(ACL_PROF_DVPP_FREQ)) plan->media_period = Period(*hz);
  const auto network = settings.Hz(ACL_PROF_SYS_IO_FREQ);
  if (!network) return;
  if (!container) {
    plan->network_period = Period(*network);
    return;
  }
  // As published: a container sees the network of nobody.
  plan->not_collected.push_back(
      "ACL_PROF_SYS_IO_FREQ: network data are not collected in a container; if this is none, set "
      "NPUPROF_CONTAINER=no");
}

// Lines of 128 bytes of L2, in the order of struct npuprof_rec_soc_pmu.
constexpr uint32_t kL2Events[] = {0xf6, 0xfb, 0xfc, 0xbf, 0x90, 0x91, 0x9c, 0x9d};

void PlanL2(Plan* plan) {
  plan->l2 = true;
  plan->sample.l2_events.assign(std::begin(kL2Events), std::end(kL2Events));
  std::string list;
  for (uint32_t event : kL2Events) list += fmt::format("{}{:#x}", list.empty() ? "HA:" : ",", event);
  plan->sample.npu_events = list;
}

}  // namespace

Result MakePlan(const Wanted& wanted, const Settings& settings, Plan* plan) {
  plan->data_types = wanted.data_types;
  plan->sample.level = LevelName(wanted.data_types);
  if (Result counters = PlanCounters(wanted, plan); !counters.ok()) return counters;
  // Counters of tasks are of no use without these.
  const bool by_task = plan->counters && plan->core_period.count() == 0;
  plan->tasks = by_task || (wanted.data_types & kTaskTimes) != 0;
  plan->track = plan->tasks || (wanted.data_types & (ACL_PROF_TRAINING_TRACE | ACL_PROF_MSPROFTX)) != 0;
  plan->aicpu = (wanted.data_types & ACL_PROF_AICPU) != 0;
  if (wanted.data_types & ACL_PROF_L2CACHE) PlanL2(plan);
  std::string complaint;
  PlanUnits(settings, trace::InContainer(&complaint), plan);
  if (!complaint.empty()) plan->not_collected.push_back(complaint);
  PlanMemory(settings, plan);
  PlanFlows(settings, plan);
  PlanHost(settings, plan);
  NoteWhatIsNotCollected(wanted.data_types, plan);
  return Result::Ok();
}

std::optional<uint32_t> TaskRingSlots(std::vector<std::string>* warnings) {
  constexpr const char* kInstead = "the default of each ring";
  const auto slots =
      NumberFromEnvironment("NPUPROF_RING_RECORDS", NPUPROF_MIN_SLOTS, NPUPROF_MAX_SLOTS, kInstead, warnings);
  if (!slots || std::has_single_bit(*slots)) return slots;
  warnings->push_back(
      fmt::format("NPUPROF_RING_RECORDS is {}; allowed is a power of two from {} to {}; taken is {}", *slots,
                  NPUPROF_MIN_SLOTS, NPUPROF_MAX_SLOTS, kInstead));
  return std::nullopt;
}

uint64_t StorageLimit(const Settings& settings, std::vector<std::string>* warnings) {
  constexpr uint64_t kMegabyte = 1'000'000;
  const uint64_t asked = settings.StorageLimitMb();
  const auto allowed = NumberFromEnvironment("NPUPROF_STORAGE_MB", 16, 4294967296,
                                             asked ? fmt::format("{}", asked) : "no limit", warnings);
  if (!allowed) return asked * kMegabyte;
  return (asked ? std::min(asked, *allowed) : *allowed) * kMegabyte;
}

size_t HostRingBytes(std::vector<std::string>* warnings) {
  constexpr uint64_t kDefaultMb = 64;
  return NumberFromEnvironment("NPUPROF_HOST_RING_MB", 1, 4096, "64", warnings).value_or(kDefaultMb) << 20;
}

}  // namespace npuprof
