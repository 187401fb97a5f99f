// SPDX-License-Identifier: Apache-2.0
#include "analysis/timeline.h"

#include <fmt/format.h>

#include "analysis/names.h"

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
      break;
  }
  return "";
}

std::string DeviceLabel(int device, bool simulated) {
  return fmt::format("NPU {}{}", simulated ? "(simulated) " : "", device);
}

std::string FlowId(uint32_t connection) {
  return std::to_string(static_cast<uint64_t>(connection) << 32);
}

}  // namespace

Timeline::Timeline(const std::filesystem::path& path, uint64_t pid, uint32_t apis, StringPool* pool)
    : file_(path), pid_(pid), pool_(pool), linked_(apis + 1ull) {
  file_.Write("[");
}

void Timeline::Event(const std::string& body) {
  if (events_++ > 0) file_.Write(",\n");
  file_.Write(body);
}

const std::string& Timeline::Quoted(uint32_t text) {
  if (quoted_.size() <= text) quoted_.resize(pool_->size());
  std::string& out = quoted_[text];
  if (out.empty()) out = JsonString((*pool_)[text]);
  return out;
}

void Timeline::Process(uint64_t pid, const std::string& name, const std::string& label, Layer layer) {
  const auto metadata = [&](const char* kind, const std::string& args) {
    Event(fmt::format(R"({{"name":"{}","pid":{},"tid":0,"ph":"M","args":{{{}}}}})", kind, pid, args));
  };
  metadata("process_name", fmt::format(R"("name":{})", JsonString(name)));
  metadata("process_labels", fmt::format(R"("labels":"{}")", label));
  metadata("process_sort_index", fmt::format(R"("sort_index":{})", static_cast<int>(layer)));
  process_ = pid;
  threads_.clear();
}

void Timeline::Thread(uint64_t pid, uint64_t tid, const std::string& name) {
  if (!threads_.insert(tid).second) return;
  Event(fmt::format(R"({{"name":"thread_name","pid":{},"tid":{},"ph":"M","args":{{"name":{}}}}})", pid, tid,
                    JsonString(name)));
  Event(fmt::format(R"({{"name":"thread_sort_index","pid":{},"tid":{},"ph":"M","args":{{"sort_index":{}}}}})",
                    pid, tid, tid));
}

void Timeline::BeginDevice(int device, bool simulated) {
  Process(Pid(kHardware, static_cast<unsigned>(device) & 31), "Ascend Hardware",
          DeviceLabel(device, simulated), kHardware);
}

void Timeline::AddTask(const TaskView& view, HostTrace* host) {
  const DeviceTask& task = *view.task;
  Thread(process_, task.stream, fmt::format("Stream {}", task.stream));
  const std::string type = view.is_copy ? SqeName(task.sqe) : view.kernel_type;
  const std::string name = view.op ? Quoted(view.op->name) : JsonString(view.kernel_type);
  const uint32_t connection = view.track ? view.track->connection : 0;
  std::string args = fmt::format(
      R"("Model Id":{},"Task Type":{},"Physic Stream Id":{},"Task Id":{},"Batch Id":{},"Subtask Id":{},"connection_id":{})",
      view.model, JsonString(type), task.stream, task.task, task.batch,
      task.is_subtask ? task.context : kNoContext, connection != 0 ? connection : kUnconnected);
  const int64_t duration = view.end_ns - view.start_ns;
  if (view.is_copy && view.track->copy != 0) {
    const Copy& copy = host->copy(view.track->copy);
    // Bytes per nanosecond are gigabytes per second.
    const double rate = duration > 0 ? static_cast<double>(copy.bytes) / static_cast<double>(duration) : 0.0;
    args += fmt::format(R"x(,"size(B)":{},"bandwidth(GB/s)":{},"operation":"{}")x", copy.bytes, rate,
                        CopyDirection(copy.direction));
  }
  const std::string start = Micros(view.start_ns);
  Event(fmt::format(R"({{"name":{},"pid":{},"tid":{},"ts":"{}","dur":{},"ph":"X","args":{{{}}}}})", name,
                    process_, task.stream, start, JsonMicros(duration), args));
  // Tasks inside a collective hang on the collective; operators, copies and what ACL calls start have a flow.
  const bool flow = connection != 0 && (view.op || view.is_copy || (view.track->flags & Track::kFromAcl));
  if (!flow || connection >= linked_.size()) return;
  linked_[connection] = true;
  const std::string id = FlowId(connection);
  Event(fmt::format(
      R"({{"name":"HostToDevice{}","pid":{},"tid":{},"ph":"f","cat":"HostToDevice","id":"{}","ts":"{}","bp":"e"}})",
      id, process_, task.stream, id, start));
}

