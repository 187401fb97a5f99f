// SPDX-License-Identifier: Apache-2.0
#include "session/manager.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "device/device_file.h"
#include "device/visible.h"
#include "drain/fork_guard.h"
#include "host/dictionary.h"
#include "host/queue.h"
#include "session/log.h"
#include "session/manager_control.h"
#include "session/mstx.h"
#include "session/stamps.h"
#include "session/steps.h"
#include "trace/directory.h"

namespace npuprof {
namespace {

constexpr size_t kMostPathBytes = 4095;
constexpr size_t kMostSettingBytes = 256;
constexpr size_t kKeptPaths = 8;  // callers may still look at what an earlier call returned

template <std::mutex& (*Get)()>
constexpr fork_locks::Lock LockOf() {
  return {[] { return Get().try_lock(); }, [] { Get().unlock(); }, [] { new (&Get()) std::mutex; }};
}

std::mutex& DictionaryLock() {
  return host::Dictionary::Process().mutex();
}

}  // namespace

const fork_locks::Lock Manager::kForkLocks[] = {
    LockOf<DictionaryLock>(),      LockOf<ConfigLock>(),
    LockOf<&Manager::FactsLock>(), LockOf<&Manager::ComponentsLock>(),
    LockOf<stamps::Lock>(),        LockOf<steps::Lock>(),
    LockOf<mstx::Lock>(),          LockOf<op_item::Lock>(),
    LockOf<SubscribeConfigLock>()};
const unsigned Manager::kForkLockCount = std::size(kForkLocks);

// From the first call on: another thread may fork while a session is started for the first time.
Manager::Manager() {
  drain::InstallForkHandlers();
  pthread_atfork([] { fork_locks::Prepare(kForkLocks, kForkLockCount); },
                 [] { fork_locks::Parent(kForkLocks, kForkLockCount); }, &Manager::ForkChild);
}

std::mutex& Manager::FactsLock() {
  return Process().facts_mutex_;
}
std::mutex& Manager::ComponentsLock() {
  return Process().components_.mutex();
}

Manager& Manager::Process() {
  // Never destroyed: the exit handler and late callers need it.
  static Manager& manager = *new Manager;
  return manager;
}

Manager::Mode Manager::mode() const {
  std::lock_guard<ControlLock> lock(control_);
  return mode_;
}

const char* Manager::LastPath() const {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  return paths_.empty() ? "" : paths_.back().c_str();
}

Result Manager::CollectFacts(Facts* facts) {
  if (Components::InCallback()) return RefuseInCallback("npuprofGetStatus");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("npuprofGetStatus");
  facts->mode = recording_ || dynamic_ ? Mode::kCommand : mode_;
  facts->running = session_ != nullptr;
  if (session_) {
    facts->data_types = session_->data_types() & ~kAicpuModel;
    facts->devices = session_->devices();
    facts->begin_ns = session_->begin_ns();
  }
  facts->directory = LastPath();
  return Result::Ok();
}

void Manager::LogAll(const std::vector<std::string>& texts) const {
  for (const std::string& text : texts) LogError(text);
}

Result Manager::CheckMode(const char* function, bool attaching) const {
  if (mode_ == Mode::kCommand || (dynamic_ && !attaching)) {
    return Result::Fail(code::kAlreadyRun,
                        fmt::format("{} is refused: this process is profiled by {}", function,
                                    mode_ == Mode::kCommand ? owner_ : kDynamicOwner));
  }
  if (mode_ == Mode::kSubscribe) {
    return Result::Fail(
        code::kApiConflict,
        fmt::format("{} while a model is subscribed; only one of both is possible", function));
  }
  return Result::Ok();
}

std::vector<uint32_t> Manager::DeviceIds(std::string* why) const {
  device::Backend backend = device::Backend::kNone;
  std::string reason;
  if (const Status status = device::ChooseBackend(&backend, &reason); !status.ok()) {
    *why = status.text;
    return {};
  }
  *why = reason;
  const std::vector<uint32_t> present = device::DeviceIds(backend);
  std::vector<uint32_t> seen = device::ProgramIds(present);
  const char* visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (seen.empty() && !present.empty() && visible)
    *why = fmt::format("ASCEND_RT_VISIBLE_DEVICES is \"{}\", which shows none of devices {}", visible,
                       device::DeviceIdText(present));
  return seen;
}

Result Manager::Init(const char* path, size_t length) {
  if (Components::InCallback()) return RefuseInCallback("aclprofInit");
  const char* profiling_mode = std::getenv("PROFILING_MODE");
  if (profiling_mode && std::strcmp(profiling_mode, "dynamic") == 0) {
    return Result::Fail(code::kFeatureUnsupported,
                        "aclprofInit with PROFILING_MODE=dynamic; unset it to use the interface");
  }
  if (!path) return Result::Null("the result path");
  if (length == 0 || length > kMostPathBytes) {
    return Result::Fail(
        code::kInvalidParam,
        fmt::format("the length of the result path is {}; allowed are 1 to {}", length, kMostPathBytes));
  }
  if (const size_t real = strnlen(path, kMostPathBytes + 1); real != length) {
    return Result::Fail(
        code::kInvalidParam,
        fmt::format("the result path has {} bytes, but its length is given as {}", real, length));
  }
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofInit");
  if (Result result = CheckMode("aclprofInit"); !result.ok()) return result;
  if (mode_ == Mode::kApi) {
    return Result::Fail(code::kRepeatInitialize,
                        "aclprofInit was called twice; call aclprofFinalize in between");
  }
  if (const Status status = trace::CheckOutputPath(path); !status.ok()) {
    return Result::Fail(code::kInvalidFile, status.text);
  }
  output_ = trace::AbsolutePath(path);
  mode_ = Mode::kApi;
  if (const Status status = trace::LookAtOutputDirectory(output_); !status.ok())
    LogError(status.text + "; aclprofStart will fail");
  TellComponents([this] { return components_.Init(); });
  return Result::Ok();
}

Result Manager::Finalize() {
  if (Components::InCallback()) return RefuseInCallback("aclprofFinalize");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofFinalize");
  if (mode_ == Mode::kOff && !dynamic_) return Result::Ok();
  if (Result result = CheckMode("aclprofFinalize"); !result.ok()) return result;
  Result result = Result::Ok();
  if (!recording_) {  // which goes on
    result = StopSession(false);
    TellComponents([this] { return components_.Finalize(); });
    stamps::Allow(false);
    window_settings_.Clear();
  }
  settings_.Clear();
  next_output_.reset();
  follow_devices_ = false;
  mode_ = Mode::kOff;
  return result;
}

Result Manager::SetConfig(int type, const char* text, size_t length) {
  if (Components::InCallback()) return RefuseInCallback("aclprofSetConfig");
  if (type <= ACL_PROF_ARGS_MIN || type >= ACL_PROF_ARGS_MAX) {
    return Result::Fail(
        code::kInvalidParam,
        fmt::format("setting {} does not exist; allowed are 1 and 3 to 16, one per call", type));
  }
  if (length > kMostSettingBytes) {
    return Result::Fail(code::kInvalidParam,
                        fmt::format("the text of {} has {} bytes; at most {} are possible",
                                    Settings::Name(type), length, kMostSettingBytes));
  }
  if (!text) return Result::Null(fmt::format("the text of {}", Settings::Name(type)));
  if (const size_t real = strnlen(text, kMostSettingBytes + 1); real != length) {
    return Result::Fail(code::kInvalidParam,
                        fmt::format("the text of {} has {} bytes, but its length is given as {}",
                                    Settings::Name(type), real, length));
  }
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofSetConfig");
  Result result = settings_.Set(type, {text, length});
  // The text of this one setting is judged as an argument, by publication.
  if (!result.ok() && type == ACL_PROF_NTS_METRICS) result.code = code::kInvalidParam;
  if (!result.ok()) return result;
  if (type == ACL_PROF_PATH && mode_ == Mode::kApi) next_output_ = trace::AbsolutePath(text);
  if (const std::string doubt = Settings::Ambiguity(type, {text, length});
      !doubt.empty() && !told_ambiguity_) {
    told_ambiguity_ = true;
    LogError(doubt);
  }
  return result;
}

Components::Command Manager::CommandFor(const Session& session) const {
  return {session.data_types(), session.devices(), session.path(), session.SampleText()};
}

Session::Request Manager::RequestFor(const Wanted& wanted, const std::string& output, const Before* before) {
  InstallExitHandler();
  Session::Request request;
  if (before) {
    request.previous = before->name;
    request.previous_end_ns = before->end_ns;
  }
  request.output = output;
  request.job = job_;
  request.notes = std::exchange(notes_, {});
  request.notes.insert(request.notes.end(), not_looked_at_.begin(), not_looked_at_.end());
  request.index = ++starts_;
  request.wanted = wanted;
  if (!before && settings_.All().empty() && !window_settings_.All().empty()) {
    std::string names;
    for (const auto& [name, text] : window_settings_.All()) names += (names.empty() ? "" : ", ") + name;
    request.notes.push_back("nothing was set for this window; settings of the one before ended with it: " +
                            names);
  }
  request.settings = before ? &window_settings_ : &settings_;
  request.open_devices = open_devices_;
  request.start_components = [this](const Session& session) {
    {
      // Components may ask for the path as soon as they are told to start.
      std::lock_guard<std::mutex> lock(facts_mutex_);
      paths_.push_back(session.path());
      if (paths_.size() > kKeptPaths) paths_.pop_front();
    }
    const ControlLock::Calling calling(control_);
    return components_.Start(CommandFor(session));
  };
  request.stop_components = [this](const Session&) {
    {
      std::lock_guard<std::mutex> lock(facts_mutex_);
      paths_.pop_back();
    }
    const ControlLock::Calling calling(control_);
    return components_.Stop();
  };
  return request;
}

Result Manager::StartSession(const Wanted& wanted, const std::string& output, const Before* before) {
  const Session::Request request = RequestFor(wanted, output, before);
  std::unique_ptr<Session> fresh;
  Result result = Session::Prepare(request, &fresh);
  if (result.ok()) result = OpenSession(std::move(fresh), request, before);
  if (!result.ok()) --starts_;
  return result;
}

Result Manager::OpenSession(std::unique_ptr<Session> fresh, const Session::Request& request,
                            const Before* before) {
  if (Result result = fresh->Open(request); !result.ok()) return result;
  session_ = std::move(fresh);
  if (!before) {
    // They were set for this window; what is set from now on is for the next.
    if (request.settings == &settings_) window_settings_ = std::exchange(settings_, Settings());
    next_output_.reset();
    if (!request.tap) StartKeeper(request.output);
  }
  return Result::Ok();
}

Result Manager::Warmup(const aclprofConfig* config) {
  if (Components::InCallback()) return RefuseInCallback("aclprofWarmup");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofWarmup");
  if (!config) return Result::Fail(code::kInvalidParam, "the configuration to warm up is NULL");
  Wanted wanted;
  if (Result result = WantedOf(config, &wanted); !result.ok()) return result;
  if (mode_ == Mode::kOff && !dynamic_)
    return Result::Fail(code::kNotRun, "aclprofWarmup before aclprofInit; it does not initialise by itself");
  if (Result result = CheckMode("aclprofWarmup"); !result.ok()) return result;
  if (recording_) GiveWay();
  if (session_ || warmed_) {
    return Result::Fail(code::kApiConflict,
                        session_ ? "aclprofWarmup while a session runs; call aclprofStop first"
                                 : "aclprofWarmup was called already; aclprofStart comes next");
  }
  warm_request_ = RequestFor(wanted, next_output_.value_or(output_), nullptr);
  if (Result result = Session::Prepare(warm_request_, &warmed_); !result.ok()) {
    --starts_;
    return result;
  }
  window_settings_ = std::exchange(settings_, Settings());
  next_output_.reset();
  return Result::Ok();
}

Result Manager::StartWarmed() {
  // What was set again since then cannot change it any more, and is not left for a window that nobody set it for.
  std::string late;
  const auto had = window_settings_.All();
  for (const auto& [name, text] : settings_.All()) {
    const auto known = had.find(name);
    if (known == had.end() || known->second != text) late += (late.empty() ? "" : ", ") + name;
  }
  settings_.Clear();
  warm_request_.notes.clear();
  if (!late.empty())
    warm_request_.notes.push_back("set after the warm-up and therefore without effect: " + late);
  warm_request_.settings = &window_settings_;
  warm_request_.open_devices = open_devices_;
  Result result = OpenSession(std::move(warmed_), warm_request_, nullptr);
  if (!result.ok()) --starts_;
  warm_request_ = {};
  return result;
}

void Manager::DiscardWarmed() {
  if (!warmed_) return;
  warmed_->Discard();
  warmed_.reset();
  warm_request_ = {};
  --starts_;
}

void Manager::StartKeeper(const std::string& output) {
  const Keeping& keeping = session_->keeping();
  if (!keeping.rotates() && !keeping.removes()) return;
  const unsigned round = ++keeper_round_;
  Keeper::Duties duties;
  duties.keeping = keeping;
  duties.output = output;
  duties.own = [this] {
    std::lock_guard<ControlLock> lock(control_);
    return session_ ? session_->name() : std::string();
  };
  duties.used_bytes = [this]() -> uint64_t {
    // Whoever holds it may take long, and the next look comes soon.
    const std::unique_lock<ControlLock> lock(control_, std::try_to_lock);
    return lock && session_ ? session_->used_bytes() : 0;
  };
  duties.rotate = [this, round] { Rotate(round); };
  duties.told = [](const std::string& removed) {
    LogDetail(removed + " was removed, as NPUPROF_KEEP_* asks");
  };
  if (const std::string why = keeper_.Start(std::move(duties)); !why.empty()) {
    const std::string text =
        "NPUPROF_ROTATE_* and NPUPROF_KEEP_* have no effect, because no thread could be started: " + why;
    LogError(text);
    session_->Say(text);
  }
}

void Manager::Rotate(unsigned round) {
  std::lock_guard<ControlLock> lock(control_);
  if (!session_ || exiting_ || round != keeper_round_) return;
  session_->StopDevices(Session::Then::kNextDirectory);
  TellComponents([this] { return components_.Stop(); });
  if (const Result result = session_->Stop(Session::Then::kNextDirectory); !result.ok())
    LogError(result.text);
  const Before before{session_->name(), session_->closing_ns()};
  const Wanted wanted = session_->wanted();
  const std::string output = session_->path().substr(0, session_->path().size() - before.name.size() - 1);
  session_.reset();  // devices have one owner at a time
  if (const Result result = StartSession(wanted, output, &before); !result.ok()) {
    LogError("profiling ends, because the next directory could not be begun: " + result.text);
    ++keeper_round_;
    keeper_.Stop();
  }
}

Result Manager::StopSession(bool at_exit) {
  ++keeper_round_;
  keeper_.Stop();
  DiscardWarmed();
  if (!session_) return Result::Ok();
  session_->StopDevices();
  // While the process exits, components may be half gone; they learn nothing then.
  if (!at_exit) TellComponents([this] { return components_.Stop(); });
  Result result = session_->Stop();
  session_.reset();
  return result;
}

Result Manager::WantedOf(const aclprofConfig* config, Wanted* wanted) const {
  if (config) {
    aclprofConfig copy;
    if (Result result = CopyConfig(config, &copy); !result.ok()) return result;
    *wanted = ToWanted(copy);
  } else {
    if (open_devices_.empty()) {
      return Result::Fail(code::kInvalidParam,
                          "aclprofStart without a configuration, and the program has no device open");
    }
    wanted->devices.assign(open_devices_.begin(), open_devices_.end());
    wanted->metrics = ACL_AICORE_PIPE_UTILIZATION;
    wanted->data_types = CompleteDataTypes(ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS);
  }
  return CheckDataTypes(wanted->data_types);
}

Result Manager::Start(const aclprofConfig* config) {
  if (Components::InCallback()) return RefuseInCallback("aclprofStart");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofStart");
  Wanted wanted;
  if (Result result = WantedOf(config, &wanted); !result.ok()) return result;
  if (Result result = CheckMode("aclprofStart"); !result.ok()) return result;
  if (recording_) GiveWay();
  if (session_) {
    if (session_->data_types() != wanted.data_types) {
      return Result::Fail(
          code::kInvalidConfig,
          fmt::format("a session with data types {:#x} runs already; data types {:#x} need aclprofStop first",
                      session_->data_types(), wanted.data_types));
    }
    return session_->AddDevices(wanted.devices, open_devices_);
  }
  if (warmed_) {
    Result result = StartWarmed();
    if (result.ok()) TellWhoGaveWay();
    return result;
  }
  const bool initialise = mode_ == Mode::kOff;
  if (initialise) {
    output_ = trace::AbsolutePath(settings_.Text(ACL_PROF_PATH).value_or("./"));
    mode_ = Mode::kApi;
    TellComponents([this] { return components_.Init(); });
  }
  Result result = StartSession(wanted, next_output_.value_or(output_));
  if (!result.ok() && initialise) {
    TellComponents([this] { return components_.Finalize(); });
    mode_ = Mode::kOff;
  }
  if (result.ok()) {
    TellWhoGaveWay();
  } else if (gave_way_) {
    // It had to make room to try.
    const RecordRequest recorded = *std::exchange(gave_way_, std::nullopt);
    static_cast<void>(BeginRecording(recorded));
  }
  return result;
}

Result Manager::Stop(const aclprofConfig* config) {
  if (Components::InCallback()) return RefuseInCallback("aclprofStop");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofStop");
  if (mode_ == Mode::kOff && !dynamic_) return Result::Ok();
  std::optional<uint64_t> data_types;
  if (config) {
    aclprofConfig copy;
    if (Result result = CopyConfig(config, &copy); !result.ok()) return result;
    data_types = copy.data_types;
    if (Result result = CheckDataTypes(*data_types); !result.ok()) return result;
  }
  if (Result result = CheckMode("aclprofStop"); !result.ok()) return result;
  if (!session_) {
    DiscardWarmed();
    return Result::Ok();
  }
  if (recording_) return Result::Ok();
  if (data_types && *data_types != session_->data_types()) {
    return Result::Fail(
        code::kInvalidConfig,
        fmt::format("aclprofStop with data types {:#x}, but the session has {:#x}; it goes on", *data_types,
                    session_->data_types()));
  }
  return StopSession(false);
}

int32_t Manager::RegisterComponent(uint32_t module, ProfCommandHandle handle) {
  return components_.Register(module, handle);
}

Result Manager::DeviceChanged(uint32_t id, bool open) {
  const DeviceNotice notice{id, open};
  if (!Components::InCallback()) {
    const Control control(*this, kNoticePatience);
    if (control) {
      TakeNotices();
      return DeviceChangedLocked(notice);
    }
  }
  {
    // Somebody is inside a callback, which may wait for this thread; he sees to it when he is done.
    std::lock_guard<std::mutex> lock(facts_mutex_);
    notices_.push_back(notice);
  }
  if (!Components::InCallback()) {
    const Control control(*this, std::chrono::seconds(0));
  }
  return Result::Ok();
}

bool Manager::HasNotices() const {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  return !notices_.empty();
}

void Manager::TakeNotices() {
  for (;;) {
    std::vector<DeviceNotice> notices;
    {
      std::lock_guard<std::mutex> lock(facts_mutex_);
      notices.swap(notices_);
    }
    if (notices.empty()) return;
    for (const DeviceNotice& notice : notices) {
      if (const Result result = DeviceChangedLocked(notice); !result.ok()) LogError(result.text);
    }
  }
}

Result Manager::DeviceChangedLocked(const DeviceNotice& notice) {
  const uint32_t id = notice.id;
  if (!notice.open) {
    open_devices_.erase(id);
    if (session_) session_->DeviceClosed(id);
    return Result::Ok();
  }
  Result started = StartRecordingLocked();
  open_devices_.insert(id);  // whatever came of that, for sessions to come
  if (!started.ok()) return started;
  if (!session_) return Result::Ok();
  const bool all = recording_ ? recording_->all_devices : mode_ == Mode::kCommand && owner_takes_all_devices_;
  if (all || follow_devices_) return session_->AddDevices({id}, open_devices_);
  return session_->DeviceOpened(id);
}

Result Manager::FollowDevices() {
  if (Components::InCallback()) return RefuseInCallback("aclprofRegisterDeviceCallback");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofRegisterDeviceCallback");
  follow_devices_ = true;
  return Result::Ok();
}

void Manager::ModelLoaded(uint32_t model, uint32_t device) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  models_[model] = device;
}

void Manager::ModelUnloaded(uint32_t model) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  models_.erase(model);
}

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
      if (const Result result = manager.StopSession(true); !result.ok()) LogError(result.text);
      manager.mode_ = Mode::kOff;
      manager.RemoveSubscriptionFiles();
      manager.control_.unlock();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  LogError("the process ends inside a profiling call; the last directory may be incomplete");
}

// The session belongs to the parent. Its objects are left alone, except that the child lets go of the devices.
void Manager::ForkChild() {
  Manager& manager = Process();
  host::QueueSet::Process().ResetInChild();
  stamps::Record(false);
  stamps::Allow(false);
  fork_locks::Child(kForkLocks, kForkLockCount);
  manager.control_.RenewInChild();
  manager.components_.ForgetInChild();
  if (manager.session_) {
    manager.session_->AbandonInChild();
    static_cast<void>(manager.session_.release());
  }
  static_cast<void>(manager.warmed_.release());
  new (&manager.warm_request_) Session::Request;
  manager.keeper_.AbandonInChild();
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
