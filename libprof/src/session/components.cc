// SPDX-License-Identifier: Apache-2.0
#include "session/components.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>

#include "acl/acl_prof.h"

namespace npuprof {
namespace {

thread_local int t_depth = 0;
constexpr std::chrono::seconds kPatience{5};

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

std::string NameOf(uint32_t module) {
  return module == Components::kNoModule ? "MsprofRegisterProfileCallback" : fmt::format("module {}", module);
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

// Half a path or half an object would be another one: what does not fit is left out, see TooLong().
template <size_t N>
uint32_t CopyText(const std::string& text, char (&out)[N]) {
  const size_t size = text.size() < N ? text.size() : 0;
  std::memcpy(out, text.data(), size);
  out[size] = '\0';
  return static_cast<uint32_t>(size);
}

// What components are not told of a start, because the published structure has no room for it.
std::vector<std::string> TooLong(const Components::Command& command) {
  std::vector<std::string> sentences;
  for (const auto& [what, size, most] :
       {std::tuple{"path of the directory", command.path.size(), size_t{PATH_LEN_MAX}},
        std::tuple{"text of sample.json", command.sample.size(), size_t{PARAM_LEN_MAX}}}) {
    if (size > most)
      sentences.push_back(
          fmt::format("components are not told the {}: it has {} bytes, and they can be told at most {}",
                      what, size, most));
  }
  return sentences;
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
  data->modelId = command.model;
  data->cacheFlag = command.model != PROF_INVALID_MODE_ID;
  data->type = type;
  data->params.pathLen = CopyText(command.path, data->params.path);
  data->params.profDataLen = CopyText(command.sample, data->params.profData);
  ++t_depth;
  const int32_t result = entry.handle(PROF_CTRL_SWITCH, data.get(), sizeof(*data));
  --t_depth;
  return result;
}

std::vector<std::string> Components::TellAll(bool stopping) {
  std::vector<std::string> failures;
  std::unique_lock<OwnedMutex> lock(mutex_);
  Entries entries = entries_;
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
    return Rank(a->module, stopping) < Rank(b->module, stopping);
  });
  for (const auto& entry : entries) Catch(*entry, lock, &failures);
  return failures;
}

void Components::Catch(Entry& entry, std::unique_lock<OwnedMutex>& lock, std::vector<std::string>* failures) {
  constexpr const char* kNames[] = {"init", "start", "stop", "finalize", "subscribe", "unsubscribe"};
  // Whoever is inside the callback looks again afterwards. He may wait for something that this thread holds, so it does
  // not wait for ever.
  if (!mutex_.WaitFor(idle_, kPatience, [&] { return !entry.busy; })) {
    failures->push_back(
        fmt::format("the callback of {} has not returned for {} s; it learns of changes when it does",
                    NameOf(entry.module), kPatience.count()));
    return;
  }
  const Command nothing;
  uint32_t type = 0;
  std::shared_ptr<const Command> command;
  while (Next(entry, &type, &command)) {
    entry.busy = true;
    lock.unlock();
    const int32_t result = Call(entry, type, command ? *command : nothing);
    lock.lock();
    entry.busy = false;
    idle_.notify_all();
    if (result != 0) {
      failures->push_back(fmt::format("the callback of {} answered {} to {}; 0 is success",
                                      NameOf(entry.module), result, kNames[type]));
    }
  }
}

bool Components::Next(Entry& entry, uint32_t* type, std::shared_ptr<const Command>* command) const {
  State& told = entry.told;
  command->reset();
  for (auto model = told.models.begin(); model != told.models.end(); ++model) {
    const auto now = state_.models.find(model->first);
    if (now != state_.models.end() && now->second == model->second) continue;
    *type = PROF_COMMANDHANDLE_TYPE_MODEL_UNSUBSCRIBE;
    *command = std::move(model->second);
    told.models.erase(model);
    return true;
  }
  if (told.start != 0 && told.start != state_.start) {
    *type = PROF_COMMANDHANDLE_TYPE_STOP;
    *command = std::move(entry.command);
    told.start = 0;
    return true;
  }
  if (told.initialised != state_.initialised) {
    told.initialised = state_.initialised;
    *type = state_.initialised ? PROF_COMMANDHANDLE_TYPE_INIT : PROF_COMMANDHANDLE_TYPE_FINALIZE;
    return true;
  }
  if (state_.start != 0 && told.command != state_.command) {
    *type = PROF_COMMANDHANDLE_TYPE_START;
    told.start = state_.start;
    told.command = state_.command;
    *command = entry.command = command_;
    return true;
  }
  for (const auto& [model, subscribed] : state_.models) {
    if (told.models.contains(model)) continue;
    *type = PROF_COMMANDHANDLE_TYPE_MODEL_SUBSCRIBE;
    *command = told.models[model] = subscribed;
    return true;
  }
  return false;
}

int32_t Components::Register(uint32_t module, ProfCommandHandle handle) {
  if (!handle) return MSPROF_ERROR_CONFIG_INVALID;
  KeepLoaded(handle);
  std::vector<std::string> failures;
  std::unique_lock<OwnedMutex> lock(mutex_);
  for (const auto& known : entries_) {
    if (known->module == module && known->handle == handle) return MSPROF_ERROR_NONE;
  }
  const auto entry = std::make_shared<Entry>();
  entry->module = module;
  entry->handle = handle;
  entries_.push_back(entry);
  Catch(*entry, lock, &failures);
  return MSPROF_ERROR_NONE;
}

std::vector<std::string> Components::Init() {
  {
    std::lock_guard<OwnedMutex> lock(mutex_);
    state_.initialised = true;
  }
  return TellAll(false);
}

std::vector<std::string> Components::Start(const Command& command) {
  auto copy = std::make_shared<const Command>(command);
  {
    std::lock_guard<OwnedMutex> lock(mutex_);
    state_.command = ++starts_;
    if (state_.start == 0) state_.start = state_.command;
    command_ = std::move(copy);
  }
  std::vector<std::string> failures = TooLong(command);
  for (std::string& text : TellAll(false)) failures.push_back(std::move(text));
  return failures;
}

std::vector<std::string> Components::Subscribe(const Command& command) {
  auto copy = std::make_shared<const Command>(command);
  {
    std::lock_guard<OwnedMutex> lock(mutex_);
    state_.models[command.model] = std::move(copy);
  }
  return TellAll(false);
}

std::vector<std::string> Components::Unsubscribe(uint32_t model) {
  {
    std::lock_guard<OwnedMutex> lock(mutex_);
    state_.models.erase(model);
  }
  return TellAll(true);
}

std::vector<std::string> Components::Stop() {
  {
    std::lock_guard<OwnedMutex> lock(mutex_);
    state_.start = 0;
    state_.models.clear();
    command_.reset();
  }
  return TellAll(true);
}

std::vector<std::string> Components::Finalize() {
  {
    std::lock_guard<OwnedMutex> lock(mutex_);
    state_.initialised = false;
  }
  return TellAll(true);
}

void Components::ForgetInChild() {
  new (&idle_) std::condition_variable;
  // Another thread may have been changing these; what they hold then cannot be freed.
  new (&state_) State;
  for (const auto& entry : entries_) {
    new (&entry->told) State;
    entry->busy = false;
  }
}

}  // namespace npuprof