void Timeline::AddSteps(const std::vector<Step>& steps) {
  const auto slice = [&](uint64_t tid, const std::string& name, const char* category, int64_t begin,
                         int64_t end, const std::string& args) {
    Event(fmt::format(
        R"({{"name":"{}","pid":{},"tid":{},"ts":"{}","dur":{},"ph":"X","cat":"{}","args":{{{}}}}})", name,
        process_, tid, Micros(begin), JsonMicros(end - begin), category, args));
  };
  const auto moment = [](const std::optional<int64_t>& ns) { return ns ? Micros(*ns) : std::string("N/A"); };
  for (const auto& step : steps) {
    const uint64_t tid = static_cast<uint32_t>(step.model + kStepThreadBase);
    Thread(process_, tid, fmt::format("Step Trace(Model ID:{})", step.model));
    const std::string id = fmt::format(R"("Iteration ID":{})", step.index);
    if (step.begin) {
      slice(tid, fmt::format("Iteration {}", step.index), "Iteration Time", *step.begin, step.end,
            fmt::format(R"x({},"FP Start":"{}","BP End":"{}","Iteration End":"{}","Iteration Time(us)":{})x",
                        id, moment(step.forward_begin), moment(step.backward_end), Micros(step.end),
                        JsonMicros(step.end - *step.begin)));
    }
    if (step.forward_begin && step.backward_end && *step.backward_end >= *step.forward_begin) {
      slice(tid, fmt::format("FP_BP Time {}", step.index), "FP_BP Time", *step.forward_begin,
            *step.backward_end, id);
    }
    if (step.backward_end && step.end >= *step.backward_end) {
      slice(tid, fmt::format("Iteration Refresh {}", step.index), "Iteration Refresh", *step.backward_end,
            step.end, id);
    }
    if (step.data_bound) {
      slice(tid, fmt::format("Data_aug Bound {}", step.index), "Data_aug Bound",
            *step.forward_begin - *step.data_bound, *step.forward_begin, id);
    }
    for (size_t i = 0; i < step.reduces.size(); ++i) {
      slice(tid, fmt::format("Reduce_{}_{}", step.index, i), "Reduce", step.reduces[i].begin,
            step.reduces[i].end, id);
    }
    for (const auto& span : step.next_batches) {
      slice(tid, fmt::format("GetNext {}", step.index), "GetNext Time", span.begin, span.end, id);
    }
  }
}

uint64_t Timeline::BeginCounters(Layer layer, std::optional<int> device, bool simulated) {
  const uint64_t pid = Pid(layer, device ? static_cast<unsigned>(*device) & 31 : kHostSlot);
  Process(pid, LayerName(layer), device ? DeviceLabel(*device, simulated) : "CPU", layer);
  return pid;
}

void Timeline::Counter(uint64_t process, const std::string& name, int64_t wall_ns, const std::string& args) {
  Event(fmt::format(R"({{"name":{},"pid":{},"tid":0,"ts":"{}","ph":"C","args":{{{}}}}})", name, process,
                    Micros(wall_ns), args));
}

void Timeline::BeginMarks(const std::string& process) {
  Process(Pid(kFramework, kHostSlot), process, "CPU", kFramework);
}

