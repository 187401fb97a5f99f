// SPDX-License-Identifier: Apache-2.0
// Sessions that the program did not ask for through aclprof*: of configuration files and of the runtime. Those of the npuprof
// command are in manager_record.cc.
#include <algorithm>
#include <string_view>

#include "session/log.h"
#include "session/manager_control.h"
#include "session/mstx.h"
#include "trace/directory.h"

namespace npuprof {

Result Manager::StartConfigured(OptionSource source, std::string_view text, const std::string& job,
                                bool* off) {
  *off = false;
  const char* name = OptionSourceName(source);
  if (Components::InCallback()) return RefuseInCallback("MsprofInit");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofInit");
  std::optional<RecordRequest> request;
  if (Result result = ReadOptions(source, text, &request); !result.ok()) return result;
  *off = !request;
  if (*off) return Result::Ok();
  request->job = job;
  TakeProfilingMode();
  if (mode_ == Mode::kCommand || recording_ || waiting_ || dynamic_) {
    NotLookedAt(name);
    return Result::Ok();
  }
  if (Result result = RefuseUnlessOff(name); !result.ok()) return result;
  return StartOwned(std::move(*request), name);
}

void Manager::NotLookedAt(const char* name) {
  const std::string text = fmt::format("{} is not looked at: this process is profiled by {}", name,
                                       mode_ == Mode::kCommand  ? owner_
                                       : recording_ || waiting_ ? kRecorder
                                                                : kDynamicOwner);
  LogError(text);
  for (const auto& window : windows_) window->session->Say(text);
  if (std::find(not_looked_at_.begin(), not_looked_at_.end(), text) == not_looked_at_.end())
    not_looked_at_.push_back(text);
}

Result Manager::StartComponentSession(RecordRequest request, std::optional<uint32_t> type,
                                      const char* function) {
  if (Components::InCallback()) return RefuseInCallback(function);
  const Control control(*this);
  if (!control) return RefuseWhileInCallback(function);
  TakeProfilingMode();
  if (Result result = CheckMode(function); !result.ok()) return result;
  if (Result result = RefuseUnlessOff(function); !result.ok()) return result;
  Result result = StartOwned(std::move(request), function);
  if (result.ok()) component_type_ = type;
  return result;
}

Result Manager::StopComponentSession(uint32_t type) {
  if (Components::InCallback()) return RefuseInCallback("MsprofStop");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofStop");
  if (component_type_ != type) {
    if (windows_.empty() && !waiting_) return Result::Ok();
    const std::string who = component_type_ ? fmt::format("a component of type {}", *component_type_)
                            : mode_ == Mode::kCommand ? owner_
                            : recording_ || waiting_  ? kRecorder
                                                      : "the program itself";
    return Result::Fail(
        code::kAlreadyRun,
        fmt::format("MsprofStop of type {} stops nothing: this process is profiled by {}", type, who));
  }
  DropWaiting();
  Result result = StopWindows(false);
  LeaveCommandMode();
  return result;
}

Result Manager::RefuseUnlessOff(const char* who) const {
  if (recording_) {
    return Result::Fail(code::kAlreadyRun,
                        fmt::format("{} is refused: this process is profiled by {}", who, kRecorder));
  }
  if (mode_ == Mode::kOff) return Result::Ok();
  return Result::Fail(
      code::kAlreadyRun,
      fmt::format("{} is refused: the program profiles itself, aclprofFinalize ends that", who));
}

Result Manager::StartOwned(RecordRequest request, const char* owner) {
  for (const std::string& note : request.notes) LogError(note);
  mode_ = Mode::kCommand;
  owner_ = owner;
  if (request.delay.count() == 0) return BeginOwned(request);
  Result result = WaitFor(request);
  if (!result.ok()) mode_ = Mode::kOff;
  return result;
}

Result Manager::BeginOwned(const RecordRequest& request) {
  settings_ = request.settings;
  job_ = request.job;
  mstx::Configure(request.mstx_include, request.mstx_exclude);
  notes_ = request.notes;
  owner_takes_all_devices_ = request.all_devices;
  Wanted wanted = request.wanted;
  if (owner_takes_all_devices_) wanted.devices.assign(open_devices_.begin(), open_devices_.end());
  TellComponents([this] { return components_.Init(); });
  Result result = StartSession(wanted, trace::AbsolutePath(request.output));
  if (result.ok()) {
    EndAfter(request.duration);
  } else {
    LeaveCommandMode();
  }
  return result;
}

void Manager::LeaveCommandMode() {
  TellComponents([this] { return components_.Finalize(); });
  settings_.Clear();
  window_settings_.Clear();
  job_.clear();
  ends_ = false;
  component_type_.reset();
  if (!dynamic_) not_looked_at_.clear();
  mstx::Configure("", "");
  mode_ = Mode::kOff;
}

}  // namespace npuprof
