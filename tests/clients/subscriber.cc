// SPDX-License-Identifier: Apache-2.0
// Subscribes to a model and reads from the pipe which operators ran, while they run.
//
// usage: subscriber MODEL EXECUTIONS [METRICS]
// Prints a line of JSON with the operators in the order of the pipe, how many had come before the subscription ended, and
// what the models counted.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "ge/ge_prof.h"
#include "npusim/npusim.h"

namespace {

std::string Text(aclError (*length)(const void*, size_t, uint32_t, size_t*),
                 aclError (*get)(const void*, size_t, uint32_t, char*, size_t), const std::vector<char>& data,
                 uint32_t index) {
  size_t bytes = 0;
  Check(length(data.data(), data.size(), index, &bytes), "the length of a text");
  std::string text(bytes, '\0');
  Check(get(data.data(), data.size(), index, text.data(), bytes), "a text");
  // Again: reading takes nothing away.
  Check(get(data.data(), data.size(), index, text.data(), bytes), "a text, again");
  if (get(data.data(), data.size(), index, text.data(), bytes - 1) != 100000)
    Check(-1, "a text without room");
  text.resize(bytes - 1);
  return text;
}

aclmdlDataset* Dataset(aclmdlDesc* desc, bool input) {
  aclmdlDataset* set = aclmdlCreateDataset();
  const size_t count = input ? aclmdlGetNumInputs(desc) : aclmdlGetNumOutputs(desc);
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = input ? aclmdlGetInputSizeByIndex(desc, i) : aclmdlGetOutputSizeByIndex(desc, i);
    void* memory = nullptr;
    Check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Check(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory, bytes)), "aclmdlAddDatasetBuffer");
  }
  return set;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: subscriber MODEL EXECUTIONS [METRICS]\n");
    return 2;
  }
  const int executions = std::atoi(argv[2]);
  const auto metrics = static_cast<aclprofAicoreMetrics>(argc == 4 ? std::atoi(argv[3]) : ACL_AICORE_NONE);
  Check(aclInit(nullptr), "aclInit");
  Check(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "aclrtCreateStream");
  uint32_t model = 0, other = 0;
  Check(aclmdlLoadFromFile(argv[1], &model), "aclmdlLoadFromFile");
  Check(aclmdlLoadFromFile(argv[1], &other), "aclmdlLoadFromFile");
  aclmdlDesc* desc = aclmdlCreateDesc();
  Check(aclmdlGetDesc(desc, model), "aclmdlGetDesc");
  aclmdlDataset *input = Dataset(desc, true), *output = Dataset(desc, false);

  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::vector<char> data;
  std::atomic<size_t> bytes{0};
  std::thread reader([&] {
    char buffer[80 * 64];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0; bytes += static_cast<size_t>(n))
      data.insert(data.end(), buffer, buffer + n);
  });

  // Not of the subscription: before it, and of another model.
  Check(aclmdlExecute(model, input, output), "aclmdlExecute");
  aclprofSubscribeConfig* config = aclprofCreateSubscribeConfig(1, metrics, &ends[1]);
  if (config == nullptr) Check(-1, "aclprofCreateSubscribeConfig");
  Check(aclprofModelSubscribe(model, config), "aclprofModelSubscribe");
  Check(aclprofDestroySubscribeConfig(config), "aclprofDestroySubscribeConfig");
  Check(aclmdlExecute(other, input, output), "aclmdlExecute");
  for (int i = 0; i < executions; ++i) {
    Check(aclmdlExecuteAsync(model, input, output, stream), "aclmdlExecuteAsync");
    Check(npusimLaunch(stream, "alone", "Alone", NPUSIM_OP_AI_CORE, 1, 1000, 1), "npusimLaunch");
  }
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  // They come while the subscription is on.
  for (int i = 0; i < 100 && bytes == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const size_t before = bytes / 80;
  Check(aclprofModelUnSubscribe(model), "aclprofModelUnSubscribe");
  reader.join();
  Check(aclmdlExecute(model, input, output), "aclmdlExecute");

  uint32_t count = 0;
  Check(aclprofGetOpNum(data.data(), data.size(), &count), "aclprofGetOpNum");
  std::printf("{\"model\": %u, \"fd\": %d, \"before\": %zu, \"ops\": [", model, ends[1], before);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = Text(aclprofGetOpNameLen, aclprofGetOpName, data, i);
    const std::string type = Text(aclprofGetOpTypeLen, aclprofGetOpType, data, i);
    std::printf(
        "%s[\"%s\", \"%s\", %llu, %llu, %llu, %zu, %d, %s]", i != 0 ? ", " : "", name.c_str(), type.c_str(),
        static_cast<unsigned long long>(aclprofGetOpStart(data.data(), data.size(), i)),
        static_cast<unsigned long long>(aclprofGetOpEnd(data.data(), data.size(), i)),
        static_cast<unsigned long long>(aclprofGetOpDuration(data.data(), data.size(), i)),
        aclprofGetModelId(data.data(), data.size(), i),
        static_cast<int>(aclprofGetOpFlag(data.data(), data.size(), i)),
        aclprofGetGraphId(data.data(), data.size(), i) == model &&
                aclprofGetOpAttriValue(data.data(), data.size(), i, ACL_SUBSCRIBE_ATTRI_THREADID) == nullptr
            ? "true"
            : "false");
  }
  data[79] = static_cast<char>(~data[79]);
  std::printf("], \"changed\": %d}\n", aclprofGetOpNum(data.data(), data.size(), &count));
  Check(aclmdlUnload(model), "aclmdlUnload");
  Check(aclrtResetDevice(0), "aclrtResetDevice");
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
