// SPDX-License-Identifier: Apache-2.0
// Profiles one window of tasks on one or more devices, each fed by its own thread, and prints as one line of
// JSON what the model of each device counted inside the window.
//
// usage: workload DIR [tasks=N] [devices=N] [streams=N] [before=N] [after=N] [kind=aic|aiv|mix|mixaiv|aicpu|ffts]
//                 [blocks=N] [cycles=N] [types=0x..] [metrics=N] [single=0|1] [sync=N] [units=N] [replay=N]
//                 [copies=N] [model=FILE] [set=TYPE:TEXT]...
// kind=ffts: tasks of four contexts, of which the first and the last are of one operator; blocks and cycles are fixed then.
// tasks, before and after are per device; before and after lie outside the window. single=1 launches tasks
// one call each instead of all by one call, and sync=N then waits for them after every N calls. With model=FILE a
// task is one execution of that model.
// replay=N: the tasks of a device are captured once, on its first stream, and what was captured is executed N times.
// units=N: N rounds, too, of work for all that is no core: media engines, network, links to the host and between
// devices, AI CPU. A round takes some 20 ms of the device. copies=N: N times a copy that is waited for, and one that is
// not. The line tells, too, how often each function was called within the window.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "counted.h"
#include "npusim/npusim.h"

namespace {

struct Options {
  std::string dir, model;
  uint64_t tasks = 1000, before = 0, after = 0, cycles = 2000, sync = 0;
  uint32_t devices = 1, streams = 1, blocks = 8, metrics = 1;
  uint64_t types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API;
  uint64_t units = 0, replay = 0, copies = 0;
  bool single = false, contexts = false;
  int kind = NPUSIM_OP_AI_CORE;
  std::vector<std::pair<int, std::string>> settings;
};

bool Parse(int argc, char** argv, Options* o) {
  if (argc < 2) return false;
  o->dir = argv[1];
  const std::map<std::string, int> kinds = {{"aic", NPUSIM_OP_AI_CORE},
                                            {"aiv", NPUSIM_OP_AI_VECTOR_CORE},
                                            {"mix", NPUSIM_OP_MIX_AIC},
                                            {"mixaiv", NPUSIM_OP_MIX_AIV},
                                            {"aicpu", NPUSIM_OP_AI_CPU}};
  for (int i = 2; i < argc; i++) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) return false;
    const std::string key = argument.substr(0, equals), value = argument.substr(equals + 1);
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 0);
    if (key == "tasks")
      o->tasks = number;
    else if (key == "before")
      o->before = number;
    else if (key == "after")
      o->after = number;
    else if (key == "cycles")
      o->cycles = number;
    else if (key == "devices")
      o->devices = static_cast<uint32_t>(number);
    else if (key == "streams")
      o->streams = static_cast<uint32_t>(number);
    else if (key == "blocks")
      o->blocks = static_cast<uint32_t>(number);
    else if (key == "metrics")
      o->metrics = static_cast<uint32_t>(number);
    else if (key == "types")
      o->types = number;
    else if (key == "model")
      o->model = value;
    else if (key == "replay")
      o->replay = number;
    else if (key == "copies")
      o->copies = number;
    else if (key == "units")
      o->units = number;
    else if (key == "single")
      o->single = number != 0;
    else if (key == "kind" && kinds.contains(value))
      o->kind = kinds.at(value);
    else if (key == "kind" && value == "ffts")
      o->contexts = true;
    else if (key == "sync")
      o->sync = number;
    else if (key == "set" && value.find(':') != std::string::npos)
      o->settings.emplace_back(std::atoi(value.c_str()), value.substr(value.find(':') + 1));
    else
      return false;
  }
  return true;
}

