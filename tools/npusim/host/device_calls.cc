// SPDX-License-Identifier: Apache-2.0
// Sessions of profilers: npusim/npusim_device.h.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/validate.h"
#include "host/host_impl.h"
#include "npusim/npusim_device.h"

namespace npusim {

int Host::Impl::Open(uint32_t id) {
  if (id >= devices_.size()) return -ENODEV;
  std::lock_guard lock(mutex_);
  if (devices_[id]->driver->gone()) return -ENODEV;
  if (sessions_.size() >= kMaxSessions) return -EMFILE;
  errno = ENOMEM;
  std::unique_ptr<Session> session = Session::Create(id, settings_.faults.stall_drain);
  if (!session) return -errno;
  devices_[id]->driver->Attach(session.get());
  const int handle = next_handle_++;
  sessions_.emplace(handle, std::move(session));
  return handle;
}

Session* Host::Impl::Find(int handle) {
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? nullptr : found->second.get();
}

int Host::Impl::Close(int handle) {
  std::lock_guard lock(mutex_);
  Session* session = Find(handle);
  if (!session) return -EBADF;
  const uint64_t now = CatchUp();
  devices_[session->device()]->driver->Release(*session, now);
  sessions_.erase(handle);
  Hurry();
  return 0;
}

int Host::Impl::Stop(Device& device, Session& session, npuprof_control* control,
                     std::unique_lock<std::mutex>& lock) {
  Driver& driver = *device.driver;
  int error = driver.BeginStop(session, control, CatchUp());
  if (error != 0) return error;
  if (control->flags & NPUPROF_STOP_WAIT) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(control->timeout_ns);
    ++stop_waiters_;
    while (!driver.Drained(session)) {
      Hurry();
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) break;
    }
    --stop_waiters_;
  }
  const uint64_t now = CatchUp();
  return driver.FinishStop(session, control, now);
}

int Host::Impl::ReadClock(Device& device, Session& session, npuprof_clock* clock) {
  const int error = npc_check_clock(clock);
  if (error != 0) return error;
  // Once to do what has piled up, so that it does not widen the bracket.
  CatchUp();
  __u64 ticks = 0;
  clock->host_before_ns = NowNs();
  CatchUp();
  uint64_t value = 0;
  const int failed = device.driver->Clock(session, &value);
  clock->host_after_ns = NowNs();
  ticks = value;
  clock->device_clock = ticks;
  return failed;
}

int Host::Impl::Control(Device& device, Session& session, unsigned long number, npuprof_control* control,
                        std::unique_lock<std::mutex>& lock) {
  const int error = npc_check_control(control, number);
  if (error != 0) return error;
  if (session.state == State::kStopping) return -EBUSY;
  switch (number) {
    case NPUPROF_IOC_START:
      return device.driver->Start(session, control, CatchUp());
    case NPUPROF_IOC_STOP:
      return Stop(device, session, control, lock);
    case NPUPROF_IOC_FREEZE:
      return device.driver->Freeze(session, control, CatchUp());
    default:
      return device.driver->Flush(session, control, CatchUp());
  }
}

int Host::Impl::Ioctl(int handle, unsigned long request, void* argument) {
  unsigned long number = 0;
  npc_request sizes{};
  int error = npc_request_find(request, &number, &sizes);
  if (error != 0) return error;
  if (!argument) return -EFAULT;
  union {
    npuprof_query query;
    npuprof_add_ring add;
    npuprof_control control;
    npuprof_stats stats;
    npuprof_clock clock;
  } copy;
  __u32 size;
  std::memcpy(&size, argument, sizeof size);
  error = npc_copy_in(&copy, argument, size, &sizes);
  if (error != 0) return error;

  std::unique_lock lock(mutex_);
  Session* session = Find(handle);
  if (!session) return -EBADF;
  Device& device = *devices_[session->device()];
  switch (number) {
    case NPUPROF_IOC_QUERY:
      error = device.driver->Query(&copy.query);
      break;
    case NPUPROF_IOC_ADD_RING:
      error = device.driver->AddRing(*session, &copy.add);
      break;
    case NPUPROF_IOC_STATS:
      CatchUp();
      error = device.driver->Stats(*session, &copy.stats);
      break;
    case NPUPROF_IOC_CLOCK:
      error = ReadClock(device, *session, &copy.clock);
      break;
    default:
      error = Control(device, *session, number, &copy.control, lock);
      break;
  }
  Hurry();
  // Some refusals say more than their number: who is in the way, which period would do.
  if (error == 0 || (number == NPUPROF_IOC_ADD_RING && (error == -EBUSY || error == -ERANGE)))
    npc_copy_out(argument, &copy, size, &sizes);
  return error;
}

int Host::Impl::Mmap(int handle, uint64_t offset, size_t length, void** address) {
  std::lock_guard lock(mutex_);
  Session* session = Find(handle);
  if (!session) return -EBADF;
  return session->Map(offset, length, address);
}

int Host::Impl::PollFd(int handle) {
  std::lock_guard lock(mutex_);
  const Session* session = Find(handle);
  return session ? session->poll_fd() : -EBADF;
}

}  // namespace npusim

const char* npusim_dev_version(void) {
  return NPUSIM_VERSION;
}

namespace {

// The devices of this process; nullptr if its runtime drives others.
npusim::Host::Impl* Local() {
  return npusim::Host::Get().impl();
}

}  // namespace

int npusim_dev_count(void) {
  const auto* local = Local();
  return local ? static_cast<int>(local->device_count()) : -EREMOTE;
}

int npusim_dev_open(uint32_t device_id) {
  if (npusim::Host::forked()) return -EOWNERDEAD;
  npusim::Host::Use();
  auto* local = Local();
  return local ? local->Open(device_id) : -EREMOTE;
}

int npusim_dev_close(int handle) {
  if (npusim::Host::forked()) return -EOWNERDEAD;
  auto* local = Local();
  return local ? local->Close(handle) : -EREMOTE;
}

int npusim_dev_ioctl(int handle, unsigned long request, void* arg) {
  if (npusim::Host::forked()) return -EOWNERDEAD;
  auto* local = Local();
  return local ? local->Ioctl(handle, request, arg) : -EREMOTE;
}

int npusim_dev_mmap(int handle, uint64_t offset, size_t length, void** address) {
  if (npusim::Host::forked()) return -EOWNERDEAD;
  auto* local = Local();
  return local ? local->Mmap(handle, offset, length, address) : -EREMOTE;
}

int npusim_dev_poll_fd(int handle) {
  if (npusim::Host::forked()) return -EOWNERDEAD;
  auto* local = Local();
  return local ? local->PollFd(handle) : -EREMOTE;
}
