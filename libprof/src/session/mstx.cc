// SPDX-License-Identifier: Apache-2.0
#include "session/mstx.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "host/clock.h"
#include "host/dictionary.h"
#include "session/log.h"
#include "session/mark_record.h"

namespace npuprof::mstx {
namespace {

constexpr size_t kMostName = 1023;
constexpr const char* kDefault = "default";

// Places of domains stay for ever, so that a mark can look at one without a lock.
struct Domain {
  std::atomic<uint64_t> id{0};  ///< number of the name; 0: free
  std::atomic<bool> recorded{true};
  std::string name;  // under the lock, as all changes
};

struct Range {
  uint64_t start = 0, domain = 0, window = 0;
  uint32_t thread = 0;
  void* stream = nullptr;
  std::string message;
};

struct State {
  OwnedMutex mutex;
  Domain unnamed;                         // that of marks without a domain
  std::atomic<Domain*> domains{nullptr};  // kMostDomains of them, made with the first
  std::atomic<size_t> used{0};
  Filter filter, configured;
  std::unordered_map<uint64_t, Range> ranges;
};

State& Get() {
  static State& state = *new State;  // outlives every thread
  return state;
}

std::vector<std::string> List(const char* text) {
  std::vector<std::string> names;
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (const auto name = rest.substr(0, comma); !name.empty()) names.emplace_back(name);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return names;
}

bool Wants(const Filter& filter, const std::string& name) {
  if (!filter.include.empty()) return std::ranges::find(filter.include, name) != filter.include.end();
  return std::ranges::find(filter.exclude, name) == filter.exclude.end();
}

// nullptr for what is no handle of ours.
Domain* Find(mstxDomainHandle_t handle) {
  State& state = Get();
  if (!handle) return &state.unnamed;
  const size_t used = state.used.load(std::memory_order_acquire);
  const auto address = reinterpret_cast<uintptr_t>(handle),
             first = reinterpret_cast<uintptr_t>(state.domains.load(std::memory_order_relaxed));
  if (used == 0 || address < first || (address - first) % sizeof(Domain) != 0) return nullptr;
  const size_t index = (address - first) / sizeof(Domain);
  return index < used ? &state.domains[index] : nullptr;
}

uint64_t IdOf(Domain& domain) {
  const uint64_t id = domain.id.load(std::memory_order_acquire);
  if (id != 0 || &domain != &Get().unnamed) return id;
  // Not before a mark needs it: dictionaries of sessions without marks are without it.
  const uint64_t fresh = host::Dictionary::Process().Id(kDefault);
  domain.id = fresh;
  return fresh;
}

// The number of the domain if what is marked in it is recorded, else 0.
uint64_t Listens(mstxDomainHandle_t handle) {
  Domain* domain = Find(handle);
  return domain && domain->recorded.load(std::memory_order_relaxed) ? IdOf(*domain) : 0;
}

bool IsFormula(const char* text) {
  return *text != '\0' && std::strchr("=+-@", *text) != nullptr;
}

bool Allowed(const char* message) {
  if (message && *message && !IsFormula(message)) return true;
  LogError(message && *message ? "mstx messages that begin with one of = + - @ are dropped"
                               : "mstx messages that are NULL or empty are dropped");
  return false;
}

bool MarkDevice(uint64_t number, void* stream) {
  const Result result = marks::MarkDevice(number, marks::kPointTag, stream);
  if (!result.ok()) LogError("an mstx mark is dropped: " + result.text);
  return result.ok();
}

}  // namespace

OwnedMutex& Lock() {
  return Get().mutex;
}

void Configure(const std::string& include, const std::string& exclude) {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  state.configured = {List(include.c_str()), List(exclude.c_str())};
}

Filter ReadFilter(std::vector<std::string>* warnings) {
  Filter filter{List(std::getenv("NPUPROF_MSTX_DOMAIN_INCLUDE")),
                List(std::getenv("NPUPROF_MSTX_DOMAIN_EXCLUDE"))};
  if (filter.include.empty() && filter.exclude.empty()) {
    std::lock_guard<OwnedMutex> lock(Get().mutex);
    filter = Get().configured;
  }
  if (filter.include.empty() || filter.exclude.empty()) return filter;
  warnings->push_back(
      "domains of mstx to include and domains to exclude are both given; only one is possible, taken is "
      "neither");
  return {};
}

void Use(const Filter& filter) {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  state.filter = filter;
  state.unnamed.recorded = Wants(filter, kDefault);
  for (size_t i = 0; i < state.used; ++i) state.domains[i].recorded = Wants(filter, state.domains[i].name);
}

std::vector<std::string> Notes(uint64_t begin) {
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  const auto open =
      std::ranges::count_if(state.ranges, [begin](const auto& entry) { return entry.second.start >= begin; });
  if (marks::Recorders() <= 1) state.ranges.clear();  // else they may end in another session
  if (open == 0) return {};
  return {fmt::format("{} ranges of mstx were not ended before the session; they are not recorded", open)};
}

mstxDomainHandle_t CreateDomain(const char* name) {
  if (!name || !*name || IsFormula(name) || strnlen(name, kMostName + 1) > kMostName ||
      std::strcmp(name, kDefault) == 0) {
    LogError(
        "the name of an mstx domain is NULL, empty, \"default\", of more than 1023 bytes or begins with one "
        "of = + - @");
    return nullptr;
  }
  State& state = Get();
  const uint64_t id = host::Dictionary::Process().Id(name);
  std::lock_guard<OwnedMutex> lock(state.mutex);
  if (!state.domains) state.domains = new Domain[kMostDomains];
  Domain* free = nullptr;
  for (size_t i = 0; i < state.used; ++i) {
    Domain& domain = state.domains[i];
    if (domain.id == id) return reinterpret_cast<mstxDomainHandle_t>(&domain);
    // Its old place: a handle from before its destruction means the same domain then, and no other.
    if (domain.id == 0 && (!free || domain.name == name)) free = &domain;
  }
  const bool fresh = state.used < kMostDomains && (!free || free->name != name);
  if (!fresh && !free) {
    LogError(fmt::format("there are {} mstx domains already; no more are possible", kMostDomains));
    return nullptr;
  }
  Domain& domain = fresh ? state.domains[state.used] : *free;
  domain.name = name;
  domain.recorded = Wants(state.filter, domain.name);
  domain.id = id;
  if (fresh) ++state.used;
  return reinterpret_cast<mstxDomainHandle_t>(&domain);
}

void DestroyDomain(mstxDomainHandle_t handle) {
  if (!handle) return;
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  if (Domain* domain = Find(handle)) domain->id = 0;
}

void Mark(mstxDomainHandle_t handle, const char* message, void* stream) {
  if (!marks::InWindow()) return;
  const uint64_t domain = Listens(handle);
  if (domain == 0 || !Allowed(message)) return;
  marks::Record record;
  record.event = marks::kMarkerEx;
  record.extended = true;
  record.message = message;
  record.domain = domain;
  record.mark = marks::NextNumber();
  record.start = record.end = host::Cycles();
  // Between two directories nothing is there to note it.
  if (stream && marks::Recording() && !MarkDevice(record.mark, stream)) return;
  marks::Write(record);
}

uint64_t StartRange(mstxDomainHandle_t handle, const char* message, void* stream) {
  if (!marks::InWindow()) return 0;
  const uint64_t domain = Listens(handle);
  if (domain == 0 || !Allowed(message)) return 0;
  const uint64_t id = marks::NextNumber();
  if (stream && marks::Recording() && !MarkDevice(id, stream)) return 0;
  Range range;
  range.domain = domain;
  range.window = marks::Window();
  range.thread = marks::ThreadId();
  range.stream = stream;
  range.message = message;
  State& state = Get();
  std::lock_guard<OwnedMutex> lock(state.mutex);
  range.start = host::Cycles();
  state.ranges.emplace(id, std::move(range));
  return id;
}

void EndRange(mstxDomainHandle_t handle, uint64_t id) {
  const uint64_t end = host::Cycles();
  if (id == 0 || !marks::InWindow()) return;
  Domain* domain = Find(handle);
  if (!domain) return;
  Range range;
  {
    State& state = Get();
    std::lock_guard<OwnedMutex> lock(state.mutex);
    const auto found = state.ranges.find(id);
    if (found == state.ranges.end() || found->second.domain != IdOf(*domain)) return;
    range = std::move(found->second);
    state.ranges.erase(found);
  }
  // Begun while the session before this one ended, and missed by its count.
  if (range.window != marks::Window()) return;
  if (range.stream && marks::Recording()) static_cast<void>(MarkDevice(id, range.stream));
  marks::Record record;
  record.event = marks::kStartEnd;
  record.extended = true;
  record.message = range.message;
  record.domain = range.domain;
  record.mark = id;
  record.thread = range.thread;
  record.start = range.start;
  record.end = end;
  marks::Write(record);
}

}  // namespace npuprof::mstx
