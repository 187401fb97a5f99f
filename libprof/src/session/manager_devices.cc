// SPDX-License-Identifier: Apache-2.0
// What the program tells of its devices and models while windows run.
#include <utility>

#include "session/log.h"
#include "session/manager_control.h"

namespace npuprof {

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
    std::lock_guard<OwnedMutex> lock(facts_mutex_);
    notices_.push_back(notice);
  }
  if (!Components::InCallback()) {
    const Control control(*this, std::chrono::seconds(0));
  }
  return Result::Ok();
}

bool Manager::HasNotices() const {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  return !notices_.empty();
}

void Manager::TakeNotices() {
  for (;;) {
    std::vector<DeviceNotice> notices;
    {
      std::lock_guard<OwnedMutex> lock(facts_mutex_);
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
    for (const auto& window : windows_) window->session->DeviceClosed(id);
    return Result::Ok();
  }
  // The device is open whether a recording that waited for it can be started or not.
  Result started = StartRecordingLocked();
  open_devices_.insert(id);
  if (windows_.empty()) return started;
  const bool all = recording_ ? recording_->all_devices : mode_ == Mode::kCommand && owner_takes_all_devices_;
  Result joined = Result::Ok();
  if (const Window* window = WindowOf(id)) {
    joined = window->session->DeviceOpened(id);
  } else if (all || follow_devices_) {
    joined = windows_.front()->session->AddDevices({id}, open_devices_);
  }
  return started.ok() ? joined : started;
}

Result Manager::FollowDevices() {
  if (Components::InCallback()) return RefuseInCallback("aclprofRegisterDeviceCallback");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofRegisterDeviceCallback");
  follow_devices_ = true;
  return Result::Ok();
}

void Manager::ModelLoaded(uint32_t model, uint32_t device) {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  models_[model] = device;
}

void Manager::ModelUnloaded(uint32_t model, uint32_t device) {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  if (const auto found = models_.find(model); found != models_.end() && found->second == device)
    models_.erase(found);
}

}  // namespace npuprof
