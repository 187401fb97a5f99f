// SPDX-License-Identifier: Apache-2.0
#include "analysis/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "analysis/names.h"
#include "analysis/text.h"

namespace npuprof::analysis {
namespace {

// Consumers tell "no connection" by this value.
constexpr uint64_t kUnconnected = UINT64_MAX;
constexpr uint64_t kStepThreadBase = 70000;
constexpr uint64_t kFirstMarkFlow = 4'000'000'001;

const char* LayerName(Timeline::Layer layer) {
  switch (layer) {
    case Timeline::kCpuUsage:
      return "CPU Usage";
    case Timeline::kMemoryUsage:
      return "Memory Usage";
    case Timeline::kNetworkUsage:
      return "Network Usage";
    case Timeline::kCoreFrequency:
      return "AI Core Freq";
    case Timeline::kNpuMemory:
      return "NPU MEM";
    case Timeline::kAccelerators:
      return "Acc PMU";
    case Timeline::kHccs:
      return "HCCS";
    case Timeline::kNic:
      return "NIC";
    case Timeline::kRoce:
      return "RoCE";
    case Timeline::kPcie:
      return "PCIe";
    case Timeline::kHbm:
      return "HBM";
    case Timeline::kSocInfo:
      return "Stars Soc Info";
    case Timeline::kChipTransfer:
      return "Stars Chip Trans";
    case Timeline::kLlc:
      return "LLC";
    case Timeline::kSio:
      return "SIO";
    case Timeline::kQos:
      return "QoS";
    case Timeline::kFramework:
    case Timeline::kCann:
    case Timeline::kHardware:
    case Timeline::kCommunication:
    case Timeline::kOverlap:
      break;
  }
  return "";
}

uint64_t FlowId(uint32_t connection) {
  return static_cast<uint64_t>(connection) << 32;
}

TimelineFlow HostToDevice(uint32_t connection, TimelineFlow::End end) {
  return {"HostToDevice", "HostToDevice", FlowId(connection), end};
}

TimelineFlow MarkFlow(uint64_t number, TimelineFlow::End end) {
  return {"MsTx_", "MsTx", kFirstMarkFlow + number, end};
}

}  // namespace

std::string Timeline::DeviceLabel(int device, bool simulated) {
  return fmt::format("NPU {}{}", simulated ? "(simulated) " : "", device);
}

TimelineFlow Timeline::FlowFromHost(uint32_t connection) {
  return HostToDevice(connection, TimelineFlow::End::kFinish);
}

bool Timeline::Link(uint32_t connection) {
  if (connection == 0 || connection >= linked_.size()) return false;
  linked_[connection] = true;
  return true;
}

Timeline::Timeline(uint64_t pid, uint32_t apis, const StringPool* pool)
    : pid_(pid), pool_(pool), linked_(apis + 1ull) {}

void Timeline::Process(uint64_t pid, std::string_view name, std::string_view label, Layer layer) {
  for (auto& writer : writers_) writer->Process(pid, name, label, layer);
  process_ = pid;
  threads_.clear();
  last_thread_.reset();
}

void Timeline::Thread(uint64_t pid, uint64_t tid, std::string_view prefix, int64_t number,
                      std::string_view suffix) {
  if (last_thread_ == tid) return;
  last_thread_ = tid;
  if (!threads_.insert(tid).second) return;
  Thread(pid, tid, fmt::format("{}{}{}", prefix, number, suffix));
}

void Timeline::Thread(uint64_t pid, uint64_t tid, const std::string& name) {
  for (auto& writer : writers_) writer->Thread(pid, tid, name);
}

void Timeline::Slice(const TimelineSlice& slice) {
  for (auto& writer : writers_) writer->Slice(slice);
}

void Timeline::BeginDevice(int device, bool simulated) {
  Process(Pid(kHardware, static_cast<unsigned>(device) & 31), "Ascend Hardware",
          DeviceLabel(device, simulated), kHardware);
}

void Timeline::AddTask(const TaskView& view, const HostTrace& host) {
  using Arg = TimelineArg;
  const DeviceTask& task = *view.task;
  Thread(process_, task.stream, "Stream ", task.stream);
  const uint32_t connection = view.track ? view.track->connection : 0;
  const int64_t duration = view.end_ns - view.start_ns;
  std::array<Arg, 10> args{
      Arg::Number("Model Id", view.model),
      Arg::Text("Task Type", view.is_copy ? std::string_view(SqeName(task.sqe)) : view.kernel_type),
      Arg::Number("Physic Stream Id", task.stream),
      Arg::Number("Task Id", task.task),
      Arg::Number("Batch Id", task.batch),
      Arg::Number("Subtask Id", task.is_subtask ? task.context : kNoContext),
      Arg::Number("connection_id", connection != 0 ? connection : kUnconnected)};
  size_t count = 7;
  if (view.is_copy && view.track->copy != 0) {
    const Copy& copy = host.copy(view.track->copy);
    // Bytes per nanosecond are gigabytes per second.
    const double rate = duration > 0 ? static_cast<double>(copy.bytes) / static_cast<double>(duration) : 0.0;
    args[count++] = Arg::Number("size(B)", copy.bytes);
    args[count++] = Arg::Real("bandwidth(GB/s)", rate);
    args[count++] = Arg::Text("operation", CopyDirection(copy.direction));
  }
  TimelineSlice slice{process_,      task.stream, {}, view.op ? (*pool_)[view.op->name] : view.kernel_type,
                      view.start_ns, view.end_ns, {}, {args.data(), count}};
  // Tasks inside a collective hang on the collective; operators, copies and what ACL calls start have a flow.
  const bool has_flow = view.track && (view.op || view.is_copy || (view.track->flags & Track::kFromAcl));
  const TimelineFlow flow = FlowFromHost(connection);
  if (has_flow && Link(connection)) slice.flow = &flow;
  Slice(slice);
}

void Timeline::AddSteps(const std::vector<Step>& steps) {
  using Arg = TimelineArg;
  const auto moment = [](const std::optional<int64_t>& ns) { return ns ? Micros(*ns) : std::string("N/A"); };
  for (const auto& step : steps) {
    const uint64_t tid = static_cast<uint32_t>(step.model + kStepThreadBase);
    Thread(process_, tid, "Step Trace(Model ID:", static_cast<int64_t>(step.model), ")");
    const Arg id = Arg::Number("Iteration ID", step.index);
    const auto slice = [&](const std::string& name, const char* category, int64_t begin, int64_t end,
                           std::span<const Arg> args) {
      Slice({process_, tid, {}, name, begin, end, category, args});
    };
    const auto part = [&](const std::string& name, const char* category, int64_t begin, int64_t end) {
      slice(name, category, begin, end, {&id, 1});
    };
    const std::string index = std::to_string(step.index);
    if (step.begin) {
      const std::string forward = moment(step.forward_begin), backward = moment(step.backward_end);
      const std::string end = Micros(step.end);
      const std::array args{id, Arg::Text("FP Start", forward), Arg::Text("BP End", backward),
                            Arg::Text("Iteration End", end),
                            Arg::Micros("Iteration Time(us)", step.end - *step.begin)};
      slice("Iteration " + index, "Iteration Time", *step.begin, step.end, args);
    }
    if (step.forward_begin && step.backward_end && *step.backward_end >= *step.forward_begin)
      part("FP_BP Time " + index, "FP_BP Time", *step.forward_begin, *step.backward_end);
    if (step.backward_end && step.end >= *step.backward_end)
      part("Iteration Refresh " + index, "Iteration Refresh", *step.backward_end, step.end);
    if (step.data_bound) {
      part("Data_aug Bound " + index, "Data_aug Bound", *step.forward_begin - *step.data_bound,
           *step.forward_begin);
    }
    for (size_t i = 0; i < step.reduces.size(); ++i) {
      part(fmt::format("Reduce_{}_{}", step.index, i), "Reduce", step.reduces[i].begin, step.reduces[i].end);
    }
    for (const auto& span : step.next_batches) part("GetNext " + index, "GetNext Time", span.begin, span.end);
  }
}

uint64_t Timeline::BeginCounters(Layer layer, std::optional<int> device, bool simulated) {
  const uint64_t pid = Pid(layer, device ? static_cast<unsigned>(*device) & 31 : kHostSlot);
  Process(pid, LayerName(layer), device ? DeviceLabel(*device, simulated) : "CPU", layer);
  return pid;
}

void Timeline::Counter(uint64_t process, std::string_view name, int64_t wall_ns,
                       std::span<const TimelineArg> values) {
  for (auto& writer : writers_) writer->Counter(process, name, wall_ns, values);
}

void Timeline::BeginMarks(const std::string& process) {
  Process(Pid(kFramework, kHostSlot), process, "CPU", kFramework);
}

void Timeline::AddMark(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns,
                       std::span<const TimelineArg> args, std::optional<uint64_t> number) {
  const uint64_t pid = Pid(kFramework, kHostSlot);
  Thread(pid, thread, "Thread ", thread);
  const TimelineFlow flow = MarkFlow(number.value_or(0), TimelineFlow::End::kStart);
  Slice({pid, thread, {}, name, begin_ns, end_ns, {}, args, number ? &flow : nullptr});
}

void Timeline::AddDeviceMark(int device, bool simulated, uint16_t stream, uint16_t task,
                             std::string_view name, int64_t begin_ns, int64_t end_ns, uint64_t number) {
  const uint64_t pid = Pid(kHardware, static_cast<unsigned>(device) & 31);
  // Marks come when the device's own events are written already, so their process and streams may be told twice.
  const auto [threads, first] = mark_threads_.try_emplace(device);
  std::swap(threads_, threads->second);
  last_thread_.reset();
  if (first) {
    Process(pid, "Ascend Hardware", DeviceLabel(device, simulated), kHardware);
  }
  Thread(pid, stream, "Stream ", stream);
  std::swap(threads_, threads->second);
  last_thread_.reset();
  const std::array args{TimelineArg::Number("Physic Stream Id", stream),
                        TimelineArg::Number("Task Id", task)};
  const TimelineFlow flow = MarkFlow(number, TimelineFlow::End::kFinish);
  Slice({pid, stream, {}, name, begin_ns, end_ns, {}, args, &flow});
}

void Timeline::BeginHost() {
  Process(Pid(kCann, kHostSlot), "CANN", "CPU", kCann);
}

void Timeline::AddApi(const Api& api, HostTrace* host) {
  if (*LevelName(api.level) == '\0') return;
  ShowApi(api, host, false);
  const auto wants = [](const auto& writer) { return writer->wants_nesting(); };
  if (std::any_of(writers_.begin(), writers_.end(), wants)) held_back_.push_back(api);
}

void Timeline::EndHost(HostTrace* host) {
  std::sort(held_back_.begin(), held_back_.end(), [](const Api& a, const Api& b) {
    return std::tie(a.thread, a.begin, b.end, a.number) < std::tie(b.thread, b.begin, a.end, b.number);
  });
  for (const Api& api : held_back_) ShowApi(api, host, true);
  held_back_ = {};
}

void Timeline::ShowApi(const Api& api, HostTrace* host, bool nested) {
  using Arg = TimelineArg;
  Thread(process_, api.thread, "Thread ", api.thread);
  const uint32_t shown = host->ApiName(api.level, api.type, api.item);
  const bool acl = api.level == kLevelAcl;
  char number[24];
  const auto end = std::to_chars(number, number + sizeof(number), api.item).ptr;
  const std::string_view mode = acl ? AclMode(api.type) : (*pool_)[host->TypeName(api.level, api.type)];
  const std::string_view item = api.level == kLevelModel || api.item == 0
                                    ? std::string_view(number, static_cast<size_t>(end - number))
                                    : (*pool_)[host->names().Name(api.item)];
  const std::array args{Arg::Number("Thread Id", api.thread),
                        Arg::Text("Mode", mode),
                        Arg::Text("level", LevelName(api.level)),
                        Arg::Text("id", acl ? (*pool_)[shown] : "0"),
                        Arg::Text("item_id", item),
                        Arg::Number("connection_id", api.number)};
  const TimelineFlow flow = HostToDevice(api.number, TimelineFlow::End::kStart);
  const bool linked = api.number < linked_.size() && linked_[api.number];
  const TimelineSlice slice{process_,
                            api.thread,
                            LevelPrefix(api.level),
                            (*pool_)[shown],
                            host->clock().Wall(api.begin),
                            host->clock().Wall(api.end),
                            {},
                            args,
                            linked ? &flow : nullptr};
  for (auto& writer : writers_) {
    if (writer->wants_nesting() == nested) writer->Slice(slice);
  }
}

uint64_t Timeline::events() const {
  uint64_t most = 0;
  for (const auto& writer : writers_) most = std::max(most, writer->events());
  return most;
}

std::vector<std::filesystem::path> Timeline::files() const {
  std::vector<std::filesystem::path> all;
  for (const auto& writer : writers_) {
    const auto files = writer->files();
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

void Timeline::Commit() {
  for (auto& writer : writers_) writer->Commit();
}

}  // namespace npuprof::analysis
