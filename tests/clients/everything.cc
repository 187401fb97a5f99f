// SPDX-License-Identifier: Apache-2.0
// Profiles one window in which there is something for every data type and every setting, the same on each device.
//
// usage: everything DIR types=0x.. [devices=N] [metrics=N] [model=FILE] [set=TYPE:TEXT]...
// Each device has a thread, which runs: three kernels of each kind and three FFTS+ tasks of two contexts; two AI CPU tasks;
// two two-stage operators with attributes and one without; an execution of the model; an all-reduce and a broadcast among
// all devices; copies from and to the host, and from the next device; media engines and the network; if marks are among the data
// types, two of them on the stream; at last a kernel of 100 ms, so that what is sampled is sampled. Prints one line of
// JSON: totals of the models and calls made in the window.
#include <aclnnop/aclnn_relu.h>
#include <aclnnop/aclnn_softmax.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "counted.h"
#include "hccl/hccl.h"
#include "npusim/npusim.h"

namespace {

Calls g_calls;

// Ends the program if a call failed, as a test client has nothing better to do, and counts it.
void Call(int code, const char* name, uint64_t times = 1) {
  Check(code, name);
  g_calls.Count(name, times);
}

struct Options {
  std::string dir, model;
  uint64_t types = 0;
  uint32_t devices = 1, metrics = 1;
  std::vector<std::pair<int, std::string>> settings;
};

bool Parse(int argc, char** argv, Options* o) {
  if (argc < 2) return false;
  o->dir = argv[1];
  for (int i = 2; i < argc; i++) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) return false;
    const std::string key = argument.substr(0, equals), value = argument.substr(equals + 1);
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 0);
    if (key == "types")
      o->types = number;
    else if (key == "devices")
      o->devices = static_cast<uint32_t>(number);
    else if (key == "metrics")
      o->metrics = static_cast<uint32_t>(number);
    else if (key == "model")
      o->model = value;
    else if (key == "set" && value.find(':') != std::string::npos)
      o->settings.emplace_back(std::atoi(value.c_str()), value.substr(value.find(':') + 1));
    else
      return false;
  }
  return o->types != 0 && o->devices >= 1;
}

