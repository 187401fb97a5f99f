// SPDX-License-Identifier: Apache-2.0
#include "analysis/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/api_reader.h"
#include "analysis/names.h"
#include "analysis/record_reader.h"

namespace npuprof::analysis {

namespace {

struct Call {
  uint64_t begin, end;
  uint32_t number;
  bool slave;
};
bool ByBegin(const Call& a, const Call& b) {
  return a.begin < b.begin;
}

// The innermost call that a moment lies in. Calls of one level nest, and seldom.
const Call* Enclosing(const std::vector<Call>& calls, uint64_t time) {
  constexpr int kMostLookedAt = 8;
  auto call = std::lower_bound(calls.begin(), calls.end(), Call{time, 0, 0, false}, ByBegin);
  for (int step = 0; step < kMostLookedAt && call != calls.begin(); ++step) {
    if ((--call)->end >= time) return &*call;
  }
  return nullptr;
}

// How the device tells one of its tasks; two to a record.
constexpr size_t kIssuedFirst = 24, kIssuedBytes = 116, kIssuedPerRecord = 2;
constexpr uint32_t kIssuedTasks = 13, kMainStream = 12;

Transfer ReadIssued(const uint8_t* part, HostTrace* host) {
  Transfer out;
  out.name = host->names().Name(Get<uint64_t>(part, 0));
  out.group = Get<uint64_t>(part, 16);
  out.local_rank = Get<uint32_t>(part, 24);
  out.remote_rank = Get<uint32_t>(part, 28);
  out.ranks = Get<uint32_t>(part, 32);
  out.notify = Get<uint64_t>(part, 40);
  out.estimated_us = Get<double>(part, 56);
  out.bytes = Get<uint64_t>(part, 80);
  out.plane = Get<uint16_t>(part, 98);
  out.data_type = part[101];
  out.link_type = part[102];
  out.transport_type = part[103];
  out.rdma_type = part[104];
  return out;
}

}  // namespace

struct Communication::Threads {
  struct One {
    std::vector<Call> launches, parts;
  };
  std::unordered_map<uint32_t, One> by_id;
};

void Communication::LoadHost(const SliceIndex& index, HostTrace* host, const StringPool& pool,
                             Diagnostics* diagnostics, const Progress& progress) {
  pool_ = &pool;
  const auto& files = index.all();  // asking the index for a file would count as showing it
  const auto there = [&](const char* kind) {
    return files.contains(fmt::format("host/data/aging.{}", kind)) ||
           files.contains(fmt::format("host/data/unaging.{}", kind));
  };
  if (there("additional.mc2_comm_info")) {
    constexpr uint32_t kMostStreams = 48;
    for (const char* ageing : {"aging", "unaging"}) {
      RecordReader reader(index.Get(fmt::format("host/data/{}.additional.mc2_comm_info", ageing)),
                          kAdditionalFormat, diagnostics, progress);
      while (const uint8_t* record = reader.Next()) {
        issuing_.insert(static_cast<uint16_t>(Get<uint32_t>(record, 44)));
        const uint32_t count = std::min(Get<uint32_t>(record, 48), kMostStreams);
        for (uint32_t i = 0; i < count; ++i)
          issuing_.insert(static_cast<uint16_t>(Get<uint32_t>(record, 52 + 4 * i)));
      }
    }
  }
  if (!there("additional.hccl_info") && !there("compact.hccl_op_info")) return;
  constexpr uint32_t kSlave = 0x010002, kLaunch = 5;
  Threads threads;
  const auto is = [&](const Api& api, uint32_t type, const char* name) {
    return host->names().has_types() ? pool[host->names().Type(api.level, api.type)] == name
                                     : api.type == type;
  };
  ForEachApi(index, nullptr, progress, [&](const Api& api) {
    if (api.level == kLevelHccl) {
      threads.by_id[api.thread].parts.push_back({api.begin, api.end, api.number, is(api, kSlave, "slave")});
    } else if (api.level == kLevelNode && is(api, kLaunch, "launch")) {
      threads.by_id[api.thread].launches.push_back({api.begin, api.end, api.number, false});
    }
  });
  for (auto& [id, thread] : threads.by_id) {
    std::sort(thread.launches.begin(), thread.launches.end(), ByBegin);
    std::sort(thread.parts.begin(), thread.parts.end(), ByBegin);
    for (const Call& part : thread.parts) {
      if (const Call* launch = Enclosing(thread.launches, part.end))
        launches_[launch->number].parts.push_back({part.begin, part.end, part.slave, false, {}});
    }
  }
  ReadTransfers(index, host, &threads, diagnostics, progress);
  ReadDescriptions(index, host, &threads, diagnostics, progress);
}

void Communication::ReadTransfers(const SliceIndex& index, HostTrace* host, Threads* threads,
                                  Diagnostics* diagnostics, const Progress& progress) {
  for (const char* ageing : {"aging", "unaging"}) {
    RecordReader reader(index.Get(fmt::format("host/data/{}.additional.hccl_info", ageing)),
                        kAdditionalFormat, diagnostics, progress);
    while (const uint8_t* record = reader.Next()) {
      const auto thread = threads->by_id.find(Get<uint32_t>(record, 8));
      if (thread == threads->by_id.end()) continue;
      const auto time = Get<uint64_t>(record, 16);
      const Call* part = Enclosing(thread->second.parts, time);
      const Call* launch = part ? Enclosing(thread->second.launches, part->end) : nullptr;
      if (!launch) continue;
      auto& parts = launches_[launch->number].parts;
      const auto place = std::find_if(parts.begin(), parts.end(), [&](const Part& p) {
        return p.begin == part->begin && p.end == part->end;
      });
      if (place == parts.end()) continue;
      Transfer& out = place->transfer;
      place->announced = true;
      out.name = host->names().Name(Get<uint64_t>(record, 24));
      out.group = Get<uint64_t>(record, 40);
      out.local_rank = Get<uint32_t>(record, 48);
      out.remote_rank = Get<uint32_t>(record, 52);
      out.ranks = Get<uint32_t>(record, 56);
      out.plane = Get<uint32_t>(record, 64);
      out.notify = Get<uint64_t>(record, 72);
      out.estimated_us = Get<double>(record, 88);
      out.bytes = Get<uint64_t>(record, 112);
      out.data_type = Get<uint32_t>(record, 124);
      out.link_type = Get<uint32_t>(record, 128);
      out.transport_type = Get<uint32_t>(record, 132);
      out.rdma_type = Get<uint32_t>(record, 136);
    }
  }
}

void Communication::ReadDescriptions(const SliceIndex& index, HostTrace* host, Threads* threads,
                                     Diagnostics* diagnostics, const Progress& progress) {
  for (const char* ageing : {"aging", "unaging"}) {
    RecordReader reader(index.Get(fmt::format("host/data/{}.compact.hccl_op_info", ageing)), kCompactFormat,
                        diagnostics, progress);
    while (const uint8_t* record = reader.Next()) {
      const auto thread = threads->by_id.find(Get<uint32_t>(record, 8));
      if (thread == threads->by_id.end()) continue;
      const Call* launch = Enclosing(thread->second.launches, Get<uint64_t>(record, 16));
      if (!launch) continue;
      Launch& out = launches_[launch->number];
      out.described = true;
      out.description = {Get<uint64_t>(record, 42), Get<uint64_t>(record, 34),
                         host->names().Name(Get<uint64_t>(record, 26)), record[24], record[25]};
    }
  }
}

void Communication::LoadDevice(int device, const Slices& aicpu, HostTrace* host, Diagnostics*,
                               const Progress& progress) {
  issued_.clear();
  mains_.clear();
  issued_device_ = device;
  if (issuing_.empty()) return;
  Diagnostics again;  // the table of these records reports what is broken
  RecordReader reader(aicpu, kAdditionalFormat, &again, progress);
  while (const uint8_t* record = reader.Next()) {
    const auto type = Get<uint32_t>(record, 4);
    if (type == kMainStream) {
      constexpr uint16_t kHead = 0;
      MainStream& main = mains_[Get<uint16_t>(record, 28)];
      (Get<uint16_t>(record, 32) == kHead ? main.first : main.last) = Get<uint16_t>(record, 30);
    } else if (type == kIssuedTasks) {
      for (size_t i = 0; i < kIssuedPerRecord; ++i) {
        const uint8_t* part = record + kIssuedFirst + i * kIssuedBytes;
        if (Get<uint64_t>(part, 0) == 0) continue;  // room that is not used
        issued_[Ids(Get<uint16_t>(part, 96), Get<uint16_t>(part, 88))].transfers.push_back(
            ReadIssued(part, host));
      }
    }
  }
}

size_t Communication::CollectiveOf(const TaskView& view, const Operator& op, const StringPool& pool) {
  const uint32_t connection = view.track->connection;
  const auto [latest, fresh] = latest_.try_emplace({view.device, connection, op.name}, collectives_.size());
  if (!fresh && collectives_[latest->second].first_track != view.task->track) return latest->second;
  latest->second = collectives_.size();  // met again when a captured graph is replayed
  Collective out;
  out.device = view.device;
  out.name = op.name;
  out.type = op.type;
  out.model = view.model;
  out.connection = connection;
  out.first_track = view.task->track;
  out.start_ns = view.start_ns;
  out.end_ns = view.end_ns;
  const auto launch = launches_.find(connection);
  if (launch != launches_.end()) {
    const auto& parts = launch->second.parts;
    const auto announced =
        std::find_if(parts.begin(), parts.end(), [](const Part& p) { return p.announced; });
    if (announced != parts.end()) {
      out.group = announced->transfer.group;
      out.ranks = announced->transfer.ranks;
      out.data_type = announced->transfer.data_type;
    }
    if (launch->second.described) {
      const Description& described = launch->second.description;
      out.group = described.group;
      out.count = described.count;
      out.algorithm = described.algorithm;
      out.data_type = described.data_type;
      out.relay = described.flags & 1;
      out.retry = described.flags & 2;
    }
  }
  const std::pair group(view.device, out.group);
  const std::string digits = fmt::format("{:03}", out.group % 1000);
  constexpr int kIteration = 1;
  out.label = fmt::format("{}_{}_{}_{}", pool[op.name], digits, places_[group]++, kIteration);
  latest_of_group_[group] = collectives_.size();
  collectives_.push_back(std::move(out));
  return latest->second;
}

void Communication::Add(const TaskView& view, HostTrace* host, uint64_t task) {
  if (!view.track) return AddIssued(view, task);
  const Operator* collective = nullptr;
  const auto operators = host->Operators(*view.track);
  for (const Operator& op : operators) {
    if (op.task_type == kNodeCommunication) collective = &op;
  }
  if (!collective) return;
  const auto launch = launches_.find(view.track->connection);
  const Part* part = nullptr;
  if (launch != launches_.end()) {
    const auto& parts = launch->second.parts;
    const auto after = std::partition_point(parts.begin(), parts.end(),
                                            [&](const Part& p) { return p.begin < view.track->time; });
    if (after != parts.begin() && std::prev(after)->end >= view.track->time) part = &*std::prev(after);
  }
  const bool master = !part || !part->slave;
  size_t place;
  if (master) {
    place = CollectiveOf(view, *collective, *pool_);
    Master(view, &collectives_[place]);
  } else {
    const auto latest = latest_.find({view.device, view.track->connection, collective->name});
    place = latest != latest_.end() ? latest->second : CollectiveOf(view, *collective, *pool_);
  }
  if (!part || !part->announced) return;
  planes_[{place, view.task->stream}] = part->transfer.plane;
  Keep(view, place, task, part->transfer, master);
}

// A task of another plane may come first, and is no part of the time of the collective.
void Communication::Master(const TaskView& view, Collective* collective) {
  if (!collective->mastered) {
    collective->mastered = true;
    collective->start_ns = view.start_ns;
    collective->end_ns = view.end_ns;
  }
  collective->end_ns = std::max(collective->end_ns, view.end_ns);
}

void Communication::Keep(const TaskView& view, size_t collective, uint64_t task, const Transfer& transfer,
                         bool master) {
  if (!keeps_tasks_) return;
  tasks_.push_back({collective, task, transfer, view.start_ns, view.end_ns - view.start_ns, master,
                    view.task->stream, view.task->task,
                    view.task->is_subtask ? view.task->context : kNoContext, view.model});
}

bool Communication::Schedules(const TaskView& view, const StringPool& pool) const {
  const std::string_view name = pool[view.op->name];
  return IssuesCollectives(view.task->stream) || name.ends_with("AicpuKernel") || name.ends_with("AivKernel");
}

// Of such a task the host knows nothing: the device tells it by stream and number, and the group says to which of the
// collectives that are under way it belongs.
void Communication::AddIssued(const TaskView& view, uint64_t task) {
  const auto issued = issued_.find(Ids(view.task->stream, view.task->task));
  if (view.device != issued_device_ || issued == issued_.end()) return;
  Issued& known = issued->second;
  if (known.next >= known.transfers.size()) return;
  Transfer transfer = known.transfers[known.next++];
  const auto latest = latest_of_group_.find({view.device, transfer.group});
  if (latest == latest_of_group_.end()) return;
  const size_t place = latest->second;
  const auto main = mains_.find(view.task->stream);
  const bool master =
      main != mains_.end() && view.task->task > main->second.first && view.task->task <= main->second.last;
  // Numbers of planes begin anew on the device; a stream is a plane of its own.
  const auto [plane, fresh] = planes_.try_emplace({place, view.task->stream}, transfer.plane);
  if (fresh) {
    const auto taken = [&](uint32_t number) {
      return std::any_of(planes_.lower_bound({place, 0}), planes_.upper_bound({place, UINT16_MAX}),
                         [&](const auto& other) {
                           return other.first.second != view.task->stream && other.second == number;
                         });
    };
    while (taken(plane->second)) ++plane->second;
  }
  transfer.plane = plane->second;
  if (master) Master(view, &collectives_[place]);
  Keep(view, place, task, transfer, master);
}

}  // namespace npuprof::analysis