void Timeline::Flow(uint64_t pid, uint64_t thread, const char* phase, uint64_t number, int64_t wall_ns) {
  const uint64_t id = kFirstMarkFlow + number;
  Event(fmt::format(R"({{"name":"MsTx_{}","pid":{},"tid":{},"ph":"{}","cat":"MsTx","id":"{}","ts":"{}"{}}})",
                    id, pid, thread, phase, id, Micros(wall_ns), *phase == 'f' ? R"(,"bp":"e")" : ""));
}

void Timeline::AddMark(uint32_t thread, std::string_view name, int64_t begin_ns, int64_t end_ns,
                       const std::string& args, std::optional<uint64_t> number) {
  const uint64_t pid = Pid(kFramework, kHostSlot);
  Thread(pid, thread, fmt::format("Thread {}", thread));
  Event(fmt::format(R"({{"name":{},"pid":{},"tid":{},"ts":"{}","dur":{},"ph":"X","args":{{{}}}}})",
                    JsonString(name), pid, thread, Micros(begin_ns), JsonMicros(end_ns - begin_ns), args));
  if (number) Flow(pid, thread, "s", *number, begin_ns);
}

void Timeline::AddDeviceMark(int device, bool simulated, uint16_t stream, uint16_t task,
                             std::string_view name, int64_t begin_ns, int64_t end_ns, uint64_t number) {
  const uint64_t pid = Pid(kHardware, static_cast<unsigned>(device) & 31);
  // Marks come when the device's own events are written already, so their process and streams may be told twice.
  const auto [threads, first] = mark_threads_.try_emplace(device);
  std::swap(threads_, threads->second);
  if (first) {
    Process(pid, "Ascend Hardware", DeviceLabel(device, simulated), kHardware);
  }
  Thread(pid, stream, fmt::format("Stream {}", stream));
  std::swap(threads_, threads->second);
  Event(fmt::format(
      R"({{"name":{},"pid":{},"tid":{},"ts":"{}","dur":{},"ph":"X","args":{{"Physic Stream Id":{},"Task Id":{}}}}})",
      JsonString(name), pid, stream, Micros(begin_ns), JsonMicros(end_ns - begin_ns), stream, task));
  Flow(pid, stream, "f", number, begin_ns);
}

void Timeline::BeginHost() {
  Process(Pid(kCann, kHostSlot), "CANN", "CPU", kCann);
}

void Timeline::AddApi(const Api& api, HostTrace* host) {
  const char* level = LevelName(api.level);
  if (*level == '\0') return;
  Thread(process_, api.thread, fmt::format("Thread {}", api.thread));
  const uint32_t shown = host->ApiName(api.level, api.type, api.item);
  const int64_t begin = host->clock().Wall(api.begin), end = host->clock().Wall(api.end);
  const std::string start = Micros(begin);
  std::string mode, id = "\"0\"", item;
  if (api.level == kLevelAcl) {
    mode = JsonString(AclMode(api.type));
    id = Quoted(shown);
  } else {
    mode = Quoted(host->TypeName(api.level, api.type));
  }
  item = api.level == kLevelModel || api.item == 0 ? fmt::format("\"{}\"", api.item)
                                                   : Quoted(host->names().Name(api.item));
  const std::string name = JsonString(fmt::format("{}@{}", LevelPrefix(api.level), (*pool_)[shown]));
  Event(fmt::format(
      R"({{"name":{},"pid":{},"tid":{},"ts":"{}","dur":{},"ph":"X","args":{{"Thread Id":{},"Mode":{},"level":"{}","id":{},"item_id":{},"connection_id":{}}}}})",
      name, process_, api.thread, start, JsonMicros(end - begin), api.thread, mode, level, id, item,
      api.number));
  if (api.number >= linked_.size() || !linked_[api.number]) return;
  const std::string flow = FlowId(api.number);
  Event(fmt::format(
      R"({{"name":"HostToDevice{}","pid":{},"tid":{},"ph":"s","cat":"HostToDevice","id":"{}","ts":"{}"}})",
      flow, process_, api.thread, flow, start));
}

void Timeline::Commit() {
  file_.Write("]\n");
  file_.Commit();
}

}  // namespace npuprof::analysis
