// SPDX-License-Identifier: Apache-2.0
#include "session/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "device/device_file.h"
#include "device/visible.h"
#include "session/log.h"
#include "session/manager_control.h"
#include "session/mstx.h"
#include "session/stamps.h"
#include "trace/directory.h"

namespace npuprof {
namespace {

constexpr size_t kMostPathBytes = 4095;
constexpr size_t kMostSettingBytes = 256;
constexpr ptrdiff_t kKeptPaths = 8;  // callers may still look at what an earlier call returned

Result RefuseInDynamicMode(const char* function) {
  const char* mode = std::getenv("PROFILING_MODE");
  if (!mode || std::strcmp(mode, "dynamic") != 0) return Result::Ok();
  return Result::Fail(code::kFeatureUnsupported,
                      fmt::format("{} with PROFILING_MODE=dynamic; unset it to use the interface", function));
}

// Domains that the command chose are those of the recording alone, which goes on meanwhile.
Result PrepareBeside(const std::optional<RecordRequest>& recording, const Session::Request& request,
                     std::unique_ptr<Session>* out) {
  if (recording) mstx::Configure("", "");
  Result result = Session::Prepare(request, out);
  if (recording) mstx::Configure(recording->mstx_include, recording->mstx_exclude);
  return result;
}

}  // namespace

Manager::Mode Manager::mode() const {
  std::lock_guard<ControlLock> lock(control_);
  return mode_;
}

const char* Manager::LastPath() const {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) {
    if (!path->ended) return path->text.c_str();
  }
  return paths_.empty() ? "" : paths_.back().text.c_str();
}

void Manager::PathBegins(const std::string& path) {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  paths_.push_back({path, false});
}

void Manager::PathEnds(const std::string& path) {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  const auto its = std::ranges::find(paths_, path, &Path::text);
  if (its == paths_.end()) return;  // a subscription's
  its->ended = true;
  if (std::ranges::count_if(paths_, &Path::ended) > kKeptPaths)
    paths_.erase(std::ranges::find_if(paths_, &Path::ended));
}

