// SPDX-License-Identifier: Apache-2.0
#include "session/components.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "acl/acl_prof.h"

namespace npuprof {
namespace {

thread_local int t_depth = 0;

// Position of a module in a command; the rest follow by rising number.
uint64_t Rank(uint32_t module, bool stopping) {
  constexpr uint32_t kStart[] = {MSPROF_MODULE_RUNTIME, MSPROF_MODULE_ASCENDCL, MSPROF_MODULE_GE};
  constexpr uint32_t kStop[] = {MSPROF_MODULE_GE, MSPROF_MODULE_ASCENDCL, MSPROF_MODULE_RUNTIME};
  const auto& order = stopping ? kStop : kStart;
  for (size_t i = 0; i < std::size(order); ++i) {
    if (order[i] == module) return i;
  }
  return std::size(order) + uint64_t{module};
}

// Shapes at the lowest level of task time are what a scheduler reports one level higher; nobody else is asked for
// more than the session is.
uint64_t SwitchFor(uint32_t module, uint64_t data_types) {
  constexpr uint64_t kHigher = ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L2 | ACL_PROF_TASK_TIME_L3;
  constexpr uint32_t kScheduler = 61;
  uint64_t bits = data_types & ~ACL_PROF_AICORE_SHAPE;
  if ((data_types & ACL_PROF_AICORE_SHAPE) && (data_types & ACL_PROF_TASK_TIME_L0) &&
      !(data_types & kHigher) && (module == MSPROF_MODULE_GE || module == kScheduler)) {
    bits |= PROF_TASK_TIME_L1;
  }
  return bits;
}

template <size_t N>
uint32_t CopyText(const std::string& text, char (&out)[N]) {
  const size_t size = text.size() < N ? text.size() : 0;
  std::memcpy(out, text.data(), size);
  out[size] = '\0';
  return static_cast<uint32_t>(size);
}

// There is no function to take a callback back, so the library it is in must not go.
void KeepLoaded(ProfCommandHandle handle) {
  Dl_info where;
  if (dladdr(reinterpret_cast<void*>(handle), &where) == 0 || where.dli_fname == nullptr) return;
  void* library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library != nullptr) dlclose(library);
}

}  // namespace

bool Components::InCallback() {
  return t_depth > 0;
}

int32_t Components::Call(const Entry& entry, uint32_t type, const Command& command) {
  auto data = std::make_unique<MsprofCommandHandle>();
  std::memset(data.get(), 0, sizeof(*data));
  data->profSwitch = SwitchFor(entry.module, command.data_types);
  for (uint32_t device : command.devices) {
    if (data->devNums == MSPROF_MAX_DEV_NUM) break;
    data->devIdList[data->devNums++] = device;
  }
  data->modelId = PROF_INVALID_MODE_ID;
  data->type = type;
  data->params.pathLen = CopyText(command.path, data->params.path);
  data->params.profDataLen = CopyText(command.sample, data->params.profData);
  ++t_depth;
  const int32_t result = entry.handle(PROF_CTRL_SWITCH, data.get(), sizeof(*data));
  --t_depth;
  return result;
}

std::vector<Components::Entry> Components::Ordered(bool stopping) {
  std::vector<Entry> entries = entries_;
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return Rank(a.module, stopping) < Rank(b.module, stopping);
  });
  return entries;
}

std::vector<std::string> Components::Tell(const std::vector<Entry>& entries, uint32_t type,
                                          const Command& command) {
  constexpr const char* kNames[] = {"init", "start", "stop", "finalize"};
  std::vector<std::string> failures;
  for (const Entry& entry : entries) {
    if (const int32_t result = Call(entry, type, command); result != 0) {
      failures.push_back(fmt::format("the callback of module {} answered {} to {}; 0 is success",
                                     entry.module, result, kNames[type]));
    }
  }
  return failures;
}

int32_t Components::Register(uint32_t module, ProfCommandHandle handle) {
  if (!handle) return MSPROF_ERROR_CONFIG_INVALID;
  KeepLoaded(handle);
  const Entry entry{module, handle};
  bool initialised, started;
  Command command;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& known : entries_) {
      if (known.module == module && known.handle == handle) return MSPROF_ERROR_NONE;
    }
    entries_.push_back(entry);
    initialised = initialised_;
    started = started_;
    if (started) command = command_;
  }
  if (initialised) Call(entry, PROF_COMMANDHANDLE_TYPE_INIT, Command{});
  if (started) Call(entry, PROF_COMMANDHANDLE_TYPE_START, command);
  return MSPROF_ERROR_NONE;
}

std::vector<std::string> Components::Init() {
  std::vector<Entry> entries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    initialised_ = true;
    entries = Ordered(false);
  }
  return Tell(entries, PROF_COMMANDHANDLE_TYPE_INIT, Command{});
}

std::vector<std::string> Components::Start(const Command& command) {
  std::vector<Entry> entries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    started_ = true;
    command_ = command;
    entries = Ordered(false);
  }
  return Tell(entries, PROF_COMMANDHANDLE_TYPE_START, command);
}

std::vector<std::string> Components::Stop(const Command& command) {
  std::vector<Entry> entries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    started_ = false;
    entries = Ordered(true);
  }
  return Tell(entries, PROF_COMMANDHANDLE_TYPE_STOP, command);
}

std::vector<std::string> Components::Finalize() {
  std::vector<Entry> entries;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    initialised_ = false;
    entries = Ordered(true);
  }
  return Tell(entries, PROF_COMMANDHANDLE_TYPE_FINALIZE, Command{});
}

}  // namespace npuprof