constexpr npusimContext kContexts[] = {{"product", "Product", NPUSIM_OP_AI_CORE, 10, 9'000},
                                       {"sum", "Sum", NPUSIM_OP_AI_VECTOR_CORE, 20, 18'000},
                                       {"both", "Both", NPUSIM_OP_MIX_AIC, 6, 27'000},
                                       {"product", "Product", NPUSIM_OP_AI_CORE, 10, 9'000}};

Calls g_calls;

// Ends the program if a call failed, as a test client has nothing better to do, and counts it.
void Call(int code, const char* name, uint64_t times = 1) {
  Check(code, name);
  g_calls.Count(name, times);
}

// One device with its streams, driven from one thread at a time.
class Device {
 public:
  Device(uint32_t id, const Options& options) : id_(id), options_(options) {}

  void Open() {
    Call(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    streams_.resize(options_.streams);
    for (auto& stream : streams_) Call(aclrtCreateStream(&stream), "aclrtCreateStream");
    if (options_.model.empty()) return;
    Call(aclmdlLoadFromFile(options_.model.c_str(), &model_), "aclmdlLoadFromFile");
    aclmdlDesc* desc = aclmdlCreateDesc();
    Call(aclmdlGetDesc(desc, model_), "aclmdlGetDesc");
    inputs_ = Buffers(aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex, desc);
    outputs_ = Buffers(aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex, desc);
    Call(aclmdlDestroyDesc(desc), "aclmdlDestroyDesc");
  }

  // Runs so many tasks, spread over the streams, and waits for them.
  void Run(uint64_t tasks) {
    Call(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    if (options_.replay != 0) Replay(tasks);
    for (size_t i = 0; options_.replay == 0 && i < streams_.size(); i++) {
      const uint64_t share = tasks / streams_.size() + (i < tasks % streams_.size() ? 1 : 0);
      for (uint64_t call = 0; inputs_ != nullptr && call < share; call++)
        Call(aclmdlExecuteAsync(model_, inputs_, outputs_, streams_[i]), "aclmdlExecuteAsync");
      if (inputs_ != nullptr) continue;
      const uint64_t calls = options_.single ? share : (share != 0 ? 1 : 0);
      for (uint64_t call = 0; call < calls; call++) {
        const uint64_t count = options_.single ? 1 : share;
        if (options_.contexts) {
          Call(npusimLaunchContexts(streams_[i], kContexts, std::size(kContexts), count),
               "npusimLaunchContexts", count);
          continue;
        }
        Call(
            npusimLaunch(streams_[i], "work", "Work", options_.kind, options_.blocks, options_.cycles, count),
            "npusimLaunch", count);
        if (options_.sync != 0 && (call + 1) % options_.sync == 0)
          Call(aclrtSynchronizeStream(streams_[i]), "aclrtSynchronizeStream");
      }
    }
    Call(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    Call(aclrtResetDevice(static_cast<int32_t>(id_)), "aclrtResetDevice");
  }

  // One round of work for each unit; @p peer is memory of another device, or NULL.
  void RunUnits(const void* peer) {
    constexpr size_t kBytes = 8 << 20;
    Call(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    static std::vector<char> host(kBytes);
    void* memory = nullptr;
    Call(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    for (int engine = NPUSIM_MEDIA_VPC; engine <= NPUSIM_MEDIA_VENC; engine++)
      Call(npusimMedia(streams_[0], engine, 2 + static_cast<uint32_t>(engine)), "npusimMedia");
    Call(npusimNetwork(streams_[0], 1, 30'000'000), "npusimNetwork");
    Call(npusimNetwork(streams_[0], 0, 20'000'000), "npusimNetwork");
    Call(npusimLaunch(streams_[0], "cpu", "Cpu", NPUSIM_OP_AI_CPU, 1, 36'000, 5), "npusimLaunch of AI CPUs",
         5);
    Call(aclrtMemcpyAsync(memory, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, streams_[0]),
         "aclrtMemcpyAsync");
    Call(aclrtMemcpyAsync(host.data(), kBytes, memory, kBytes / 2, ACL_MEMCPY_DEVICE_TO_HOST, streams_[0]),
         "aclrtMemcpyAsync");
    if (peer != nullptr)
      Call(aclrtMemcpyAsync(memory, kBytes, peer, kBytes / 4, ACL_MEMCPY_DEVICE_TO_DEVICE, streams_[0]),
           "aclrtMemcpyAsync");
    Call(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    Call(aclrtFree(memory), "aclrtFree");
    Call(aclrtResetDevice(static_cast<int32_t>(id_)), "aclrtResetDevice");
  }

  // A copy to the device that the call waits for, and one back that it does not wait for.
  void RunCopies() {
    constexpr size_t kBytes = 8 << 20;
    Call(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    static std::vector<char> host(kBytes);
    void* memory = nullptr;
    Call(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Call(aclrtMemcpy(memory, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
    Call(aclrtMemcpyAsync(host.data(), kBytes, memory, kBytes / 2, ACL_MEMCPY_DEVICE_TO_HOST, streams_[0]),
         "aclrtMemcpyAsync");
    Call(aclrtSynchronizeStream(streams_[0]), "aclrtSynchronizeStream");
    Call(aclrtFree(memory), "aclrtFree");
    Call(aclrtResetDevice(static_cast<int32_t>(id_)), "aclrtResetDevice");
  }

  // Memory of this device that lives as long as it.
  const void* Shared() {
    Call(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    if (shared_ == nullptr) Call(aclrtMalloc(&shared_, 8 << 20, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Call(aclrtResetDevice(static_cast<int32_t>(id_)), "aclrtResetDevice");
    return shared_;
  }

  npusimDeviceTotals Totals() const { return TotalsOf(id_); }

 private:
  void Replay(uint64_t tasks) {
    aclmdlRI captured = nullptr;
    Call(aclmdlRICaptureBegin(streams_[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), "aclmdlRICaptureBegin");
    Call(npusimLaunch(streams_[0], "work", "Work", options_.kind, options_.blocks, options_.cycles, tasks),
         "npusimLaunch");
    Call(aclmdlRICaptureEnd(streams_[0], &captured), "aclmdlRICaptureEnd");
    for (uint64_t round = 0; round < options_.replay; round++)
      Call(aclmdlRIExecuteAsync(captured, streams_[0]), "aclmdlRIExecuteAsync");
    Call(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    Call(aclmdlRIDestroy(captured), "aclmdlRIDestroy");
  }

  static aclmdlDataset* Buffers(size_t count, size_t (*size)(aclmdlDesc*, size_t), aclmdlDesc* desc) {
    aclmdlDataset* set = aclmdlCreateDataset();
    for (size_t i = 0; i < count; i++) {
      void* memory = nullptr;
      Call(aclrtMalloc(&memory, size(desc, i), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
      Call(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory, size(desc, i))), "aclmdlAddDatasetBuffer");
    }
    return set;
  }

  uint32_t id_;
  const Options& options_;
  std::vector<aclrtStream> streams_;
  void* shared_ = nullptr;
  uint32_t model_ = 0;
  aclmdlDataset *inputs_ = nullptr, *outputs_ = nullptr;
};

// The same number of tasks on every device, all at once.
void RunAll(std::vector<Device>& devices, uint64_t tasks) {
  if (tasks == 0) return;
  std::vector<std::thread> threads;
  for (Device& device : devices) threads.emplace_back([&device, tasks] { device.Run(tasks); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: workload DIR [key=value]...; the keys are named at the top of workload.cc\n");
    return 2;
  }
  Check(aclInit(nullptr), "aclInit");
  std::vector<Device> devices;
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < options.devices; i++) {
    devices.emplace_back(i, options);
    ids.push_back(i);
  }
  for (Device& device : devices) device.Open();
  RunAll(devices, options.before);

  Check(aclprofInit(options.dir.c_str(), options.dir.size()), "aclprofInit");
  aclprofConfig* config =
      aclprofCreateConfig(ids.data(), options.devices, static_cast<aclprofAicoreMetrics>(options.metrics),
                          nullptr, options.types);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  for (const auto& [type, text] : options.settings)
    Check(aclprofSetConfig(static_cast<aclprofConfigType>(type), text.c_str(), text.size()),
          "aclprofSetConfig");
  Check(aclprofStart(config), "aclprofStart");
  g_calls.Switch(true);

  std::vector<npusimDeviceTotals> first;
  for (const Device& device : devices) first.push_back(device.Totals());
  RunAll(devices, options.tasks);
  for (uint64_t round = 0; round < options.units; round++) {
    for (size_t i = 0; i < devices.size(); i++)
      devices[i].RunUnits(devices.size() > 1 ? devices[(i + 1) % devices.size()].Shared() : nullptr);
  }
  for (uint64_t round = 0; round < options.copies; round++) {
    for (Device& device : devices) device.RunCopies();
  }
  std::vector<npusimDeviceTotals> last;
  for (const Device& device : devices) last.push_back(device.Totals());

  g_calls.Switch(false);
  Check(aclprofStop(config), "aclprofStop");
  RunAll(devices, options.after);
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");

  std::printf("{");
  PrintTotals(first, last);
  std::printf(", ");
  g_calls.Print();
  std::printf("}\n");

  for (uint32_t id : ids) Check(aclrtResetDevice(static_cast<int32_t>(id)), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
