// SPDX-License-Identifier: Apache-2.0
#include "database/task_rows.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/names.h"
#include "analysis/payload_runs.h"

namespace npuprof::database {

using namespace analysis;  // NOLINT: the decoder's words are used in every line

namespace {

constexpr int64_t kUnconnected = -1;

}  // namespace

TaskRows::TaskRows(const Profile& profile, HostTrace* host, const StringPool& pool, TableSet* tables,
                   Communication* communication, SpillSpace* space)
    : host_(host),
      pool_(pool),
      tables_(tables),
      communication_(communication),
      strings_(tables->strings()),
      process_(profile.pid()),
      task_(tables->Of("TASK")),
      computed_(tables->Of("COMPUTE_TASK_INFO")),
      counted_(tables->Of("TASK_PMU_INFO")),
      overlap_(space) {}

void TaskRows::BeginDevice(const DeviceInfo& device, const DeviceTrace& trace, const DeviceClock& clock,
                           const PmuColumns* columns) {
  device_ = &device;
  trace_ = &trace;
  clock_ = &clock;
  columns_ = columns;
  counters_.clear();
  if (columns) {
    loader_ = std::make_unique<RecordLoader>(trace.pmu_slices(), kTaskPmuFormat.bytes);
    for (const auto& [column, name] : columns->SingleSided())
      counters_.emplace_back(column, strings_.Of(name));
  }
  numbers_.reserve(trace.tasks().size());
}

std::pair<uint64_t, bool> TaskRows::Number(const DeviceTask& task) {
  constexpr uint16_t kWhole = UINT16_MAX;
  const uint64_t ids = static_cast<uint64_t>(task.stream) << 48 | static_cast<uint64_t>(task.task) << 32 |
                       static_cast<uint64_t>(task.is_subtask ? task.context : kWhole) << 16 | task.batch;
  const auto [place, fresh] = numbers_.try_emplace(ids, next_task_);
  if (fresh) ++next_task_;
  return {place->second, fresh};
}

void TaskRows::Add(const DeviceTask& task) {
  TaskView view = DescribeTask(*host_, device_->id, *clock_, task);
  if (task.is_whole) view.op = nullptr;  // its parts are the operator
  const auto [number, fresh] = Number(task);
  const Track* track = view.track;
  const int64_t connection = track && track->connection != 0 ? track->connection : kUnconnected;
  const std::string_view type = track ? std::string_view(host_->type_name(track->type)) : SqeName(task.sqe);
  task_.Row({view.start_ns, view.end_ns, device_->id, connection, number, process_, strings_.Of(type),
             task.is_subtask ? task.context : kNoContext, task.stream, task.task, view.model});
  if (view.is_copy && track->copy != 0) {
    const Copy& copy = host_->copy(track->copy);
    constexpr uint16_t kMostDirection = 7, kOther = UINT16_MAX;
    if (fresh)
      tables_->Row("MEMCPY_INFO",
                   {number, copy.bytes, copy.direction <= kMostDirection ? copy.direction : kOther});
  }
  const bool schedules = view.op && communication_->Schedules(view, pool_);
  overlap_.Add(view.start_ns, view.end_ns, view.op && !schedules);
  if (view.op) {
    if (fresh) Describe(view, number, schedules);
    Count(view, number);
  }
  communication_->Add(view, host_, number);
}

void TaskRows::Describe(const TaskView& view, uint64_t task, bool schedules) {
  const Operator& op = *view.op;
  const auto text = [&](uint32_t id) { return strings_.OfPool(id); };
  const int64_t type = strings_.Of(view.kernel_type);
  if (schedules) {
    tables_->Row("COMMUNICATION_SCHEDULE_TASK_INFO", {text(op.name), task, type, text(op.type)});
    return;
  }
  const int64_t unknown = strings_.Of("N/A");
  computed_.Row({text(op.name), task, op.block_num, op.mix_block_num, type, text(op.type),
                 text(op.input_formats), text(op.input_types), text(op.input_shapes), text(op.output_formats),
                 text(op.output_types), text(op.output_shapes), strings_.Of(""),
                 strings_.Of(op.is_static ? "static" : "dynamic"), strings_.Of(op.hf32 ? "YES" : "NO"),
                 unknown, unknown});
}

void TaskRows::Count(const TaskView& view, uint64_t task) {
  uint8_t record[kTaskPmuFormat.bytes];
  if (!columns_ || view.task->pmu == DeviceTask::kNoPmu || !loader_->Load(view.task->pmu, record)) return;
  const TaskPmu pmu = DeviceTrace::DecodePmu(record);
  const auto prepared = columns_->Prepare(&pmu, trace_->side_sum(view.task->side), *view.op,
                                          trace_->FrequencyAt(view.task->end), view.end_ns - view.start_ns);
  for (const auto& [column, name] : counters_) {
    if (const auto value = columns_->Number(prepared, column)) counted_.Row({task, name, *value});
  }
}

void TaskRows::AddMark(uint64_t number, const DeviceMark& mark) {
  task_.Row({mark.begin_ns, mark.end_ns, mark.device, kFirstMarkConnection + number, next_task_++, process_,
             strings_.Of("MsTx"), kNoContext, mark.stream, mark.task, kNoModel});
}

void TaskRows::EndDevice() {
  std::vector<Span> communicating;
  for (const Collective& collective : communication_->collectives()) {
    if (collective.device == device_->id) communicating.push_back({collective.start_ns, collective.end_ns});
  }
  overlap_.ForEach(Union(std::move(communicating)), [&](OverlapKind kind, const Span& span) {
    tables_->Row("OVERLAP_ANALYSIS",
                 {next_overlap_++, device_->id, span.begin, span.end, static_cast<unsigned>(kind)});
  });
  overlap_.Clear();
  numbers_.clear();
  loader_.reset();
}

void TaskRows::Communicated() {
  const auto& all = communication_->collectives();
  const auto group = [&](uint64_t hash) { return strings_.OfPool(host_->names().Name(hash)); };
  for (size_t i = 0; i < all.size(); ++i) {
    const Collective& op = all[i];
    tables_->Row("COMMUNICATION_OP", {op.label, op.start_ns, op.end_ns, op.connection, group(op.group), i,
                                      op.relay, op.retry, op.data_type, strings_.OfPool(op.algorithm),
                                      op.count, strings_.OfPool(op.name), op.device, op.ranks});
  }
  std::vector<std::vector<const CollectiveTask*>> of(all.size());
  for (const CollectiveTask& task : communication_->tasks()) of[task.collective].push_back(&task);
  std::map<const CollectiveTask*, double> arrivals;  // sending a payload is over long before it is there
  for (size_t i = 0; i < all.size(); ++i) {
    const auto times = PayloadTimes(all[i], of[i], pool_);
    arrivals.insert(times.begin(), times.end());
  }
  for (const CollectiveTask& task : communication_->tasks()) {
    const Transfer& t = task.transfer;
    const auto arrival = arrivals.find(&task);
    const double seconds =
        arrival != arrivals.end() ? arrival->second / 1e3 : static_cast<double>(task.duration_ns) / 1e9;
    const double rate = seconds > 0 ? static_cast<double>(t.bytes) / seconds : 0;
    tables_->Row("COMMUNICATION_TASK_INFO",
                 {all[task.collective].label, task.task, strings_.OfPool(t.name), t.plane, group(t.group),
                  t.notify, t.rdma_type, t.local_rank, t.remote_rank, t.transport_type, t.bytes, t.data_type,
                  t.link_type, task.collective, task.master, rate});
  }
}

}  // namespace npuprof::database
