// SPDX-License-Identifier: Apache-2.0
#include "session/mstx.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/no_cancel.h"
#include "session/log.h"
#include "session/mark_record.h"

namespace marks = npuprof::marks;
namespace mstx = npuprof::mstx;

namespace {

// What the profiler does itself. No exception may reach a C program: memory that runs out costs the mark. Nor is it cancelled.
template <typename Value, typename Body>
Value Try(Value otherwise, Body&& body) noexcept {
  const npuprof::NoCancel here;
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}
template <typename Body>
void Try(Body&& body) noexcept {
  Try(0, [&] {
    body();
    return 0;
  });
}

void OwnDomainMark(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  Try([&] { mstx::Mark(domain, message, stream); });
}
mstxRangeId OwnDomainRangeStart(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  return Try(mstxRangeId{0}, [&] { return mstx::StartRange(domain, message, stream); });
}
void OwnDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  Try([&] { mstx::EndRange(domain, id); });
}
void OwnMark(const char* message, aclrtStream stream) {
  OwnDomainMark(nullptr, message, stream);
}
mstxRangeId OwnRangeStart(const char* message, aclrtStream stream) {
  return OwnDomainRangeStart(nullptr, message, stream);
}
void OwnRangeEnd(mstxRangeId id) {
  OwnDomainRangeEnd(nullptr, id);
}
void OwnGetToolId(uint64_t* id) {
  if (id) *id = mstx::kToolId;
}
mstxDomainHandle_t OwnDomainCreate(const char* name) {
  return Try(mstxDomainHandle_t{}, [&] { return mstx::CreateDomain(name); });
}
void OwnDomainDestroy(mstxDomainHandle_t domain) {
  Try([&] { mstx::DestroyDomain(domain); });
}

// In a domain's functions NULL is no domain at all.
void OwnNamedMark(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  if (domain) OwnDomainMark(domain, message, stream);
}
mstxRangeId OwnNamedRangeStart(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  return domain ? OwnDomainRangeStart(domain, message, stream) : 0;
}
void OwnNamedRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  if (domain) OwnDomainRangeEnd(domain, id);
}

mstxMemHeapHandle_t OwnHeapRegister(mstxDomainHandle_t, const mstxMemHeapDesc_t*) {
  return nullptr;
}
void OwnHeapUnregister(mstxDomainHandle_t, mstxMemHeapHandle_t) {}
void OwnRegionsRegister(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t* batch) {
  if (!batch || !batch->regionHandleArrayOut) return;
  for (size_t i = 0; i < batch->regionCount; ++i) batch->regionHandleArrayOut[i] = nullptr;
}
void OwnRegionsUnregister(mstxDomainHandle_t, const mstxMemRegionsUnregisterBatch_t*) {}

// Slots of what the exported functions call, and the same with what the profiler would put there.
#define MSTX_SLOTS(X)                       \
  X(mark, OwnMark)                          \
  X(range_start, OwnRangeStart)             \
  X(range_end, OwnRangeEnd)                 \
  X(tool_id, OwnGetToolId)                  \
  X(domain_create, OwnDomainCreate)         \
  X(domain_destroy, OwnDomainDestroy)       \
  X(domain_mark, OwnNamedMark)              \
  X(domain_range_start, OwnNamedRangeStart) \
  X(domain_range_end, OwnNamedRangeEnd)     \
  X(heap_register, OwnHeapRegister)         \
  X(heap_unregister, OwnHeapUnregister)     \
  X(regions_register, OwnRegionsRegister)   \
  X(regions_unregister, OwnRegionsUnregister)

struct Slots {
#define MSTX_SLOT(name, own) decltype(&own) name = own;
  MSTX_SLOTS(MSTX_SLOT)
#undef MSTX_SLOT
};
Slots g_slots;

template <typename Function>
MstxFuncPointer* Slot(Function& function) {
  return reinterpret_cast<MstxFuncPointer*>(&function);
}
template <typename Function>
MstxFuncPointer AsPointer(Function function) {
  return reinterpret_cast<MstxFuncPointer>(function);
}

MstxFuncPointer* g_core[] = {nullptr, Slot(g_slots.mark), Slot(g_slots.range_start), Slot(g_slots.range_end),
                             Slot(g_slots.tool_id)};
MstxFuncPointer* g_domain[] = {nullptr,
                               Slot(g_slots.domain_create),
                               Slot(g_slots.domain_destroy),
                               Slot(g_slots.domain_mark),
                               Slot(g_slots.domain_range_start),
                               Slot(g_slots.domain_range_end)};
MstxFuncPointer* g_memory[] = {nullptr, Slot(g_slots.heap_register), Slot(g_slots.heap_unregister),
                               Slot(g_slots.regions_register), Slot(g_slots.regions_unregister)};
static_assert(std::size(g_core) == MSTX_FUNC_END && std::size(g_domain) == MSTX_FUNC_DOMAIN_END &&
              std::size(g_memory) == MSTX_FUNC_MEM_END);

int GetFuncTable(MstxFuncModule module, MstxFuncTable* table, unsigned int* size) {
  if (!table || !size) return 1;
  switch (static_cast<int>(module)) {
    case MSTX_API_MODULE_CORE:
      *table = g_core;
      *size = std::size(g_core);
      return 0;
    case MSTX_API_MODULE_CORE_DOMAIN:
      *table = g_domain;
      *size = std::size(g_domain);
      return 0;
    case MSTX_API_MODULE_CORE_MEM:
      *table = g_memory;
      *size = std::size(g_memory);
      return 0;
    default:
      return 1;
  }
}

