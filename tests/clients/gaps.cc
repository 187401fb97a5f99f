// SPDX-License-Identifier: Apache-2.0
// Profiles two devices on which device 0 has nothing to compute for known reasons, again and again.
//
// usage: gaps DIR [rounds=N]
// The operator that ends such a gap is named after the reason: host_late, synchronising, copy, communication or
// collective_wait (for device 1). One thread submits everything. Prints a line of JSON: for each reason the rounds, and how
// many of them a busy machine may have disturbed, so that something else is the reason too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "hccl/hccl.h"
#include "npusim/npusim.h"

namespace {

constexpr uint64_t kMillisecond = 1'800'000;  // cycles
constexpr size_t kFloats = 4 << 20, kFew = 256;
constexpr size_t kBytes = kFloats * sizeof(float);

struct Device {
  int32_t id = 0;
  aclrtStream stream = nullptr;
  HcclComm comm = nullptr;
  void *send = nullptr, *receive = nullptr;

  void Use() const { Check(aclrtSetDevice(id), "aclrtSetDevice"); }
  void Kernel(const char* name, uint64_t milliseconds) const {
    Use();
    Check(npusimLaunch(stream, name, "Work", NPUSIM_OP_AI_CORE, 24, milliseconds * kMillisecond, 1),
          "npusimLaunch");
  }
  void Reduce(size_t floats) const {
    Use();
    Check(HcclAllReduce(send, receive, floats, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream),
          "HcclAllReduce");
  }
  void Wait() const {
    Use();
    Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  }
};

Device g_devices[2];

double Milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void Sleep(unsigned milliseconds) {
  timespec time{0, static_cast<long>(milliseconds) * 1'000'000};
  nanosleep(&time, nullptr);
}

// Everything is done before, so that no round is about what came earlier.
void Settle() {
  for (const Device& device : g_devices) device.Wait();
}

// Each function returns how many rounds were disturbed.
int HostLate(int rounds) {
  for (int i = 0; i < rounds; i++) {
    g_devices[0].Kernel("before", 1);
    Sleep(5);
    g_devices[0].Kernel("host_late", 1);
  }
  return 0;
}

int Synchronising(int rounds) {
  int disturbed = 0;
  for (int i = 0; i < rounds; i++) {
    Settle();
    const double begin = Milliseconds();
    g_devices[1].Kernel("other", 20);
    g_devices[0].Kernel("before", 1);
    const double submitted = Milliseconds();
    g_devices[1].Wait();
    const double done = Milliseconds();
    g_devices[0].Kernel("synchronising", 1);
    disturbed += submitted - begin > 4 || Milliseconds() - done > 4 ? 1 : 0;
  }
  return disturbed;
}

// What follows is submitted while the devices work on the first kernel.
void Begin() {
  Settle();
  for (const Device& device : g_devices) device.Kernel("begin", 60);
}

int Copies(int rounds) {
  static float host[kFloats];
  Begin();
  const double begin = Milliseconds();
  for (int i = 0; i < rounds; i++) {
    g_devices[0].Kernel("before", 1);
    Check(aclrtMemcpyAsync(g_devices[0].send, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE,
                           g_devices[0].stream),
          "aclrtMemcpyAsync");
    g_devices[0].Kernel("copy", 1);
  }
  return Milliseconds() - begin > 50 ? rounds : 0;
}

int Communication(int rounds) {
  Begin();
  const double begin = Milliseconds();
  for (int i = 0; i < rounds; i++) {
    // The first one brings both to the same time.
    for (const Device& device : g_devices) device.Reduce(kFew);
    for (const Device& device : g_devices) device.Kernel("before", 1);
    for (const Device& device : g_devices) device.Reduce(kFloats);
    for (const Device& device : g_devices) device.Kernel("communication", 1);
  }
  return Milliseconds() - begin > 50 ? rounds : 0;
}

int CollectiveWait(int rounds) {
  Begin();
  const double begin = Milliseconds();
  for (int i = 0; i < rounds; i++) {
    for (const Device& device : g_devices) device.Kernel("before", 1);
    g_devices[1].Kernel("slow", 3);
    for (const Device& device : g_devices) device.Reduce(kFew);
    for (const Device& device : g_devices) device.Kernel("collective_wait", 1);
  }
  return Milliseconds() - begin > 50 ? rounds : 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 20;
  if (argc == 3 && std::string(argv[2]).rfind("rounds=", 0) == 0) rounds = std::atoi(argv[2] + 7);
  if (argc < 2 || argc > 3 || rounds < 1) {
    std::fprintf(stderr, "usage: gaps DIR [rounds=N]\n");
    return 2;
  }
  Check(aclInit(nullptr), "aclInit");
  int32_t ids[] = {0, 1};
  HcclComm comms[2];
  for (int i = 0; i < 2; i++) {
    Device& device = g_devices[i];
    device.id = i;
    device.Use();
    Check(aclrtCreateStream(&device.stream), "aclrtCreateStream");
    for (void** memory : {&device.send, &device.receive})
      Check(aclrtMalloc(memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  }
  Check(HcclCommInitAll(2, ids, comms), "HcclCommInitAll");
  for (int i = 0; i < 2; i++) g_devices[i].comm = comms[i];

  const std::string dir = argv[1];
  Check(aclprofInit(dir.c_str(), dir.size()), "aclprofInit");
  uint32_t profiled[] = {0, 1};
  aclprofConfig* config = aclprofCreateConfig(
      profiled, 2, ACL_AICORE_PIPE_UTILIZATION, nullptr,
      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_HCCL_TRACE);
  if (config == nullptr) Check(-1, "aclprofCreateConfig");
  Check(aclprofStart(config), "aclprofStart");
  const int late = HostLate(rounds), synchronising = Synchronising(rounds), copies = Copies(rounds);
  const int communication = Communication(rounds), waits = CollectiveWait(rounds);
  Settle();
  Check(aclprofStop(config), "aclprofStop");
  Check(aclprofDestroyConfig(config), "aclprofDestroyConfig");
  Check(aclprofFinalize(), "aclprofFinalize");
  std::printf(
      "{\"rounds\": %d, \"disturbed\": {\"host_late\": %d, \"synchronising\": %d, \"copy\": %d, "
      "\"communication\": %d, \"collective_wait\": %d}}\n",
      rounds, late, synchronising, copies, communication, waits);

  for (int i = 0; i < 2; i++) {
    g_devices[i].Use();
    Check(HcclCommDestroy(comms[i]), "HcclCommDestroy");
    Check(aclrtResetDevice(i), "aclrtResetDevice");
  }
  Check(aclFinalize(), "aclFinalize");
  return 0;
}