Result Manager::CollectFacts(Facts* facts) {
  if (Components::InCallback()) return RefuseInCallback("npuprofGetStatus");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("npuprofGetStatus");
  facts->mode = recording_ || dynamic_ ? Mode::kCommand : mode_;
  facts->running = !windows_.empty();
  for (const auto& window : windows_) {
    const Session& session = *window->session;
    facts->data_types |= session.data_types() & ~kAicpuModel;
    facts->devices.insert(facts->devices.end(), session.devices().begin(), session.devices().end());
  }
  if (const Window* newest = Newest()) facts->begin_ns = newest->session->begin_ns();
  if (mode_ != Mode::kSubscribe) facts->directory = LastPath();
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
  if (Result result = RefuseInDynamicMode("aclprofInit"); !result.ok()) return result;
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
  DiscardWarmed();
  if (!recording_) {  // which goes on
    result = StopWindows(false);
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

Session::Request Manager::RequestFor(const Wanted& wanted, const std::string& output,
                                     const Settings& settings, const Before* before) {
  InstallExitHandler();
  Session::Request request;
  if (before) {
    request.previous = before->name;
    request.marks_from = before->marks_from;
  }
  request.output = output;
  request.job = job_;
  request.notes = std::exchange(notes_, {});
  request.notes.insert(request.notes.end(), not_looked_at_.begin(), not_looked_at_.end());
  request.index = ++starts_;
  request.wanted = wanted;
  if (!before && windows_.empty() && settings.All().empty() && !window_settings_.All().empty()) {
    std::string names;
    for (const auto& [name, text] : window_settings_.All()) names += (names.empty() ? "" : ", ") + name;
    request.notes.push_back("nothing was set for this window; settings of the one before ended with it: " +
                            names);
  }
  request.settings = &settings;
  request.open_devices = open_devices_;
  request.start_components = [this](const Session& session) {
    PathBegins(session.path());  // components may ask for it as soon as they are told to start
    const ControlLock::Calling calling(control_);
    return components_.Start(CommandFor(session));
  };
  request.stop_components = [this](const Session& session) {
    {
      std::lock_guard<OwnedMutex> lock(facts_mutex_);
      std::erase_if(paths_, [&](const Path& path) { return path.text == session.path(); });
    }
    const ControlLock::Calling calling(control_);
    return TellOfEnd(session);
  };
  return request;
}

Result Manager::StartSession(const Wanted& wanted, const std::string& output) {
  const Session::Request request = RequestFor(wanted, output, settings_);
  std::unique_ptr<Session> fresh;
  Result result = Session::Prepare(request, &fresh);
  if (result.ok()) result = OpenWindow(std::move(fresh), request);
  if (!result.ok()) --starts_;
  return result;
}

Result Manager::Warmup(const aclprofConfig* config) {
  if (Components::InCallback()) return RefuseInCallback("aclprofWarmup");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofWarmup");
  if (!config) return Result::Null("the configuration to warm up");
  Wanted wanted;
  if (Result result = WantedOf(config, &wanted); !result.ok()) return result;
  if (mode_ == Mode::kOff && !dynamic_)
    return Result::Fail(code::kNotRun, "aclprofWarmup before aclprofInit; it does not initialise by itself");
  if (Result result = CheckMode("aclprofWarmup"); !result.ok()) return result;
  const bool runs = !windows_.empty() && !recording_;
  if (runs || warmed_) {
    return Result::Fail(code::kApiConflict,
                        runs ? "aclprofWarmup while a session runs; call aclprofStop first"
                             : "aclprofWarmup was called already; aclprofStart comes next");
  }
  warm_request_ = RequestFor(wanted, next_output_.value_or(output_), settings_);
  if (recording_) warm_request_.notes.clear();  // they are about the recording
  if (Result result = PrepareBeside(recording_, warm_request_, &warmed_); !result.ok()) {
    --starts_;
    return result;
  }
  warm_settings_ = std::exchange(settings_, Settings());
  warm_output_ = std::exchange(next_output_, std::nullopt);
  return Result::Ok();
}

Result Manager::StartWarmed() {
  // What was set again since then cannot change it any more, and is not left for a window that nobody set it for.
  std::string late;
  const auto had = warm_settings_.All();
  for (const auto& [name, text] : settings_.All()) {
    const auto known = had.find(name);
    if (known == had.end() || known->second != text) late += (late.empty() ? "" : ", ") + name;
  }
  warm_request_.notes.clear();
  if (!late.empty())
    warm_request_.notes.push_back("set after the warm-up and therefore without effect: " + late);
  warm_request_.settings = &warm_settings_;
  warm_request_.open_devices = open_devices_;
  const Session::Request request = std::exchange(warm_request_, {});
  if (recording_) GiveWay();
  Result result = OpenWindow(std::move(warmed_), request);
  if (result.ok()) {
    settings_.Clear();
    warm_settings_.Clear();
    return result;
  }
  --starts_;
  // Another try is made of what was set for this one, and since.
  warm_settings_.Take(settings_);
  settings_ = std::exchange(warm_settings_, Settings());
  if (!next_output_) next_output_ = warm_output_;
  return result;
}

void Manager::DiscardWarmed() {
  if (!warmed_) return;
  warmed_->Discard();
  warmed_.reset();
  warm_request_ = {};
  warm_settings_.Clear();
  --starts_;
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
  if (!recording_) {
    bool joined = false;
    if (Result result = Join(wanted, &joined); joined) return result;
  }
  const bool initialise = mode_ == Mode::kOff;
  if (initialise) {
    if (Result result = RefuseInDynamicMode("aclprofStart, which initialises by itself,"); !result.ok())
      return result;
    output_ = trace::AbsolutePath(settings_.Text(ACL_PROF_PATH).value_or("./"));
    mode_ = Mode::kApi;
    TellComponents([this] { return components_.Init(); });
  }
  Result result = warmed_ ? StartWarmed() : StartOwn(wanted);
  if (!result.ok() && initialise) {
    if (!recording_) TellComponents([this] { return components_.Finalize(); });
    mode_ = Mode::kOff;
  }
  if (result.ok()) {
    TellWhoGaveWay();
  } else {
    ResumeRecording();
  }
  return result;
}

Result Manager::StartOwn(const Wanted& wanted) {
  Session::Request request = RequestFor(wanted, next_output_.value_or(output_), settings_);
  if (recording_) request.notes.clear();  // they are about the recording
  std::unique_ptr<Session> fresh;
  Result result = PrepareBeside(recording_, request, &fresh);
  if (result.ok()) {
    // Not before it is known that there is a chance: devices have one owner.
    if (recording_) GiveWay();
    result = OpenWindow(std::move(fresh), request);
  }
  if (!result.ok()) --starts_;
  return result;
}

Result Manager::Stop(const aclprofConfig* config) {
  if (Components::InCallback()) return RefuseInCallback("aclprofStop");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofStop");
  if (mode_ == Mode::kOff && !dynamic_) return Result::Ok();
  std::optional<Wanted> wanted;
  if (config) {
    aclprofConfig copy;
    if (Result result = CopyConfig(config, &copy); !result.ok()) return result;
    wanted = ToWanted(copy);
    if (Result result = CheckDataTypes(wanted->data_types); !result.ok()) return result;
  }
  if (Result result = CheckMode("aclprofStop"); !result.ok()) return result;
  DiscardWarmed();
  if (windows_.empty() || recording_) return Result::Ok();
  if (!wanted) return StopWindows(false);
  // One window is meant whatever devices are named, as ever; of several those that have one of them.
  std::vector<Window*> ending{windows_.front().get()};
  if (windows_.size() > 1) ending = WindowsWith(wanted->devices);
  if (ending.empty()) {
    return Result::Fail(
        code::kInvalidConfig,
        fmt::format("aclprofStop: {} windows run, and none of them has a device of this configuration",
                    windows_.size()));
  }
  for (const Window* window : ending) {
    if (const uint64_t runs = window->session->data_types(); runs != wanted->data_types) {
      return Result::Fail(
          code::kInvalidConfig,
          fmt::format("aclprofStop with data types {:#x}, but the session has {:#x}; it goes on",
                      wanted->data_types, runs));
    }
  }
  Result worst = Result::Ok();
  for (Window* window : ending) {
    if (Result result = StopWindow(window, false); !result.ok()) worst = std::move(result);
  }
  return worst;
}

int32_t Manager::RegisterComponent(uint32_t module, ProfCommandHandle handle) {
  return components_.Register(module, handle);
}

}  // namespace npuprof