// Whether another tool took over.
bool Inject() {
  const char* path = std::getenv("MSTX_INJECTION_PATH");
  if (!path || !*path) return false;
  const npuprof::NoCancel here;
  void* library = dlopen(path, RTLD_LAZY);
  const char* why = library ? nullptr : dlerror();
  const auto init =
      library ? reinterpret_cast<int (*)(MstxGetModuleFuncTableFunc)>(dlsym(library, "InitInjectionMstx"))
              : nullptr;
  if (init == &InitInjectionMstx) return false;  // that is us
  const int code = init ? init(&GetFuncTable) : 0;
  if (init && code == 0) return true;
  npuprof::LogError(std::string("the library ") + path + " of MSTX_INJECTION_PATH " +
                    (why    ? std::string("cannot be loaded: ") + why
                     : init ? "refused with " + std::to_string(code)
                            : "has no InitInjectionMstx") +
                    "; the profiler listens instead");
  g_slots = Slots();
  return false;
}

// What a call finds while another tool is being loaded: that tool may call mstx itself, and wait for threads that do.
constexpr Slots kOwn{};

enum class Choice { kNone, kBeingMade, kMade };
std::atomic<Choice> g_choice{Choice::kNone};
std::atomic<bool> g_impatient{false};
thread_local bool t_choosing = false;

// Threads that come meanwhile wait, so that the tool gets their first marks too; but not for ever, and only once.
bool WaitForChoice() {
  constexpr int kMostWaits = 5000;
  const auto made = [] { return g_choice.load(std::memory_order_acquire) == Choice::kMade; };
  for (int i = 0; i < kMostWaits && !made() && !g_impatient; ++i) {
    const timespec rest{0, 1'000'000};
    nanosleep(&rest, nullptr);
  }
  if (!made()) g_impatient = true;
  return made();
}

// Decides at the first call who listens.
const Slots& Listener() {
  if (g_choice.load(std::memory_order_acquire) == Choice::kMade) return g_slots;
  if (t_choosing) return kOwn;
  Choice none = Choice::kNone;
  if (!g_choice.compare_exchange_strong(none, Choice::kBeingMade)) return WaitForChoice() ? g_slots : kOwn;
  t_choosing = true;
  if (Try(false, [] { return Inject(); })) marks::Attend(marks::kInjected);
  marks::Disregard(marks::kUndecided);
  t_choosing = false;
  g_choice.store(Choice::kMade, std::memory_order_release);
  return g_slots;
}

// Fills the profiler's functions into @p table, whose entries below @p size may be used.
void Fill(MstxFuncTable table, unsigned size, std::initializer_list<MstxFuncPointer> functions) {
  unsigned entry = 1;
  for (const MstxFuncPointer function : functions) {
    if (entry < size && table[entry]) *table[entry] = function;
    ++entry;
  }
}

}  // namespace

extern "C" {

void mstxMarkA(const char* message, aclrtStream stream) {
  if (marks::Attention()) Listener().mark(message, stream);
}

mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  return marks::Attention() ? Listener().range_start(message, stream) : 0;
}

void mstxRangeEnd(mstxRangeId id) {
  if (marks::Attention()) Listener().range_end(id);
}

void mstxGetToolId(uint64_t* id) {
  if (marks::Attention()) {
    Listener().tool_id(id);
  } else {
    OwnGetToolId(id);
  }
}

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  return Listener().domain_create(name);
}

void mstxDomainDestroy(mstxDomainHandle_t domain) {
  Listener().domain_destroy(domain);
}

void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  if (marks::Attention()) Listener().domain_mark(domain, message, stream);
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  return marks::Attention() ? Listener().domain_range_start(domain, message, stream) : 0;
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  if (marks::Attention()) Listener().domain_range_end(domain, id);
}

mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc) {
  return marks::Attention() ? Listener().heap_register(domain, desc) : nullptr;
}

void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  if (marks::Attention()) Listener().heap_unregister(domain, heap);
}

void mstxMemRegionsRegister(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc) {
  if (marks::Attention()) {
    Listener().regions_register(domain, desc);
  } else {
    OwnRegionsRegister(domain, desc);
  }
}

void mstxMemRegionsUnregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc) {
  if (marks::Attention()) Listener().regions_unregister(domain, desc);
}

int InitInjectionMstx(MstxGetModuleFuncTableFunc getFuncTable) {
  if (!getFuncTable) return 1;
  MstxFuncTable table = nullptr;
  unsigned size = 0;
  if (getFuncTable(MSTX_API_MODULE_CORE, &table, &size) != 0 || !table) return 1;
  Fill(table, size,
       {AsPointer(OwnMark), AsPointer(OwnRangeStart), AsPointer(OwnRangeEnd), AsPointer(OwnGetToolId)});
  // There are libraries that tell the size of the core's table for this one too, which is one less.
  if (getFuncTable(MSTX_API_MODULE_CORE_DOMAIN, &table, &size) == 0 && table) {
    Fill(table, size == MSTX_FUNC_END ? unsigned{MSTX_FUNC_DOMAIN_END} : size,
         {AsPointer(OwnDomainCreate), AsPointer(OwnDomainDestroy), AsPointer(OwnNamedMark),
          AsPointer(OwnNamedRangeStart), AsPointer(OwnNamedRangeEnd)});
  }
  return 0;
}

}  // extern "C"
