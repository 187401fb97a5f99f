// SPDX-License-Identifier: Apache-2.0
// The thread that reads what NPUs elsewhere tell, and the end of a port.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "host/remote.h"

namespace npusim {
namespace {

constexpr uint64_t kBracketNs = 1'000'000'000;

}  // namespace

void Remote::Wake() {
  if (!polling_) return;
  polling_ = false;
  const uint64_t one = 1;
  if (!wake_identity_.Holds(wake_fd_)) return;
  if (write(wake_fd_, &one, sizeof one) < 0) return;  // full: it is awake
}

bool Remote::Await(Lock& lock, Request* request) {
  uint64_t deadline = Host::NowNs() + answer_ns_;
  const bool reading = std::this_thread::get_id() == thread_.get_id();
  while (!request->done && !dead_) {
    const uint64_t now = Host::NowNs();
    if (now >= deadline && dispatching_) {
      deadline = now + answer_ns_;  // a listener takes its time; nobody reads meanwhile
    } else if (now >= deadline) {
      Die(fmt::format("nothing was heard through {} for {} s", name_, static_cast<double>(answer_ns_) / 1e9));
    } else if (reading) {
      ReadOnce(lock, static_cast<int>((deadline - now) / 1'000'000 + 1));
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(deadline - now));
    }
  }
  return request->done;
}

void Remote::Run() {
  Lock lock(mutex_);
  uint64_t bracket_ns = Host::NowNs() + kBracketNs;
  while (!quit_) {
    if (!notices_.empty()) {
      Dispatch(lock);
      continue;
    }
    const uint64_t now = Host::NowNs();
    if (dead_) {
      last_thread_.Check();
      changed_.wait_for(lock, std::chrono::nanoseconds(kBracketNs),
                        [&] { return quit_ || !notices_.empty(); });
    } else if (now < bracket_ns) {
      ReadOnce(lock, static_cast<int>((bracket_ns - now) / 1'000'000 + 1));
    } else {
      lock.unlock();
      last_thread_.Check();
      SyncClock();
      lock.lock();
      bracket_ns = Host::NowNs() + kBracketNs;
    }
  }
}

void Remote::ReadOnce(Lock& lock, int timeout_ms) {
  const bool write = stream_.queued() > 0;
  pollfd fds[2] = {{stream_.fd(), static_cast<short>(write ? POLLIN | POLLOUT : POLLIN), 0},
                   {wake_fd_, POLLIN, 0}};
  polling_ = true;
  lock.unlock();
  poll(fds, 2, timeout_ms);
  lock.lock();
  polling_ = false;
  uint64_t count;
  if (fds[1].revents && wake_identity_.Holds(wake_fd_) && read(wake_fd_, &count, sizeof count) < 0) count = 0;
  if (dead_) return;
  int error = 0;
  if (stream_.queued() > 0) {
    error = stream_.Flush();
    changed_.notify_all();
  }
  if (error == 0 && fds[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL))
    error = stream_.Read([this](const npusim_port_header& message) { Receive(message); });
  if (error == -EBADMSG) {
    Die(fmt::format("what comes through {} is no message", name_));
  } else if (error != 0) {
    Die(fmt::format("{} was closed from the other side: {}", name_, std::strerror(-error)));
  }
}

void Remote::Receive(const npusim_port_header& message) {
  const auto task = [&]() -> const npusim_port_task& {
    return reinterpret_cast<const npusim_port_task&>(message);
  };
  switch (message.type) {
    case NPUSIM_PORT_STARTED:
    case NPUSIM_PORT_ENDED:
    case NPUSIM_PORT_ABORTED:
      if (message.size == sizeof(npusim_port_task)) TaskTold(task());
      return;
    case NPUSIM_PORT_GONE:
      if (message.device < devices_.size()) devices_[message.device].gone = true;
      return;
    case NPUSIM_PORT_REPLY:  // to something that was no message
      Die(fmt::format("the other side of {} does not understand this runtime", name_));
      return;
    default:
      break;
  }
  const auto found = requests_.find(message.sequence);
  if (found == requests_.end()) return;
  Request& request = *found->second;
  request.arrived_ns = Host::NowNs();
  request.status = message.status;
  if (message.size == request.size) {
    std::memcpy(request.reply, &message, request.size);
  } else if (message.status == 0) {
    request.status = -EPROTO;
  }
  request.done = true;
  changed_.notify_all();
}

void Remote::TaskTold(const npusim_port_task& message) {
  if (message.cookie == 0 || message.cookie > pending_.size()) return;
  Pending& pending = pending_[message.cookie - 1];
  if (!pending.used || pending.device != message.header.device) return;
  Device& device = devices_[pending.device];
  const bool ended = message.header.type != NPUSIM_PORT_STARTED;
  // What the translation cannot know exactly: nothing happens before it was asked for or after it is told, and a
  // device's times never go back.
  uint64_t ns = std::max({clock_.ToLocal(message.ns), pending.submitted_ns, device.last_ns});
  ns = std::max(device.last_ns, std::min(ns, Host::NowNs()));
  device.last_ns = ns;
  notices_.push_back({pending.listener, pending.cookie, ns, pending.device, message.header.status, ended});
  if (!ended) return;
  pending.used = false;
  free_tokens_.push_back(static_cast<uint32_t>(message.cookie));
}

void Remote::Dispatch(Lock& lock) {
  std::vector<Notice> notices;
  notices.swap(notices_);
  dispatching_ = true;
  lock.unlock();
  for (const Notice& notice : notices) {
    if (!notice.listener) continue;
    if (notice.ended) {
      notice.listener->OnEnded(notice.device, notice.cookie, notice.ns, notice.status);
    } else {
      notice.listener->OnStarted(notice.device, notice.cookie, notice.ns);
    }
  }
  lock.lock();
  dispatching_ = false;
  for (const Notice& notice : notices) devices_[notice.device].in_flight -= notice.ended;
  changed_.notify_all();
}

void Remote::Die(const std::string& why) {
  if (dead_) return;
  dead_ = true;
  trouble_ = why;
  const uint64_t now = Host::NowNs();
  size_t lost = 0;
  for (Device& device : devices_) device.gone = true;
  for (size_t i = 0; i < pending_.size(); ++i) {
    Pending& pending = pending_[i];
    if (!pending.used) continue;
    pending.used = false;
    free_tokens_.push_back(static_cast<uint32_t>(i + 1));
    const uint64_t ns = std::max(now, devices_[pending.device].last_ns);
    notices_.push_back({pending.listener, pending.cookie, ns, pending.device, -ENODEV, true});
    ++lost;
  }
  std::fprintf(stderr, "npusim: %s; the NPUs are gone%s.\n", why.c_str(),
               lost ? fmt::format(", {} tasks with them", lost).c_str() : "");
  Wake();
  changed_.notify_all();
}

}  // namespace npusim
