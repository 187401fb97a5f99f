// SPDX-License-Identifier: Apache-2.0
#include "runtime/hccl/comm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "acl/acl_rt.h"
#include "runtime/core/rt.h"
#include "runtime/report/reporter.h"

namespace npusim {
namespace {

constexpr char kTicketMagic[8] = {'n', 'p', 'u', 's', 'i', 'm', 'R', 'I'};

struct Ticket {
  char magic[8];
  int32_t pid;
  uint64_t serial;
};

struct Pending {
  std::mutex mutex;
  uint64_t next = 1;
  std::map<uint64_t, std::shared_ptr<Group>> groups;  // from the first rank's arrival to the last's
  std::set<const void*> live;                         // handles
};

Pending& State() {
  static auto* state = new Pending;
  return *state;
}

HcclResult Fail(HcclResult code, const std::string& text) {
  rtFail(code, text);
  return code;
}

// Read anew for each communicator, so that a program can have several kinds.
HcclResult AlgorithmsOfEnvironment(Algorithms* algorithms) {
  std::string why;
  if (ReadAlgorithms(std::getenv("HCCL_ALGO"), algorithms, &why)) return HCCL_SUCCESS;
  return Fail(HCCL_E_PARA, "HCCL_ALGO: " + why);
}

bool MakeNotifies(int32_t device, size_t count, std::vector<void*>* out) {
  out->resize(count);
  for (void*& n : *out)
    if (rtNotifyCreate(device, &n) != ACL_SUCCESS) return false;
  return true;
}

bool Equip(Rank* r) {
  const size_t ranks = r->group->size, further = ranks > 1 ? ranks - 2 : 0;
  void *in = nullptr, *out = nullptr;
  for (void** staging : {&in, &out})
    if (rtMalloc(staging, Rank::kStagingBytes, RtModule::kCollectives) != ACL_SUCCESS) return false;
  r->in = static_cast<char*>(in);
  r->out = static_cast<char*>(out);
  for (auto* list : {&r->ready, &r->reduced, &r->done})
    if (!MakeNotifies(r->device, ranks, list)) return false;
  for (auto* list : {&r->fork, &r->join})
    if (!MakeNotifies(r->device, further, list)) return false;
  r->streams.resize(further);
  for (void*& s : r->streams)
    if (rtStreamCreate(&s) != ACL_SUCCESS) return false;
  for (auto* list : {&r->fork_events, &r->join_events}) {
    list->resize(further);
    for (void*& e : *list)
      if (rtEventCreate(&e, ACL_EVENT_SYNC) != ACL_SUCCESS) return false;
  }
  return rtEventCreate(&r->last_event, ACL_EVENT_SYNC) == ACL_SUCCESS;
}

}  // namespace

std::shared_ptr<Group> NewGroup(uint32_t size, const Algorithms& algorithms) {
  auto g = std::make_shared<Group>();
  static std::atomic<uint32_t> index{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  g->name = fmt::format("127.0.0.1%lo_60000_{}_{}", index++,
                        std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  g->name_hash = HashOf(g->name);
  g->size = size;
  g->algorithms = algorithms;
  g->ranks.resize(size);
  return g;
}

HcclResult Join(std::unique_ptr<Rank> r, bool wait, HcclComm* comm) {
  if (rtGetDevice(&r->device) != ACL_SUCCESS) return HCCL_E_RUNTIME;
  if (!Equip(r.get())) return HCCL_E_MEMORY;
  Group& g = *r->group;
  std::unique_lock lock(g.mutex);
  if (g.ranks[r->rank] != nullptr)
    return Fail(HCCL_E_PARA, fmt::format("rank {} has joined already", r->rank));
  g.ranks[r->rank] = r.get();
  g.joined++;
  g.changed.notify_all();
  if (wait) {
    const char* text = std::getenv("HCCL_CONNECT_TIMEOUT");
    const int seconds = text != nullptr && std::atoi(text) > 0 ? std::atoi(text) : 120;
    if (!g.changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return g.joined == g.size; })) {
      g.ranks[r->rank] = nullptr;
      g.joined--;
      return Fail(HCCL_E_TIMEOUT,
                  fmt::format("{} of {} ranks joined within {} s", g.joined + 1, g.size, seconds));
    }
  }
  *comm = r.get();
  std::lock_guard state_lock(State().mutex);
  State().live.insert(r.release());
  return HCCL_SUCCESS;
}

Rank* Resolve(HcclComm comm) {
  std::lock_guard lock(State().mutex);
  if (State().live.contains(comm)) return static_cast<Rank*>(comm);
  rtFail(HCCL_E_PARA, fmt::format("{} is no communicator, or it was destroyed", comm));
  return nullptr;
}

}  // namespace npusim

using namespace npusim;

HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  if (devices == nullptr || comms == nullptr) return Fail(HCCL_E_PTR, "devices or comms is null");
  if (ndev < 1 || ndev > rtDeviceCount())
    return Fail(HCCL_E_PARA, fmt::format("{} devices: allowed are 1 to {}", ndev, rtDeviceCount()));
  for (uint32_t i = 0; i < ndev; i++)
    if (std::set<int32_t>(devices, devices + ndev).size() != ndev || devices[i] < 0 ||
        static_cast<uint32_t>(devices[i]) >= rtDeviceCount())
      return Fail(HCCL_E_PARA,
                  fmt::format("device {}: ids must differ and be 0 to {}", devices[i], rtDeviceCount() - 1));
  Algorithms algorithms;
  if (const auto code = AlgorithmsOfEnvironment(&algorithms); code != HCCL_SUCCESS) return code;
  void* before = nullptr;
  if (rtCtxGetCurrent(&before) != ACL_SUCCESS) rtTakeMessage();
  auto group = NewGroup(ndev, algorithms);
  HcclResult result = HCCL_SUCCESS;
  for (uint32_t i = 0; i < ndev && result == HCCL_SUCCESS; i++) {
    if (rtSetDevice(devices[i]) != ACL_SUCCESS) return HCCL_E_RUNTIME;
    auto r = std::make_unique<Rank>();
    r->group = group;
    r->rank = i;
    result = Join(std::move(r), false, &comms[i]);
  }
  if (before != nullptr) rtCtxSetCurrent(before);
  return result;
}

HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  if (rootInfo == nullptr) return Fail(HCCL_E_PTR, "rootInfo is null");
  Ticket t{};
  std::memcpy(t.magic, kTicketMagic, sizeof t.magic);
  t.pid = getpid();
  std::lock_guard lock(State().mutex);
  t.serial = State().next++;
  *rootInfo = {};
  std::memcpy(rootInfo->internal, &t, sizeof t);
  return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                HcclComm* comm) {
  if (rootInfo == nullptr || comm == nullptr) return Fail(HCCL_E_PTR, "rootInfo or comm is null");
  if (nRanks < 1 || nRanks > 64)
    return Fail(HCCL_E_PARA, fmt::format("{} ranks: allowed are 1 to 64", nRanks));
  if (rank >= nRanks) return Fail(HCCL_E_PARA, fmt::format("rank {} of {}", rank, nRanks));
  Ticket t{};
  std::memcpy(&t, rootInfo->internal, sizeof t);
  if (std::memcmp(t.magic, kTicketMagic, sizeof t.magic) != 0)
    return Fail(HCCL_E_PARA, "rootInfo did not come from HcclGetRootInfo");
  if (t.pid != getpid())
    return Fail(HCCL_E_NOT_SUPPORT,
                fmt::format("rootInfo is of process {}: simulated devices belong to one process, {}", t.pid,
                            getpid()));
  Algorithms algorithms;
  if (const auto code = AlgorithmsOfEnvironment(&algorithms); code != HCCL_SUCCESS) return code;
  auto r = std::make_unique<Rank>();
  {
    std::lock_guard lock(State().mutex);
    auto& group = State().groups[t.serial];
    if (group == nullptr) group = NewGroup(nRanks, algorithms);
    if (group->size != nRanks)
      return Fail(HCCL_E_PARA, fmt::format("{} ranks, others joined with {}", nRanks, group->size));
    r->group = group;
    r->rank = rank;
  }
  auto group = r->group;
  const HcclResult result = Join(std::move(r), true, comm);
  std::lock_guard lock(State().mutex);
  if (group->joined == group->size) State().groups.erase(t.serial);
  return result;
}

HcclResult HcclCommDestroy(HcclComm comm) {
  Rank* found = Resolve(comm);
  if (found == nullptr) return HCCL_E_PARA;
  {
    std::lock_guard lock(State().mutex);
    State().live.erase(comm);
  }
  std::unique_ptr<Rank> r(found);
  // Failures mean that the device was reset before, which freed everything already.
  rtEventSynchronize(r->last_event);
  for (void* s : r->streams) rtStreamDestroy(s);
  for (const auto* list : {&r->ready, &r->reduced, &r->done, &r->fork, &r->join})
    for (void* n : *list) rtNotifyDestroy(n);
  for (const auto* list : {&r->fork_events, &r->join_events})
    for (void* e : *list) rtEventDestroy(e);
  rtEventDestroy(r->last_event);
  rtFree(r->in);
  rtFree(r->out);
  rtTakeMessage();
  return HCCL_SUCCESS;
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  Rank* r = Resolve(comm);
  if (r == nullptr) return HCCL_E_PARA;
  if (rankSize == nullptr) return Fail(HCCL_E_PTR, "rankSize is null");
  *rankSize = r->group->size;
  return HCCL_SUCCESS;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  Rank* r = Resolve(comm);
  if (r == nullptr) return HCCL_E_PARA;
  if (rank == nullptr) return Fail(HCCL_E_PTR, "rank is null");
  *rank = r->rank;
  return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  Rank* r = Resolve(comm);
  if (r == nullptr) return HCCL_E_PARA;
  if (commName == nullptr) return Fail(HCCL_E_PTR, "commName is null");
  const size_t n = r->group->name.copy(commName, HCCL_COMM_NAME_MAX_LENGTH - 1);
  commName[n] = 0;
  return HCCL_SUCCESS;
}
