// SPDX-License-Identifier: Apache-2.0
// Sessions that the npuprof command asks for. The program keeps the aclprof interface to itself: a recording is no mode of
// it, has settings of its own, and ends when the program starts a session.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "session/log.h"
#include "session/manager.h"
#include "session/manager_control.h"
#include "session/mstx.h"
#include "session/profiling_mode.h"
#include "trace/directory.h"

namespace npuprof {
namespace {

constexpr const char* kAttach = "NPUPROF_ATTACH";

bool MayAttach() {
  const char* text = std::getenv(kAttach);
  if (!text || !*text || std::string_view(text) == "on") return true;
  if (std::string_view(text) == "off") return false;
  LogError(fmt::format("{} is \"{}\"; allowed are on and off; taken is on", kAttach, text));
  return true;
}

}  // namespace

Result Manager::StartRecording() {
  if (Components::InCallback()) return Result::Ok();
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofInit");
  return StartRecordingLocked();
}

void Manager::TakeProfilingMode() {
  if (mode_read_) return;
  mode_read_ = true;
  std::string complaint;
  const ProfilingMode mode = ReadProfilingMode(&complaint);
  if (!complaint.empty()) LogError(complaint);
  timed_mode_ = mode == ProfilingMode::kTimed;
  dynamic_ = mode == ProfilingMode::kDynamic && mode_ == Mode::kOff && windows_.empty();
  if (dynamic_ && !MayAttach())
    LogError(
        "PROFILING_MODE is dynamic, but NPUPROF_ATTACH is off: nobody can attach, so nothing is profiled");
}

// The command comes first, it was asked for last.
Result Manager::StartRecordingLocked() {
  TakeProfilingMode();
  OpenDoor(false);
  if (record_tried_ || mode_ == Mode::kCommand || mode_ == Mode::kSubscribe) return Result::Ok();
  std::optional<RecordRequest> request;
  Result result = ReadRecordRequest(&request);
  if (!result.ok() || request) {
    record_tried_ = true;
    return result.ok() ? AcceptRecording(*request) : result;
  }
  const char* text = std::getenv("PROFILER_SAMPLECONFIG");
  if (!text || !*text) {
    if (timed_mode_)
      LogError(
          "PROFILING_MODE is delay_or_duration, but PROFILER_SAMPLECONFIG, which would say what is profiled "
          "and when, is not "
          "set");
    return Result::Ok();
  }
  if (mode_ != Mode::kOff || recording_) return Result::Ok();
  record_tried_ = true;
  const char* name = OptionSourceName(OptionSource::kSampleConfig);
  result = ReadOptions(OptionSource::kSampleConfig, text, &request);
  if (!result.ok()) return result;
  if (dynamic_) {
    NotLookedAt(name);
    return Result::Ok();
  }
  if (timed_mode_ && request->delay.count() == 0 && request->duration.count() == 0)
    request->notes.push_back(
        "PROFILING_MODE is delay_or_duration, but PROFILER_SAMPLECONFIG has neither delayTime nor "
        "durationTime");
  return StartOwned(std::move(*request), name);
}

Result Manager::AcceptRecording(const RecordRequest& request) {
  ++recordings_;
  return request.delay.count() == 0 ? BeginRecording(request) : WaitFor(request);
}

Result Manager::WaitFor(const RecordRequest& request) {
  if (const std::string why = OpenDoor(true); !why.empty())
    return Result{
        code::kFailure,
        fmt::format("nothing is recorded: no thread could be started to wait for the delay of {} ms: {}",
                    request.delay.count(), why),
        "EK0203"};
  InstallExitHandler();
  waiting_ = request;
  begin_at_ = Door::Clock::now() + request.delay;
  timed_ = true;
  door_.Ring();
  return Result::Ok();
}

void Manager::EndAfter(std::chrono::milliseconds duration) {
  ends_ = duration.count() > 0;
  if (!ends_) return;
  if (const std::string why = OpenDoor(true); !why.empty()) {
    ends_ = false;
    const std::string text = fmt::format(
        "it does not end after {} ms but with the program, because no thread could be started: {}",
        duration.count(), why);
    LogError("recording: " + text);
    windows_.back()->session->Say(text);
    return;
  }
  end_at_ = Door::Clock::now() + duration;
  timed_ = true;
  door_.Ring();
}

void Manager::DropWaiting() {
  if (!waiting_) return;
  TellRecorder(*waiting_, "early");
  if (mode_ == Mode::kCommand)
    LogError(fmt::format("nothing was recorded for {}: the end came before its delay of {} ms had passed",
                         owner_, waiting_->delay.count()));
  waiting_.reset();
}

Result Manager::BeginRecording(const RecordRequest& request) {
  if (!windows_.empty() || warmed_) {
    LogError(fmt::format("nothing is recorded for {}: the program profiles itself", kRecorder));
    if (!windows_.empty()) TellRecorder(request, "own " + windows_.back()->session->path());
    return Result::Ok();
  }
  Wanted wanted = request.wanted;
  if (request.all_devices) wanted.devices.assign(open_devices_.begin(), open_devices_.end());
  TellComponents([this] { return components_.Init(); });
  // What the program sets is for sessions of its own.
  Settings of_program = std::exchange(settings_, request.settings);
  std::optional<std::string> next_output = std::exchange(next_output_, std::nullopt);
  notes_ = request.notes;
  recording_ = request;
  mstx::Configure(request.mstx_include, request.mstx_exclude);
  Result result = StartSession(wanted, trace::AbsolutePath(request.output));
  settings_ = std::move(of_program);
  next_output_ = std::move(next_output);
  if (!result.ok()) {
    recording_.reset();
    mstx::Configure("", "");
    if (mode_ == Mode::kOff) TellComponents([this] { return components_.Finalize(); });
    return result;
  }
  EndAfter(request.duration);
  return result;
}

Result Manager::EndRecording() {
  Result result = StopWindows(false);
  recording_.reset();
  ends_ = false;
  if (!dynamic_) not_looked_at_.clear();
  mstx::Configure("", "");
  if (mode_ == Mode::kOff) TellComponents([this] { return components_.Finalize(); });
  return result;
}

void Manager::GiveWay() {
  constexpr const char* kText = "recording ends: the program profiles itself from here on";
  LogError(kText);
  for (const auto& window : windows_) window->session->Say(kText);
  if (const Result result = StopWindows(false); !result.ok()) LogError(result.text);
  gave_way_ = std::exchange(recording_, std::nullopt);
  ends_ = false;
  not_looked_at_.clear();
  mstx::Configure("", "");
}

void Manager::ResumeRecording() {
  if (!gave_way_) return;
  const RecordRequest recorded = *std::exchange(gave_way_, std::nullopt);
  if (const Result result = BeginRecording(recorded); !result.ok()) LogError(result.text);
}

void Manager::TellWhoGaveWay() {
  if (gave_way_) TellRecorder(*gave_way_, "own " + windows_.back()->session->path());
  gave_way_.reset();
}

Result Manager::StopRecording() {
  if (Components::InCallback()) return Result::Ok();
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("MsprofFinalize");
  DropWaiting();
  if (recording_) return EndRecording();
  if (mode_ != Mode::kCommand) return Result::Ok();
  Result result = StopWindows(false);
  LeaveCommandMode();
  return result;
}

std::string Manager::OpenDoor(bool timed) {
  if (door_.open()) return "";
  const Door::Duties duties{[this](const std::string& request) { return Serve(request); },
                            [this] { return SeeToTimes(); }};
  if (MayAttach()) {
    const std::string why = door_.Open(duties, true);
    if (why.empty()) return "";
    LogError(fmt::format("`npuprof record --pid` cannot attach to this process: {}", why));
  }
  // What only waits for a time need not be found.
  return timed ? door_.Open(duties, false) : "";
}

std::string Manager::State(const std::string& directory) const {
  const char* state = waiting_           ? "waiting"
                      : windows_.empty() ? (warmed_ ? "own" : "none")
                      : recording_       ? "recording"
                                         : "own";
  return fmt::format("state={}\ndirectory={}\nrecording={}\n", state, directory, recordings_);
}

std::string Manager::Serve(const std::string& text) {
  const Control control(*this);
  if (!control) return "error a callback of the program has kept the profiler for 5 s\n";
  std::map<std::string, std::string> variables;
  const size_t end_of_verb = text.find('\n');
  for (size_t begin = end_of_verb; begin != std::string::npos && begin + 1 < text.size();) {
    const size_t end = std::min(text.find('\n', begin + 1), text.size());
    const std::string line = text.substr(begin + 1, end - begin - 1);
    if (const size_t equals = line.find('='); equals != std::string::npos)
      variables[line.substr(0, equals)] = line.substr(equals + 1);
    begin = end;
  }
  const std::string verb = text.substr(0, end_of_verb);
  if (exiting_ && verb != "status") return "error the process ends\n" + State("");
  Result result = Result::Ok();
  bool cancelled = false;  // one that had no directory yet
  if (verb == "start") {
    std::optional<RecordRequest> request;
    result = ReadRecordRequest(
        [&](const char* name) -> const char* {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        &request);
    if (result.ok() && !request) result = Result::Fail(code::kInvalidConfig, "no directory is given");
    if (result.ok() && (recording_ || waiting_))
      result = Result::Fail(code::kAlreadyRun, "it is recorded already");
    if (result.ok() && (!windows_.empty() || warmed_))
      result = Result::Fail(code::kAlreadyRun, "the program profiles itself");
    if (result.ok()) result = CheckMode("recording", true);
    if (result.ok()) result = AcceptRecording(*request);
  } else if (verb == "stop") {
    if (waiting_ && mode_ != Mode::kCommand) {
      waiting_.reset();
      cancelled = true;
    } else if (!recording_) {
      result = Result::Fail(code::kInvalidParam, windows_.empty()
                                                     ? "it is not recorded"
                                                     : "it is not recorded; the program profiles itself");
    } else {
      result = EndRecording();
    }
  } else if (verb != "status") {
    result = Result::Fail(code::kInvalidParam,
                          fmt::format("'{}' is no request; allowed are start, stop and status", verb));
  }
  const std::string directory = cancelled          ? ""
                                : windows_.empty() ? LastPath()
                                                   : windows_.back()->session->path();
  return (result.ok() ? "ok\n" : "error " + result.text + "\n") + State(directory);
}

std::optional<Door::Clock::time_point> Manager::SeeToTimes() {
  if (!timed_) return std::nullopt;
  const Control control(*this);
  const auto now = Door::Clock::now();
  if (!control) return now + kNoticePatience;
  if (exiting_) return std::nullopt;
  if (waiting_ && now >= begin_at_) {
    const RecordRequest request = *std::exchange(waiting_, std::nullopt);
    const Result result = mode_ == Mode::kCommand ? BeginOwned(request) : BeginRecording(request);
    if (!result.ok()) LogError(result.text);
  }
  // A session of the program's own may have taken its place.
  ends_ = ends_ && !windows_.empty() && (recording_ || mode_ == Mode::kCommand);
  if (ends_ && Door::Clock::now() >= end_at_) {
    ends_ = false;
    // A configuration keeps the process to itself until the runtime ends.
    if (const Result result = recording_ ? EndRecording() : StopWindows(false); !result.ok())
      LogError(result.text);
  }
  timed_ = waiting_ || ends_;
  if (waiting_) return begin_at_;
  return ends_ ? std::optional(end_at_) : std::nullopt;
}

}  // namespace npuprof
