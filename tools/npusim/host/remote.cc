// SPDX-License-Identifier: Apache-2.0
// Requests to NPUs elsewhere, as the runtime and tests make them.
#include "host/remote.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace npusim {
namespace {

/** Bytes that may wait for a port before submitting threads do. */
constexpr size_t kQueueLimit = 1 << 20;

constexpr auto kBrackets = 5;

npusim_port_header Header(uint16_t type, uint32_t device) {
  npusim_port_header header{};
  header.type = type;
  header.device = static_cast<uint16_t>(device);
  return header;
}

Settings ToSettings(const npusim_port_info& info, uint32_t devices) {
  Settings settings;
  settings.devices = devices;
  settings.cube_cores = info.cube_cores;
  settings.vector_cores = info.vector_cores;
  settings.core_mhz = info.core_mhz;
  settings.clock_mhz = static_cast<uint32_t>(info.clock_hz / 1'000'000);
  settings.clock_start = info.clock_start;
  settings.clock_ppm = info.clock_ppm;
  settings.clock_offset_ns = info.clock_offset_ns;
  settings.time_scale_ppm = info.time_scale_ppm;
  settings.seed = info.seed;
  return settings;
}

}  // namespace

Remote::Remote(const std::string& path)
    : name_("NPUSIM_PORT=" + path),
      stream_(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stream_.fd() < 0) {
    const int error = errno;
    const char* hint = error == EBUSY    ? "; another process has it open"
                       : error == EACCES ? "; it must be readable and writable"
                       : error == ENOENT ? "; a virtio-serial port named \"npusim\" is wanted, see "
                                           "/sys/class/virtio-ports/*/name"
                                         : "";
    dead_ = true;
    trouble_ = fmt::format("{} cannot be opened: {}{}", name_, std::strerror(error), hint);
    return;
  }
  Connect();
}

Remote::Remote(int fd, const std::string& name, uint64_t answer_ns)
    : name_(name), answer_ns_(answer_ns), stream_(fd), wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  Connect();
}

