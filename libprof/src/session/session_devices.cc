// SPDX-License-Identifier: Apache-2.0
// A session's devices: those that start with it, join it and leave it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "session/session.h"

namespace npuprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Tasks of the window may run on for so long after Stop; later ends are missing and counted.
constexpr seconds kTaskPatience{5};
constexpr milliseconds kTaskPatienceBetween{20};  // where the next directory waits to begin

}  // namespace

Result Session::StartDevices(const Request& request) {
  Result last = Result::Ok();
  bool any = false;
  for (uint32_t id : wanted_.devices) {
    if (!request.open_devices.contains(id)) continue;
    if (Result result = StartDevice(id); result.ok()) {
      any = true;
    } else {
      last = std::move(result);
    }
  }
  if (any || last.ok()) return Result::Ok();
  return last;
}

Result Session::StartDevice(uint32_t id) {
  if (backend_ == device::Backend::kNone) return Result::Ok();
  DeviceFiles* files = nullptr;
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    files = &device_files_[id];
    for (const auto& collector : collectors_) {
      if (collector->id() == id && !collector->stopped()) return Result::Ok();
    }
    // One that has started is never without a place: the drain visits it from then on.
    if (collectors_.size() == collectors_.capacity()) collectors_.reserve(2 * collectors_.size() + 2);
  }
  std::unique_ptr<DeviceCollector> collector;
  const Status status = DeviceCollector::Start(
      {backend_, plan_, directory_, host_, begin_, *collection_, messages_, *files, task_slots_, tap_}, id,
      &collector);
  if (!status.ok()) {
    messages_.Add(drain::Severity::kError, status.text);
    return Result::Fail(code::kFailure, status.text);
  }
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    collector->before = newest_collector_;
    newest_collector_ = collector.get();
    collectors_.push_back(std::move(collector));
  }
  TellOfDevices();
  return Result::Ok();
}

bool Session::Lists(uint32_t id) const {
  return std::find(wanted_.devices.begin(), wanted_.devices.end(), id) != wanted_.devices.end();
}

Result Session::AddDevices(const std::vector<uint32_t>& devices, const std::set<uint32_t>& open_devices) {
  Result worst = Result::Ok();
  for (uint32_t id : devices) {
    if (Lists(id)) continue;
    wanted_.devices.push_back(id);
    if (!open_devices.contains(id)) continue;
    if (Result result = StartDevice(id); !result.ok()) worst = std::move(result);
  }
  return worst;
}

Result Session::DeviceOpened(uint32_t id) {
  return Lists(id) ? StartDevice(id) : Result::Ok();
}

void Session::Settle() {
  // Rings are looked at in time, not on demand: the longest that any of them waits, and a bit.
  constexpr milliseconds kLongest{250};
  std::this_thread::sleep_for(kLongest);
}

void Session::DeviceClosed(uint32_t id) {
  DeviceCollector* closing = nullptr;
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    for (const auto& collector : collectors_) {
      if (collector->id() == id && !collector->stopped()) closing = collector.get();
    }
  }
  if (!closing) return;
  closing->Stop(kTaskPatience);
  closing->Close();
}

// Without a word, a session of a wrong id would look like one of a device that had nothing to do.
void Session::NameUnseenDevices() {
  if (backend_ == device::Backend::kNone) return;  // said at the start
  for (uint32_t id : wanted_.devices) {
    if (device_files_.contains(id)) continue;
    messages_.Add(
        drain::Severity::kWarning,
        fmt::format("device {} is listed, but the program did not open it; nothing is recorded of it", id));
  }
}

void Session::StopDevices(Then then) {
  if (stop_begin_ns_ == 0) stop_begin_ns_ = host::MonotonicRawNs();
  const std::chrono::nanoseconds patience =
      then == Then::kNextDirectory ? kTaskPatienceBetween : std::chrono::nanoseconds(kTaskPatience);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& collector : collectors_) {
    collector->Stop(
        std::max<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), milliseconds(1)));
  }
}

void Session::AbandonInChild() {
  for (DeviceCollector* collector = newest_collector_; collector; collector = collector->before)
    collector->AbandonInChild();
}

}  // namespace npuprof
