// SPDX-License-Identifier: Apache-2.0
// Sessions that the program did not ask for through aclprof*: of configuration files and of the runtime. Those of the npuprof
// command are in manager_record.cc.
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
  if (mode_ == Mode::kCommand || recording_ || waiting_) {
    LogDetail(fmt::format("{} is not looked at: this process is profiled by {}", name,
                          mode_ == Mode::kCommand ? owner_ : kRecorder));
    return Result::Ok();
  }
  if (Result result = RefuseUnlessOff(name); !result.ok()) return result;
  return StartOwned(std::move(*request), name);
}

Result Manager::StartComponentSession(RecordRequest request) {
  if (Components::InCallback()) return RefuseInCallback("MsprofStart");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofStart");
  if (Result result = CheckMode("MsprofStart"); !result.ok()) return result;
  if (Result result = RefuseUnlessOff("MsprofStart"); !result.ok()) return result;
  return StartOwned(std::move(request), "MsprofStart");
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
  mode_ = Mode::kCommand;
  owner_ = owner;
  settings_ = request.settings;
  job_ = request.job;
  mstx::Configure(request.mstx_include, request.mstx_exclude);
  notes_ = request.notes;
  owner_takes_all_devices_ = request.all_devices;
  if (owner_takes_all_devices_) request.wanted.devices.assign(open_devices_.begin(), open_devices_.end());
  TellComponents([this] { return components_.Init(); });
  Result result = StartSession(request.wanted, trace::AbsolutePath(request.output));
  if (!result.ok()) LeaveCommandMode();
  return result;
}

void Manager::LeaveCommandMode() {
  TellComponents([this] { return components_.Finalize(); });
  settings_.Clear();
  window_settings_.Clear();
  job_.clear();
  mstx::Configure("", "");
  mode_ = Mode::kOff;
}

}  // namespace npuprof