Remote::~Remote() {
  if (abandoned_) return;
  {
    std::lock_guard lock(mutex_);
    quit_ = true;
    Wake();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (wake_identity_.Holds(wake_fd_)) close(wake_fd_);
}

void Remote::Connect() {
  // Signals are the program's affair: none of its handlers runs on this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  {
    std::lock_guard lock(mutex_);  // the thread begins when its handle is where it looks for it
    thread_ = std::thread([this] { Run(); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "npusim");
  Greet();
}

void Remote::Greet() {
  npusim_port_hello hello{};
  hello.header = Header(NPUSIM_PORT_HELLO, 0);
  hello.version = NPUSIM_PORT_VERSION;
  npusim_port_hello answer{};
  const int error = Ask(&hello.header, sizeof hello, &answer, sizeof answer);
  std::string trouble;
  if (error == -EPROTONOSUPPORT) {
    trouble = fmt::format("the other side of {} speaks version {} of the protocol, this runtime version {}",
                          name_, answer.version, NPUSIM_PORT_VERSION);
  } else if (error == 0 && answer.devices > NPUSIM_PORT_DEVICES) {
    trouble = fmt::format("the other side of {} tells of {} devices, {} are possible", name_, answer.devices,
                          NPUSIM_PORT_DEVICES);
  } else if (error != 0) {
    trouble = fmt::format("the other side of {} refuses to speak: {}", name_, std::strerror(-error));
  }
  if (!trouble.empty()) {
    std::lock_guard lock(mutex_);
    Die(trouble);
    return;
  }
  std::vector<Device> devices(answer.devices);
  for (uint32_t i = 0; i < answer.devices; ++i) {
    npusim_port_info info{};
    if (Ask(NPUSIM_PORT_INFO, i, &info) == 0)
      devices[i].settings = ToSettings(info, answer.devices);
    else
      devices[i].gone = true;
  }
  for (int i = 0; i < kBrackets; ++i) SyncClock();
  std::lock_guard lock(mutex_);
  // Nobody has seen this object yet, so the number of devices is fixed from here on.
  devices_ = std::move(devices);
  if (!dead_) return;
  for (Device& device : devices_) device.gone = true;
}

const Settings& Remote::settings(uint32_t device) const {
  static const Settings defaults;
  return device < devices_.size() ? devices_[device].settings : defaults;
}

std::string Remote::trouble() const {
  if (abandoned_) return "the NPUs belong to the process that this one was forked from";
  std::lock_guard lock(mutex_);
  return trouble_;
}

void Remote::Abandon() {
  abandoned_ = true;
  stream_.Abandon();
}

// --- Requests ---

int Remote::Ask(npusim_port_header* message, size_t size, void* reply, size_t reply_size,
                uint64_t* arrived_ns) {
  if (abandoned_) return -ENODEV;
  Lock lock(mutex_);
  Request request{reply, reply_size};
  message->size = static_cast<uint32_t>(size);
  message->sequence = ++sequence_;
  requests_[message->sequence] = &request;
  Send(message, size);
  const bool answered = Await(lock, &request);
  requests_.erase(message->sequence);
  if (!answered) return -ENODEV;
  if (arrived_ns) *arrived_ns = request.arrived_ns;
  return request.status;
}

template <class Reply>
int Remote::Ask(uint16_t type, uint32_t device, Reply* reply) {
  npusim_port_header header = Header(type, device);
  return Ask(&header, sizeof header, reply, sizeof *reply);
}

void Remote::Send(const void* message, size_t size) {
  if (dead_) return;
  const bool idle = stream_.queued() == 0;
  stream_.Put(message, size);
  if (!idle) return;  // the thread is at it
  if (const int error = stream_.Flush(); error != 0) {
    Die(fmt::format("{} cannot be written: {}", name_, std::strerror(-error)));
  } else if (stream_.queued() > 0) {
    Wake();
  }
}

int64_t Remote::SyncClock() {
  npusim_port_header header = Header(NPUSIM_PORT_TIME, 0);
  npusim_port_time answer{};
  uint64_t after = 0;
  const uint64_t before = Host::NowNs();
  const int error = Ask(&header, sizeof header, &answer, sizeof answer, &after);
  if (error != 0) return error;
  std::lock_guard lock(mutex_);
  clock_.Add(before, answer.ns, after);
  return static_cast<int64_t>((after - before + 1) / 2);
}

int Remote::Submit(uint32_t id, const npusim_task& task, TaskListener* listener) {
  if (abandoned_ || id >= devices_.size()) return -ENODEV;
  if (npusim_model_check_task(&task) != 0) return -EINVAL;
  Lock lock(mutex_);
  // The reading thread never waits to write: it is what lets the other side go on.
  if (std::this_thread::get_id() != thread_.get_id())
    changed_.wait(lock, [&] { return dead_ || stream_.queued() < kQueueLimit; });
  Device& device = devices_[id];
  if (dead_ || device.gone) return -ENODEV;
  uint32_t token;
  if (free_tokens_.empty()) {
    pending_.emplace_back();
    token = static_cast<uint32_t>(pending_.size());
  } else {
    token = free_tokens_.back();
    free_tokens_.pop_back();
  }
  pending_[token - 1] = {listener, task.cookie, Host::NowNs(), id, true};
  npusim_port_submit message{};
  message.header = Header(NPUSIM_PORT_SUBMIT, id);
  message.header.size = sizeof message;
  message.flags = NPUSIM_PORT_TELL_END | (listener ? NPUSIM_PORT_TELL_START : 0);
  message.task = task;
  message.task.cookie = token;
  if (task.ready_ns != 0) message.task.ready_ns = clock_.ToRemote(task.ready_ns);
  ++device.in_flight;
  Send(&message, sizeof message);
  return 0;
}

int Remote::WaitIdle(uint32_t id, uint64_t timeout_ns) {
  if (abandoned_ || id >= devices_.size()) return -ENODEV;
  Lock lock(mutex_);
  const auto idle = [&] { return devices_[id].in_flight == 0; };
  if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), idle)) return -ETIMEDOUT;
  return 0;
}

int Remote::Totals(uint32_t device, npusim_totals* totals) {
  if (device >= devices_.size()) return -ENODEV;
  npusim_port_totals answer;
  const int error = Ask(NPUSIM_PORT_TOTALS, device, &answer);
  if (error == 0) *totals = answer.totals;
  return error;
}

int Remote::EventTotal(uint32_t device, uint32_t kind, uint32_t event, uint64_t* total) {
  if (device >= devices_.size()) return -ENODEV;
  npusim_port_event message{};
  message.header = Header(NPUSIM_PORT_EVENT_TOTAL, device);
  message.kind = kind;
  message.event = event;
  npusim_port_event answer;
  const int error = Ask(&message.header, sizeof message, &answer, sizeof answer);
  if (error == 0) *total = answer.total;
  return error;
}

int Remote::Stats(uint32_t device, npusim_port_stats* stats) {
  return device < devices_.size() ? Ask(NPUSIM_PORT_STATS, device, stats) : -ENODEV;
}

int Remote::Fault(uint32_t device, uint32_t kind, uint64_t value) {
  if (device >= devices_.size()) return -ENODEV;
  npusim_port_fault message{};
  message.header = Header(NPUSIM_PORT_FAULT, device);
  message.kind = kind;
  message.value = value;
  npusim_port_header answer;
  return Ask(&message.header, sizeof message, &answer, sizeof answer);
}

int Remote::Act(uint32_t device, uint16_t type) {
  if (device >= devices_.size()) return -ENODEV;
  npusim_port_header answer;
  const int error = Ask(type, device, &answer);
  if (error != 0 || type != NPUSIM_PORT_INSERT) return error;
  std::lock_guard lock(mutex_);
  devices_[device].gone = dead_;
  return 0;
}

}  // namespace npusim