constexpr size_t kBytes = 1 << 20, kFloats = 4096;
constexpr int64_t kEdge = 64;
constexpr npusimContext kContexts[] = {{"first", "First", NPUSIM_OP_AI_CORE, 10, 9'000},
                                       {"second", "Second", NPUSIM_OP_AI_VECTOR_CORE, 20, 18'000}};

// One device. Open() and Run() are for its thread.
class Worker {
 public:
  Worker(uint32_t id, const Options& options) : id_(id), options_(options) {}

  void Open(const HcclRootInfo& root) {
    Check(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    Check(aclrtCreateStream(&stream_), "aclrtCreateStream");
    for (void** memory : {&memory_, &shared_, &send_, &receive_})
      Check(aclrtMalloc(memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Check(HcclCommInitRootInfo(options_.devices, &root, id_, &comm_), "HcclCommInitRootInfo");
    in_ = Square(send_);
    out_ = Square(receive_);
    if (options_.model.empty()) return;
    Check(aclmdlLoadFromFile(options_.model.c_str(), &model_), "aclmdlLoadFromFile");
    aclmdlDesc* desc = aclmdlCreateDesc();
    Check(aclmdlGetDesc(desc, model_), "aclmdlGetDesc");
    inputs_ = Buffers(aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex, desc);
    outputs_ = Buffers(aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex, desc);
    Check(aclmdlDestroyDesc(desc), "aclmdlDestroyDesc");
  }

  void Run(const void* peer) {
    Call(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    for (int kind : {NPUSIM_OP_AI_CORE, NPUSIM_OP_AI_VECTOR_CORE, NPUSIM_OP_MIX_AIC, NPUSIM_OP_MIX_AIV})
      Call(npusimLaunch(stream_, "work", "Work", kind, 12, 20'000, 3), "npusimLaunch", 3);
    Call(npusimLaunchContexts(stream_, kContexts, std::size(kContexts), 3), "npusimLaunchContexts", 3);
    Call(npusimLaunch(stream_, "cpu", "Cpu", NPUSIM_OP_AI_CPU, 1, 36'000, 2), "npusimLaunch of AI CPUs", 2);
    RunOperators();
    if (inputs_ != nullptr)
      Call(aclmdlExecuteAsync(model_, inputs_, outputs_, stream_), "aclmdlExecuteAsync");
    Call(HcclAllReduce(send_, receive_, kFloats, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm_, stream_),
         "HcclAllReduce");
    Call(HcclBroadcast(receive_, kFloats, HCCL_DATA_TYPE_FP32, 0, comm_, stream_), "HcclBroadcast");
    RunUnits(peer);
    if ((options_.types & ACL_PROF_MSPROFTX) != 0) {
      for (const char* message : {"one", "two"})
        Call(aclprofMarkEx(message, std::strlen(message), stream_), "aclprofMarkEx");
    }
    Call(npusimLaunch(stream_, "long", "Long", NPUSIM_OP_AI_CORE, 1, 180'000'000, 1), "npusimLaunch");
    Call(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    Call(aclrtResetDevice(static_cast<int32_t>(id_)), "aclrtResetDevice");
  }

  void Close() {
    Check(aclrtSetDevice(static_cast<int32_t>(id_)), "aclrtSetDevice");
    Check(HcclCommDestroy(comm_), "HcclCommDestroy");
    for (aclTensor* tensor : {in_, out_}) Check(aclDestroyTensor(tensor), "aclDestroyTensor");
    for (int users = 0; users < 2; users++)
      Check(aclrtResetDevice(static_cast<int32_t>(id_)), "aclrtResetDevice");
  }

  const void* shared() const { return shared_; }

 private:
  void RunOperators() {
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    for (int64_t axis : {-1, 0}) {
      Call(aclnnSoftmaxGetWorkspaceSize(in_, axis, out_, &workspace, &executor), "preparation of a softmax");
      Call(aclnnSoftmax(nullptr, workspace, executor, stream_), "aclnnSoftmax");
    }
    Call(aclnnReluGetWorkspaceSize(in_, out_, &workspace, &executor), "preparation of a ReLU");
    Call(aclnnRelu(nullptr, workspace, executor, stream_), "aclnnRelu");
  }

  void RunUnits(const void* peer) {
    std::vector<char> host(kBytes);
    Call(aclrtMemcpy(memory_, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
    Call(aclrtMemcpyAsync(host.data(), kBytes, memory_, kBytes / 2, ACL_MEMCPY_DEVICE_TO_HOST, stream_),
         "aclrtMemcpyAsync");
    if (peer != nullptr)
      Call(aclrtMemcpyAsync(memory_, kBytes, peer, kBytes / 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_),
           "aclrtMemcpyAsync");
    Call(npusimMedia(stream_, NPUSIM_MEDIA_VPC, 2), "npusimMedia");
    Call(npusimMedia(stream_, NPUSIM_MEDIA_VDEC, 3), "npusimMedia");
    Call(npusimNetwork(stream_, 1, 3'000'000), "npusimNetwork");
    Call(npusimNetwork(stream_, 0, 2'000'000), "npusimNetwork");
    Call(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream");
  }

  static aclTensor* Square(void* memory) {
    const int64_t shape[] = {kEdge, kEdge}, strides[] = {kEdge, 1};
    aclTensor* tensor = aclCreateTensor(shape, 2, ACL_FLOAT16, strides, 0, ACL_FORMAT_ND, shape, 2, memory);
    if (tensor == nullptr) Check(-1, "aclCreateTensor");
    return tensor;
  }

  static aclmdlDataset* Buffers(size_t count, size_t (*size)(aclmdlDesc*, size_t), aclmdlDesc* desc) {
    aclmdlDataset* set = aclmdlCreateDataset();
    for (size_t i = 0; i < count; i++) {
      void* memory = nullptr;
      Check(aclrtMalloc(&memory, size(desc, i), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
      Check(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory, size(desc, i))),
            "aclmdlAddDatasetBuffer");
    }
    return set;
  }

  const uint32_t id_;
  const Options& options_;
  aclrtStream stream_ = nullptr;
  void *memory_ = nullptr, *shared_ = nullptr, *send_ = nullptr, *receive_ = nullptr;
  HcclComm comm_ = nullptr;
  aclTensor *in_ = nullptr, *out_ = nullptr;
  uint32_t model_ = 0;
  aclmdlDataset *inputs_ = nullptr, *outputs_ = nullptr;
};

// One thread per device, until all are done.
template <typename Work>
void OnAll(std::vector<Worker>& workers, Work work) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers.size(); i++) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: everything DIR [key=value]...; the keys are named at the top of everything.cc\n");
    return 2;
  }
  Check(aclInit(nullptr), "aclInit");
  std::vector<Worker> workers;
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < options.devices; id++) {
    workers.emplace_back(id, options);
    ids.push_back(id);
  }
  HcclRootInfo root;
  Check(HcclGetRootInfo(&root), "HcclGetRootInfo");
  OnAll(workers, [&](size_t i) { workers[i].Open(root); });

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
  std::vector<npusimDeviceTotals> first, last;
  for (uint32_t id : ids) first.push_back(TotalsOf(id));
  OnAll(workers, [&](size_t i) {
    workers[i].Run(workers.size() > 1 ? workers[(i + 1) % workers.size()].shared() : nullptr);
  });
  for (uint32_t id : ids) last.push_back(TotalsOf(id));
  g_calls.Switch(false);
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");

  std::printf("{");
  PrintTotals(first, last);
  std::printf(", ");
  g_calls.Print();
  std::printf("}\n");
  for (Worker& worker : workers) worker.Close();
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
