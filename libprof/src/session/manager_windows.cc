// SPDX-License-Identifier: Apache-2.0
// The windows that run: which devices belong to which, what components are told of all of them, and how each ends or turns
// over to its next directory.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "session/caught.h"
#include "session/log.h"
#include "session/manager_control.h"
#include "session/mark_record.h"

namespace npuprof {
std::vector<Window*> Manager::WindowsWith(const std::vector<uint32_t>& devices) const {
  std::vector<Window*> found;
  for (const auto& window : windows_) {
    const Session& session = *window->session;
    const bool meets = devices.empty() || session.devices().empty() ||
                       std::ranges::any_of(devices, [&](uint32_t id) { return session.Lists(id); });
    if (meets) found.push_back(window.get());
  }
  return found;
}

Window* Manager::WindowOf(uint32_t device) const {
  for (const auto& window : windows_) {
    if (window->session->Lists(device)) return window.get();
  }
  return nullptr;
}

Window* Manager::FindWindow(unsigned number) const {
  for (const auto& window : windows_) {
    if (window->number == number) return window.get();
  }
  return nullptr;
}

const Window* Manager::Newest() const {
  const auto begin = [](const auto& window) { return window->session ? window->session->begin_ns() : 0; };
  const auto newest = std::ranges::max_element(windows_, {}, begin);
  return newest == windows_.end() ? nullptr : newest->get();
}

Result Manager::Join(const Wanted& wanted, bool* joined) {
  const std::vector<Window*> met = WindowsWith(wanted.devices);
  *joined = !met.empty();
  const auto alike = [&](const Window* window) { return window->session->data_types() == wanted.data_types; };
  // The host alone is in every window.
  if (wanted.devices.empty() && std::ranges::any_of(met, alike)) return Result::Ok();
  for (const Window* window : met) {
    if (!alike(window)) {
      return Result::Fail(
          code::kInvalidConfig,
          fmt::format("a session with data types {:#x} runs already; data types {:#x} need aclprofStop first",
                      window->session->data_types(), wanted.data_types));
    }
  }
  if (met.size() == 1) return met.front()->session->AddDevices(wanted.devices, open_devices_);
  for (uint32_t id : met.empty() ? std::vector<uint32_t>() : wanted.devices) {
    if (WindowOf(id)) continue;
    return Result::Fail(
        code::kAlreadyRun,
        fmt::format("devices of this configuration are in {} windows that run, and device {} is in none of "
                    "them; aclprofStop them, or start device {} alone",
                    met.size(), id, id));
  }
  return Result::Ok();
}

Components::Command Manager::CommandFor(const Session& newest, const Session* without) const {
  Components::Command command{newest.data_types(), newest.devices(), newest.path(), newest.SampleText()};
  for (const auto& window : windows_) {
    const Session* session = window->session.get();
    if (!session || session == &newest || session == without) continue;
    command.data_types |= session->data_types();
    command.devices.insert(command.devices.end(), session->devices().begin(), session->devices().end());
  }
  return command;
}

std::vector<std::string> Manager::TellOfEnd(const Session& ending) {
  // Components know one start. While others run it shrinks to what those ask for.
  for (auto window = windows_.rbegin(); window != windows_.rend(); ++window) {
    const Session* session = (*window)->session.get();
    if (session && session != &ending) return components_.Start(CommandFor(*session, &ending));
  }
  return components_.Stop();
}

Result Manager::OpenWindow(std::unique_ptr<Session> fresh, const Session::Request& request) {
  // All that needs memory comes before the window opens: once it is open, nothing fails.
  auto window = std::make_unique<Window>();
  window->settings = *request.settings;
  Settings settings = *request.settings;
  if (Result result = fresh->Open(request); !result.ok()) return result;
  window->number = ++window_numbers_;
  window->session = std::move(fresh);
  Window& opened = *window;
  windows_.push_back(std::move(window));
  if (request.tap) return Result::Ok();  // nobody is to keep or set anything for it
  // They were set for this window; what is set from now on is for the next.
  window_settings_ = std::move(settings);
  if (request.settings == &settings_) settings_.Clear();
  next_output_.reset();
  StartKeeper(opened, request.output);
  return Result::Ok();
}

Result Manager::StopWindow(Window* window, bool at_exit) {
  const auto found =
      std::ranges::find_if(windows_, [window](const auto& one) { return one.get() == window; });
  window->keeper.Stop();
  window->session->StopDevices();
  // While the process exits, components may be half gone; they learn nothing then.
  if (!at_exit) TellComponents([&] { return TellOfEnd(*window->session); });
  Result result = window->session->Stop();
  PathEnds(window->session->path());
  // Off the list first: the child of a fork looks at what is on it.
  const std::unique_ptr<Window> ended = std::move(*found);
  windows_.erase(found);
  return result;
}

Result Manager::StopWindows(bool at_exit) {
  Result worst = Result::Ok();
  while (!windows_.empty()) {
    if (Result result = StopWindow(windows_.front().get(), at_exit); !result.ok()) worst = std::move(result);
  }
  return worst;
}

void Manager::StartKeeper(Window& window, const std::string& output) {
  const Keeping& keeping = window.session->keeping();
  if (!keeping.rotates() && !keeping.removes()) return;
  const unsigned number = window.number;
  Keeper::Duties duties;
  duties.keeping = keeping;
  duties.output = output;
  duties.own = [this, number] {
    std::lock_guard<ControlLock> lock(control_);
    const Window* own = FindWindow(number);
    return own ? own->session->name() : std::string();
  };
  duties.used_bytes = [this, number]() -> uint64_t {
    // Whoever holds it may take long, and the next look comes soon.
    const std::unique_lock<ControlLock> lock(control_, std::try_to_lock);
    const Window* own = lock ? FindWindow(number) : nullptr;
    return own ? own->session->used_bytes() : 0;
  };
  duties.rotate = [this, number] { return Rotate(number); };
  duties.told = [](const std::string& removed) {
    LogDetail(removed + " was removed, as NPUPROF_KEEP_* asks");
  };
  std::string why;
  if (const Result begun = Caught([&] {
        why = window.keeper.Start(std::move(duties));
        return Result::Ok();
      });
      !begun.ok())
    why = begun.text;
  if (!why.empty()) {
    const std::string text =
        "NPUPROF_ROTATE_* and NPUPROF_KEEP_* have no effect, because no thread could be started: " + why;
    LogError(text);
    window.session->Say(text);
  }
}

bool Manager::Rotate(unsigned number) {
  std::lock_guard<ControlLock> lock(control_);
  Window* window = exiting_ ? nullptr : FindWindow(number);
  if (!window) return true;
  // Nothing would be recorded from the end of this directory until the disk has taken it all.
  if (!window->session->DiskAnswers()) return false;
  // First of all, while there is a directory to go on in: a disk or a process may be short of something for a moment.
  const Session& session = *window->session;
  const Before before{session.name(), session.marks_from()};
  const std::string output = session.path().substr(0, session.path().size() - before.name.size() - 1);
  Session::Request request = RequestFor(session.wanted(), output, window->settings, &before);
  std::unique_ptr<Session> next;
  Result result = Caught([&] { return Session::Prepare(request, &next); });
  if (!result.ok()) {
    --starts_;
    if (std::exchange(window->overdue, true)) return false;
    const std::string text =
        "the next directory could not be begun in time, so this one goes on until it can: " + result.text;
    LogError(text);
    window->session->Say(text);
    return false;
  }
  window->overdue = false;
  result = Caught([&] { return TurnOver(*window, &request, &next); });
  if (result.ok()) return true;
  --starts_;
  LoseWindow(window, request, result.text);
  return true;
}

Result Manager::TurnOver(Window& window, Session::Request* request, std::unique_ptr<Session>* next) {
  Session& ending = *window.session;
  ending.StopDevices(Session::Then::kNextDirectory);
  TellComponents([&] { return TellOfEnd(ending); });
  if (const Result result = ending.Stop(Session::Then::kNextDirectory); !result.ok()) LogError(result.text);
  PathEnds(ending.path());
  request->previous_end_ns = ending.closing_ns();
  window.session.reset();  // devices have one owner at a time
  Result result = (*next)->Open(*request);
  if (result.ok()) window.session = std::move(*next);
  return result;
}

void Manager::LoseWindow(Window* window, const Session::Request& request, const std::string& why) {
  window->keeper.Stop();
  // Before anything else can fail: whoever finds it on the list takes it for one that runs.
  const auto found =
      std::ranges::find_if(windows_, [window](const auto& one) { return one.get() == window; });
  const std::unique_ptr<Window> ended = std::move(*found);
  windows_.erase(found);
  marks::EndTurn(false);
  LogError("profiling ends, because the next directory could not be begun: " + why);
  if (marks::Recorders() == 0) LogAll(Session::OpenRanges(request.marks_from));
  if (!windows_.empty()) return;
  TellComponents([this] { return components_.Stop(); });  // nothing, unless it ended in the middle
  // Nobody profiles this process any more, so others may.
  if (recording_) {
    static_cast<void>(EndRecording());
  } else if (mode_ == Mode::kCommand) {
    LeaveCommandMode();
  }
}

}  // namespace npuprof
