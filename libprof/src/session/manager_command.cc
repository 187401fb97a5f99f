// SPDX-License-Identifier: Apache-2.0
// Sessions that the program did not ask for through aclprof*: of the npuprof command, of configuration files, of the runtime.
#include <cstdlib>
#include <string_view>

#include "session/log.h"
#include "session/manager_control.h"
#include "session/mstx.h"
#include "trace/directory.h"

namespace npuprof {

Result Manager::StartRecording() {
  if (Components::InCallback()) return Result::Ok();
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofInit");
  return StartRecordingLocked();
}

// The command comes first, it was asked for last.
Result Manager::StartRecordingLocked() {
  if (record_tried_ || mode_ != Mode::kOff) return Result::Ok();
  std::optional<RecordRequest> request;
  const char* owner = "`npuprof record`";
  Result result = ReadRecordRequest(&request);
  if (result.ok() && !request) {
    const char* text = std::getenv("PROFILER_SAMPLECONFIG");
    if (!text || !*text) return Result::Ok();
    owner = "PROFILER_SAMPLECONFIG";
    result = ReadOptions(OptionSource::kSampleConfig, text, &request);
  }
  record_tried_ = true;
  if (!result.ok()) return result;
  return StartOwned(std::move(*request), owner);
}

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
  if (mode_ == Mode::kCommand) {
    LogDetail(fmt::format("{} is not looked at: this process is profiled by {}", name, owner_));
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
  record_all_devices_ = request.all_devices;
  if (record_all_devices_) request.wanted.devices.assign(open_devices_.begin(), open_devices_.end());
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

Result Manager::StopRecording() {
  if (Components::InCallback()) return Result::Ok();
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofFinalize");
  if (mode_ != Mode::kCommand) return Result::Ok();
  Result result = StopSession(false);
  LeaveCommandMode();
  return result;
}

}  // namespace npuprof
