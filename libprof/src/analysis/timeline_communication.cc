// SPDX-License-Identifier: Apache-2.0
// Layers of collectives, and of how these and computing overlap.
#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "analysis/collective_tables.h"
#include "analysis/hccl_names.h"
#include "analysis/payload_runs.h"
#include "analysis/timeline.h"

namespace npuprof::analysis {
namespace {

// Time from the sending of payloads until they are there, which their rate is of.
std::map<const CollectiveTask*, double> Arrivals(const Communication& communication, const StringPool& pool) {
  std::set<size_t> senders;
  for (const CollectiveTask& task : communication.tasks()) {
    if (SendsPayload(task)) senders.insert(task.collective);
  }
  std::map<size_t, std::vector<const CollectiveTask*>> tasks;
  if (senders.empty()) return {};
  for (const CollectiveTask& task : communication.tasks()) {
    if (senders.contains(task.collective)) tasks[task.collective].push_back(&task);
  }
  std::map<const CollectiveTask*, double> out;
  for (const auto& [place, of] : tasks) {
    const auto times = PayloadTimes(communication.collectives()[place], of, pool);
    out.insert(times.begin(), times.end());
  }
  return out;
}

}  // namespace

void Timeline::AddCollectives(int device, bool simulated, const Communication& communication,
                              HostTrace* host) {
  using Arg = TimelineArg;
  const auto collectives = CollectivesOf(communication, device);
  if (collectives.empty()) return;
  Process(Pid(kCommunication, static_cast<unsigned>(device) & 31), "Communication",
          DeviceLabel(device, simulated), kCommunication);
  std::map<uint64_t, std::map<uint32_t, uint64_t>> planes;  // thread of each plane, by group
  std::vector<uint64_t> groups;                             // in order of their first collective
  for (const Collective* collective : collectives) {
    if (planes.try_emplace(collective->group).second) groups.push_back(collective->group);
  }
  for (const CollectiveTask& task : communication.tasks())
    planes[communication.collectives()[task.collective].group][task.transfer.plane];
  std::map<uint64_t, uint64_t> threads;  // of groups
  for (const uint64_t group : groups) {
    threads[group] = next_communication_thread_;
    Thread(process_, next_communication_thread_++,
           fmt::format("Group {} Communication", (*pool_)[host->names().Name(group)]));
    for (auto& [plane, thread] : planes[group]) {
      thread = next_communication_thread_;
      Thread(process_, next_communication_thread_++, fmt::format("Plane {}", plane));
    }
  }
  for (const Collective* c : collectives) {
    const std::array args{Arg::Number("connection_id", c->connection),
                          Arg::Number("model id", c->model),
                          Arg::Number("rank_size", c->ranks),
                          Arg::Text("data_type", NameIn(HcclDataTypes(), c->data_type)),
                          Arg::Text("alg_type", (*pool_)[c->algorithm]),
                          Arg::Number("count", c->count),
                          Arg::Text("relay", c->relay ? "yes" : "no"),
                          Arg::Text("retry", c->retry ? "yes" : "no")};
    TimelineSlice slice{process_, threads[c->group], {}, c->label, c->start_ns, c->end_ns, {}, args};
    const TimelineFlow flow = FlowFromHost(c->connection);
    if (Link(c->connection)) slice.flow = &flow;
    Slice(slice);
  }
  const auto arrivals = Arrivals(communication, *pool_);
  for (const CollectiveTask& task : communication.tasks()) {
    const Transfer& t = task.transfer;
    const auto arrival = arrivals.find(&task);
    const double us =
        arrival != arrivals.end() ? arrival->second * 1e3 : static_cast<double>(task.duration_ns) / 1000;
    const std::string notify = std::to_string(t.notify);
    const std::string_view name = (*pool_)[t.name];
    const std::array args{Arg::Text("notify_id", notify),
                          Arg::Real("duration estimated(us)", t.estimated_us),
                          Arg::Number("stream id", task.stream),
                          Arg::Number("task id", task.task_id),
                          Arg::Number("context id", task.context),
                          Arg::Text("task type", name),
                          Arg::Number("src rank", t.local_rank),
                          Arg::Number("dst rank", t.remote_rank),
                          Arg::Text("transport type", NameIn(HcclTransportTypes(), t.transport_type)),
                          Arg::Number("size(Byte)", t.bytes),
                          Arg::Text("data type", NameIn(HcclDataTypes(), t.data_type)),
                          Arg::Text("link type", NameIn(HcclLinkTypes(), t.link_type)),
                          Arg::Real("bandwidth(GB/s)", us > 0 ? static_cast<double>(t.bytes) / us / 1000 : 0),
                          Arg::Number("model id", task.model)};
    const Collective& collective = communication.collectives()[task.collective];
    Slice({process_,
           planes[collective.group][t.plane],
           {},
           name,
           task.start_ns,
           task.start_ns + task.duration_ns,
           {},
           args});
  }
}

void Timeline::AddOverlap(int device, bool simulated, const Overlap& overlap,
                          const std::vector<const Collective*>& collectives) {
  if (overlap.empty()) return;
  static constexpr std::array<const char*, 4> kNames = {"Computing", "Communication",
                                                        "Communication(Not Overlapped)", "Free"};
  Process(Pid(kOverlap, static_cast<unsigned>(device) & 31), "Overlap Analysis",
          DeviceLabel(device, simulated), kOverlap);
  for (size_t i = 0; i < kNames.size(); ++i) Thread(process_, i, std::string(kNames[i]));
  std::vector<Span> communicating;
  for (const Collective* c : collectives) communicating.push_back({c->start_ns, c->end_ns});
  overlap.ForEach(Union(std::move(communicating)), [&](OverlapKind kind, const Span& span) {
    const auto thread = static_cast<uint64_t>(kind);
    Slice({process_, thread, {}, kNames[thread], span.begin, span.end, {}, {}});
  });
}

}  // namespace npuprof::analysis
