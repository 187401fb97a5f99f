// SPDX-License-Identifier: Apache-2.0
// Profiles collectives among device threads, one rank of which comes late.
//
// usage: collective DIR ranks=N late=RANK delay=MS [count=N] [types=0x..] [memory=HZ] [links=HZ]
// Every rank has a device and a thread of its own and takes part in an all-reduce, an all-gather, a reduce-scatter and a
// broadcast, each after the one before. Rank RANK first runs a kernel of MS milliseconds. With HZ the memory or
// the links between chips are sampled. Prints a line of JSON: whether every rank got the right values each time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "hccl/hccl.h"
#include "npusim/npusim.h"

namespace {

struct Job {
  uint64_t ranks = 2, late = 0, delay = 0, count = 4096, memory = 0, links = 0;
};

float* Memory(size_t floats) {
  void* memory = nullptr;
  Check(aclrtMalloc(&memory, floats * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  return static_cast<float*>(memory);
}

// Whether each rank's part of @p count floats of @p memory is @p value(part).
template <typename Value>
bool Holds(const float* memory, size_t parts, size_t count, Value value) {
  std::vector<float> got(parts * count);
  Check(aclrtMemcpy(got.data(), got.size() * sizeof(float), memory, got.size() * sizeof(float),
                    ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  for (size_t i = 0; i < got.size(); i++)
    if (got[i] != static_cast<float>(value(i / count))) return false;
  return true;
}

// One rank, from its device's opening to its closing; its streams must outlive the session.
void Work(const Job& job, uint32_t rank, HcclComm comm, aclrtStream stream, bool* right) {
  Check(aclrtSetDevice(static_cast<int32_t>(rank)), "aclrtSetDevice");
  const size_t count = job.count, all = count * job.ranks;
  const std::vector<float> values(all, static_cast<float>(rank + 1));
  float *send = Memory(all), *receive = Memory(all);
  Check(aclrtMemcpy(send, all * sizeof(float), values.data(), all * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
  if (rank == job.late && job.delay != 0)
    Check(npusimLaunch(stream, "late", "Late", NPUSIM_OP_AI_CORE, 1, job.delay * 1'800'000, 1),
          "npusimLaunch");
  Check(HcclAllReduce(send, receive, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream),
        "HcclAllReduce");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  const uint64_t sum = job.ranks * (job.ranks + 1) / 2;
  *right = Holds(receive, 1, count, [&](size_t) { return sum; });
  Check(HcclAllGather(send, receive, count, HCCL_DATA_TYPE_FP32, comm, stream), "HcclAllGather");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  *right = *right && Holds(receive, job.ranks, count, [](size_t part) { return part + 1; });
  Check(HcclReduceScatter(send, receive, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream),
        "HcclReduceScatter");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  *right = *right && Holds(receive, 1, count, [&](size_t) { return sum; });
  Check(HcclBroadcast(send, count, HCCL_DATA_TYPE_FP32, 0, comm, stream), "HcclBroadcast");
  Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  *right = *right && Holds(send, 1, count, [](size_t) { return 1; });
  Check(aclrtFree(send), "aclrtFree");
  Check(aclrtFree(receive), "aclrtFree");
}

}  // namespace

int main(int argc, char** argv) {
  Job job;
  uint64_t types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_HCCL_TRACE;
  const std::map<std::string, uint64_t*> keys = {
      {"ranks", &job.ranks},   {"late", &job.late},   {"delay", &job.delay}, {"count", &job.count},
      {"memory", &job.memory}, {"links", &job.links}, {"types", &types}};
  for (int i = 2; i < argc; i++) {
    const std::string argument = argv[i];
    const auto key = keys.find(argument.substr(0, argument.find('=')));
    if (key == keys.end()) argc = 0;
    if (argc != 0) *key->second = std::strtoull(argument.c_str() + argument.find('=') + 1, nullptr, 0);
  }
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: collective DIR [key=value]...; the keys are named at the top of collective.cc\n");
    return 2;
  }
  const auto ranks = static_cast<uint32_t>(job.ranks);
  Check(aclInit(nullptr), "aclInit");
  std::vector<uint32_t> ids(ranks);
  std::vector<HcclComm> comms(ranks);
  std::vector<aclrtStream> streams(ranks);
  HcclRootInfo root;
  Check(HcclGetRootInfo(&root), "HcclGetRootInfo");
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; rank++) {
    ids[rank] = rank;
    threads.emplace_back([&, rank] {
      Check(aclrtSetDevice(static_cast<int32_t>(rank)), "aclrtSetDevice");
      Check(aclrtCreateStream(&streams[rank]), "aclrtCreateStream");
      Check(HcclCommInitRootInfo(ranks, &root, rank, &comms[rank]), "HcclCommInitRootInfo");
    });
  }
  for (auto& thread : threads) thread.join();
  threads.clear();

  const std::string dir = argv[1];
  Check(aclprofInit(dir.c_str(), dir.size()), "aclprofInit");
  const std::string memory = std::to_string(job.memory);
  if (job.memory != 0)
    Check(aclprofSetConfig(ACL_PROF_SYS_HARDWARE_MEM_FREQ, memory.c_str(), memory.size()),
          "aclprofSetConfig");
  const std::string links = std::to_string(job.links);
  if (job.links != 0)
    Check(aclprofSetConfig(ACL_PROF_SYS_INTERCONNECTION_FREQ, links.c_str(), links.size()),
          "aclprofSetConfig");
  aclprofConfig* config = aclprofCreateConfig(ids.data(), ranks, ACL_AICORE_NONE, nullptr, types);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart(config), "aclprofStart");
  std::vector<char> right(ranks);
  for (uint32_t rank = 0; rank < ranks; rank++)
    threads.emplace_back([&, rank] {
      bool good = false;
      Work(job, rank, comms[rank], streams[rank], &good);
      right[rank] = good;
    });
  for (auto& thread : threads) thread.join();
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");

  bool all = true;
  for (char good : right) all = all && good != 0;
  std::printf("{\"right\": %s}\n", all ? "true" : "false");
  for (uint32_t rank = 0; rank < ranks; rank++) {
    Check(aclrtSetDevice(static_cast<int32_t>(rank)), "aclrtSetDevice");
    Check(HcclCommDestroy(comms[rank]), "HcclCommDestroy");
    for (int users = 0; users < 3; users++)
      Check(aclrtResetDevice(static_cast<int32_t>(rank)), "aclrtResetDevice");
  }
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
