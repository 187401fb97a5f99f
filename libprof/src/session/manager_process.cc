// SPDX-License-Identifier: Apache-2.0
// The manager's life in its process: from the loading of the library to the exit, and what a fork makes of it.
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <list>
#include <new>
#include <thread>

#include "drain/fork_guard.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "session/log.h"
#include "session/manager.h"
#include "session/mark_record.h"
#include "session/mstx.h"
#include "session/stamps.h"
#include "session/steps.h"

namespace npuprof {
namespace {

template <OwnedMutex& (*Get)()>
constexpr fork_locks::Lock LockOf() {
  return {[] { return Get().try_lock(); }, [] { return Get().IsMine(); }, [] { Get().unlock(); },
          [] { new (&Get()) OwnedMutex; }};
}

OwnedMutex& DictionaryLock() {
  return host::Dictionary::Process().mutex();
}

}  // namespace

// That of the dictionary is last, as it is taken with others held.
const fork_locks::Lock Manager::kForkLocks[] = {
    LockOf<ConfigLock>(),    LockOf<&Manager::FactsLock>(), LockOf<&Manager::ComponentsLock>(),
    LockOf<stamps::Lock>(),  LockOf<steps::Lock>(),         LockOf<mstx::Lock>(),
    LockOf<op_item::Lock>(), LockOf<SubscribeConfigLock>(), LockOf<DictionaryLock>()};
const unsigned Manager::kForkLockCount = std::size(kForkLocks);

// From the first call on: another thread may fork while a session is started for the first time.
Manager::Manager() {
  drain::InstallForkHandlers();
  windows_.reserve(kMaxDevices + 1);
  pthread_atfork([] { fork_locks::Prepare(kForkLocks, kForkLockCount); },
                 [] { fork_locks::Parent(kForkLocks, kForkLockCount); }, &Manager::ForkChild);
}

OwnedMutex& Manager::FactsLock() {
  return Process().facts_mutex_;
}
OwnedMutex& Manager::ComponentsLock() {
  return Process().components_.mutex();
}

Manager& Manager::Process() {
  // Never destroyed: the exit handler and late callers need it.
  static Manager& manager = *new Manager;
  return manager;
}

namespace {
// When the library is loaded: a fork while another thread makes it would leave it half made in the child, for ever.
__attribute__((constructor)) void MakeAtLoad() {
  Manager::Process();
}
}  // namespace

// Also for what only waits: whoever asked for it is told that the program ended too early.
void Manager::InstallExitHandler() {
  if (handlers_installed_) return;
  handlers_installed_ = true;
  std::atexit(&Manager::AtExit);
}

void Manager::AtExit() {
  Manager& manager = Process();
  // Somebody may have called exit() while another thread is inside and will never come back.
  for (int i = 0; i < 200; ++i) {
    if (manager.control_.try_lock()) {
      manager.exiting_ = true;
      manager.DropWaiting();
      manager.DiscardWarmed();
      if (const Result result = manager.StopWindows(true); !result.ok()) LogError(result.text);
      manager.mode_ = Mode::kOff;
      manager.RemoveSubscriptionFiles();
      manager.control_.unlock();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  LogError("the process ends inside a profiling call; the last directory may be incomplete");
}

// The sessions belong to the parent. Their objects are left alone, except that the child lets go of the devices.
void Manager::ForkChild() {
  Manager& manager = Process();
  host::QueueSet::Process().ResetInChild();
  marks::ResetInChild();
  stamps::Allow(false);
  fork_locks::Child(kForkLocks, kForkLockCount);
  manager.control_.RenewInChild();
  manager.components_.ForgetInChild();
  for (auto& window : manager.windows_) {
    if (window && window->session) window->session->AbandonInChild();
    static_cast<void>(window.release());
  }
  manager.windows_.clear();
  static_cast<void>(manager.warmed_.release());
  new (&manager.warm_request_) Session::Request;
  new (&manager.warm_settings_) Settings;
  new (&manager.warm_output_) std::optional<std::string>;
  manager.mode_ = Mode::kOff;
  // Another thread may have been changing these; what they hold then cannot be freed.
  new (&manager.recording_) std::optional<RecordRequest>;
  new (&manager.waiting_) std::optional<RecordRequest>;
  new (&manager.gave_way_) std::optional<RecordRequest>;
  manager.timed_ = false;
  manager.door_.AbandonInChild();
  new (&manager.settings_) Settings;
  new (&manager.window_settings_) Settings;
  new (&manager.next_output_) std::optional<std::string>;
  new (&manager.output_) std::string;
  new (&manager.open_devices_) std::set<uint32_t>;
  new (&manager.notices_) std::vector<DeviceNotice>;
  new (&manager.paths_) std::list<Path>;  // the texts stay for whoever asked for one
  new (&manager.notes_) std::vector<std::string>;
  manager.record_tried_ = true;
  manager.dynamic_ = false;
  manager.ends_ = false;
  manager.component_type_.reset();
  new (&manager.not_looked_at_) std::vector<std::string>;
  new (&manager.owner_) std::string;
  new (&manager.job_) std::string;
  manager.follow_devices_ = false;
  static_cast<void>(manager.subscription_.release());  // its thread is the parent's
}

}  // namespace npuprof
