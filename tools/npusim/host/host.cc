// SPDX-License-Identifier: Apache-2.0
#include "host/npusim_host.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>

#include "host/host_impl.h"
#include "host/host_testing.h"
#include "host/remote.h"

namespace npusim {
namespace {

constexpr uint64_t kLookNs = 1'000'000'000;  // between two looks at the other threads of the process

Host* g_test_host = nullptr;
std::atomic<Host*> g_host{nullptr};
std::mutex g_making;
std::atomic<bool> g_used{false};
std::atomic<bool> g_forked{false};
Host* g_of_parent = nullptr;  // so that a leak checker finds it

// Whoever has nothing but the number of the parent's devices gets devices of its own, which begin like any others.
void AfterFork() {
  new (&g_making) std::mutex;  // its holder may not be in the child
  Host* const host = g_host.load(std::memory_order_relaxed);
  if (!host || Host::forked()) return;
  if (host->remote()) host->remote()->Abandon();
  if (host->remote() || g_used.load(std::memory_order_relaxed)) {
    g_forked.store(true, std::memory_order_relaxed);
    return;
  }
  g_of_parent = host;
  g_host.store(nullptr, std::memory_order_relaxed);
}
// At the loading: who forks may just be making the host on another thread.
[[maybe_unused]] const int g_watching = pthread_atfork(nullptr, nullptr, AfterFork);

Host* FromEnvironment() {
  std::vector<std::string> complaints;
  const Getenv get = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  const Settings settings = ReadSettings(get, &complaints);
  for (const std::string& complaint : complaints) std::fprintf(stderr, "%s\n", complaint.c_str());
  Host* host = new Host(settings);
  if (host->remote() && host->device_count() == 0 && !host->trouble().empty())
    std::fprintf(stderr, "npusim: %s; there is no NPU.\n", host->trouble().c_str());
  return host;
}

}  // namespace

// --- TaskCounter ------------------------------------------------------------------------------------------

void TaskCounter::OnEnded(uint32_t, uint64_t, uint64_t, int status) {
  std::lock_guard lock(mutex_);
  ++ended_;
  failed_ += status != 0;
  changed_.notify_all();
}

bool TaskCounter::WaitFor(uint64_t count, uint64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] { return ended_ >= count; });
}

uint64_t TaskCounter::ended() const {
  std::lock_guard lock(mutex_);
  return ended_;
}

uint64_t TaskCounter::failed() const {
  std::lock_guard lock(mutex_);
  return failed_;
}

// --- Host -------------------------------------------------------------------------------------------------

Host& Host::Get() {
  if (g_test_host) return *g_test_host;
  if (Host* host = g_host.load(std::memory_order_acquire)) return *host;
  std::lock_guard lock(g_making);
  // Never destroyed: at exit other threads and static objects may still use devices, and a forked child could
  // not join the thread.
  if (!g_host.load(std::memory_order_relaxed)) g_host.store(FromEnvironment(), std::memory_order_release);
  return *g_host.load(std::memory_order_relaxed);
}

Host::Host(const Settings& settings) {
  if (settings.port.empty()) {
    impl_ = std::make_unique<Impl>(settings);
  } else {
    remote_ = std::make_unique<Remote>(settings.port);
  }
}
Host::~Host() = default;

uint32_t Host::device_count() const {
  return impl_ ? impl_->device_count() : remote_->device_count();
}
const Settings& Host::settings(uint32_t device) const {
  return impl_ ? impl_->settings() : remote_->settings(device);
}
std::string Host::trouble() const {
  return impl_ ? std::string() : remote_->trouble();
}
bool Host::forked() {
  return g_forked.load(std::memory_order_relaxed);
}
void Host::Use() {
  if (!g_used.load(std::memory_order_relaxed)) g_used.store(true, std::memory_order_relaxed);
}
int Host::Submit(uint32_t device, const npusim_task& task, TaskListener* listener) {
  if (forked()) return -EOWNERDEAD;
  Use();
  return impl_ ? impl_->Submit(device, task, listener) : remote_->Submit(device, task, listener);
}
int Host::WaitIdle(uint32_t device, uint64_t timeout_ns) {
  if (forked()) return -EOWNERDEAD;
  return impl_ ? impl_->WaitIdle(device, timeout_ns) : remote_->WaitIdle(device, timeout_ns);
}
int Host::Totals(uint32_t device, npusim_totals* totals) {
  if (forked()) return -EOWNERDEAD;
  return impl_ ? impl_->Totals(device, totals) : remote_->Totals(device, totals);
}

uint64_t Host::SwallowedInterrupts(uint32_t device) {
  if (impl_) return impl_->SwallowedInterrupts(device);
  npusim_port_stats stats{};
  return remote_->Stats(device, &stats) == 0 ? stats.interrupts_dropped : 0;
}

uint64_t Host::NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

ScopedHost::ScopedHost(const Settings& settings) : host_(settings) {
  g_test_host = &host_;
}
ScopedHost::~ScopedHost() {
  g_test_host = nullptr;
}
uint64_t ScopedHost::EventTotal(uint32_t device, int kind, uint16_t event) {
  return host_.impl()->EventTotal(device, kind, event);
}
// --- Impl -------------------------------------------------------------------------------------------------

const npusim_model_ops Host::Impl::kOps = {
    .irq = OnIrq,
    .dma_write = OnDma,
    .task_started = OnStarted,
    .task_ended = OnEnded,
    .task_aborted = OnAborted,
    .notify_peer = OnNotifyPeer,
};

Host::Impl::Impl(const Settings& settings) : settings_(settings) {
  constexpr uint32_t kSeedJitterPpm = 10000;
  // Small enough that a lost interrupt costs records even in a short run.
  constexpr uint32_t kFaultyFifoDepth = 64;
  npusim_model_config config;
  npusim_model_defaults(&config);
  config.cube_cores = settings.cube_cores;
  config.vector_cores = settings.vector_cores;
  config.core_mhz = settings.core_mhz;
  config.clock_hz = settings.clock_mhz * 1'000'000ull;
  config.clock_start = settings.clock_start;
  config.clock_offset_ns = settings.clock_offset_ns;
  config.clock_ppm = static_cast<int32_t>(settings.clock_ppm);
  config.time_scale_ppm = settings.time_scale_ppm;
  config.origin_ns = NowNs();
  config.jitter_ppm = settings.seed ? kSeedJitterPpm : 0;
  if (settings.faults.drop_irq) config.fifo_depth = kFaultyFifoDepth;
  for (uint32_t id = 0; id < settings.devices; ++id) {
    auto device = std::make_unique<Device>();
    device->host = this;
    device->id = id;
    config.seed = settings.seed + id;
    device->model = npusim_model_create(&config, &kOps, device.get());
    if (!device->model)
      throw std::runtime_error("npusim: the model refuses its settings, or memory is short");
    device->driver = std::make_unique<Driver>(device->model, id, settings.faults);
    devices_.push_back(std::move(device));
  }
  // Signals are the program's affair: none of its handlers runs on this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "npusim");
}

Host::Impl::~Impl() {
  {
    std::lock_guard lock(mutex_);
    quit_ = true;
    work_.notify_all();
  }
  thread_.join();
  for (auto& [handle, session] : sessions_) devices_[session->device()]->driver->Release(*session, NowNs());
}

// --- Calls of the model; the lock is held by whoever lets it run ---

void Host::Impl::OnIrq(void* ctx, uint32_t vector) {
  static_cast<Device*>(ctx)->driver->Interrupt(vector);
}

void Host::Impl::OnDma(void* ctx, uint64_t address, const void* data, size_t length) {
  static_cast<Device*>(ctx)->driver->DmaWrite(address, data, length);
}

void Host::Impl::OnStarted(void* ctx, uint64_t token, uint64_t ns) {
  Device& device = *static_cast<Device*>(ctx);
  const Pending& pending = device.pending[token - 1];
  if (pending.listener)
    device.host->notices_.push_back({pending.listener, pending.cookie, ns, device.id, 0, false});
}

void Host::Impl::Finished(Device& device, uint64_t token, uint64_t ns, int status) {
  const Pending& pending = device.pending[token - 1];
  // Also without a listener: WaitIdle() counts the task as gone when its turn has come.
  notices_.push_back({pending.listener, pending.cookie, ns, device.id, status, true});
  device.free_tokens.push_back(static_cast<uint32_t>(token));
}

void Host::Impl::OnEnded(void* ctx, uint64_t token, uint64_t ns) {
  Device& device = *static_cast<Device*>(ctx);
  device.host->Finished(device, token, ns, 0);
}

void Host::Impl::OnAborted(void* ctx, uint64_t token, uint64_t ns) {
  Device& device = *static_cast<Device*>(ctx);
  device.host->Finished(device, token, ns, device.driver->removing() ? -ENODEV : -EIO);
}

void Host::Impl::OnNotifyPeer(void* ctx, uint32_t peer, uint32_t id, uint64_t ns) {
  static_cast<Device*>(ctx)->host->signals_.push_back({peer, id, ns});
}

// --- Time ---

void Host::Impl::DeliverSignals() {
  while (!signals_.empty()) {
    std::vector<Signal> signals;
    signals.swap(signals_);
    for (const Signal& signal : signals) {
      if (signal.device >= devices_.size()) continue;
      npusim_model* model = devices_[signal.device]->model;
      npusim_model_advance(model, signal.ns);
      npusim_model_signal(model, signal.id);
    }
  }
}

uint64_t Host::Impl::NextEvent() const {
  uint64_t next = NPC_TIME_NEVER;
  for (const auto& device : devices_)
    next = std::min({next, npusim_model_next_event(device->model), device->driver->deadline()});
  return next;
}

uint64_t Host::Impl::CatchUp() {
  const uint64_t now = NowNs();
  // One event after the other, so that interrupts are handled at the time they happen however late this
  // thread is, and so that no device runs ahead of a signal from another.
  for (;;) {
    Device* first = nullptr;
    uint64_t next = NPC_TIME_NEVER;
    for (const auto& device : devices_) {
      const uint64_t due = std::min(npusim_model_next_event(device->model), device->driver->deadline());
      if (due >= next) continue;
      next = due;
      first = device.get();
    }
    if (!first || next > now) break;
    npusim_model_advance(first->model, next);
    if (!signals_.empty()) DeliverSignals();
    for (const auto& device : devices_) {
      Driver& driver = *device->driver;
      if (driver.interrupted() || driver.deadline() <= next) driver.Service(next, now);
    }
  }
  for (const auto& device : devices_) npusim_model_advance(device->model, now);
  if (stop_waiters_ > 0) changed_.notify_all();
  return now;
}

void Host::Impl::Hurry() {
  if (wake_ns_ == 0) return;
  if (!notices_.empty() || NextEvent() < wake_ns_) work_.notify_one();
}

void Host::Impl::Dispatch(std::vector<Notice>* notices) {
  for (const Notice& notice : *notices) {
    if (!notice.listener) continue;
    if (notice.ended) {
      notice.listener->OnEnded(notice.device, notice.cookie, notice.ns, notice.status);
    } else {
      notice.listener->OnStarted(notice.device, notice.cookie, notice.ns);
    }
  }
}

void Host::Impl::Run() {
  std::unique_lock lock(mutex_);
  std::vector<Notice> notices;
  while (!quit_) {
    uint64_t now = CatchUp();
    if (now >= next_look_ns_) {
      last_thread_.Check();
      next_look_ns_ = now + kLookNs;
    }
    if (!notices_.empty()) {
      notices.swap(notices_);
      lock.unlock();
      Dispatch(&notices);
      lock.lock();
      for (const Notice& notice : notices) devices_[notice.device]->in_flight -= notice.ended;
      notices.clear();
      changed_.notify_all();
    }
    // At least a tick between two looks: what happens in between is handled together, at its own time.
    const uint64_t earliest = now + kTickNs;
    now = NowNs();
    while (!quit_ && notices_.empty()) {
      const uint64_t wake = std::max(NextEvent(), earliest);
      if (wake <= now || next_look_ns_ <= now) break;
      wake_ns_ = wake;
      work_.wait_for(lock, std::chrono::nanoseconds(std::min(wake, next_look_ns_) - now));
      wake_ns_ = 0;
      now = NowNs();
    }
  }
}

// --- The runtime's side ---

int Host::Impl::Submit(uint32_t id, const npusim_task& task, TaskListener* listener) {
  if (id >= devices_.size()) return -ENODEV;
  std::lock_guard lock(mutex_);
  Device& device = *devices_[id];
  if (device.driver->gone()) return -ENODEV;
  uint32_t token;
  if (device.free_tokens.empty()) {
    device.pending.emplace_back();
    token = static_cast<uint32_t>(device.pending.size());
  } else {
    token = device.free_tokens.back();
    device.free_tokens.pop_back();
  }
  device.pending[token - 1] = {listener, task.cookie};
  npusim_task queued = task;
  queued.cookie = token;
  // The model may be a tick behind; the task must not start before it was submitted.
  queued.ready_ns = std::max(task.ready_ns, NowNs());
  const int error = npusim_model_submit(device.model, &queued);
  if (error != 0) {
    device.free_tokens.push_back(token);
    return error;
  }
  ++device.in_flight;
  Hurry();
  return 0;
}

int Host::Impl::WaitIdle(uint32_t id, uint64_t timeout_ns) {
  if (id >= devices_.size()) return -ENODEV;
  std::unique_lock lock(mutex_);
  const Device& device = *devices_[id];
  return changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] { return device.in_flight == 0; })
             ? 0
             : -ETIMEDOUT;
}

int Host::Impl::Totals(uint32_t id, npusim_totals* totals) {
  if (id >= devices_.size()) return -ENODEV;
  std::lock_guard lock(mutex_);
  CatchUp();
  npusim_model_totals(devices_[id]->model, totals);
  Hurry();
  return 0;
}

uint64_t Host::Impl::EventTotal(uint32_t id, int kind, uint16_t event) {
  std::lock_guard lock(mutex_);
  return npusim_model_event_total(devices_[id]->model, kind, event);
}

uint64_t Host::Impl::SwallowedInterrupts(uint32_t id) {
  if (id >= devices_.size()) return 0;
  std::lock_guard lock(mutex_);
  return devices_[id]->driver->swallowed();
}

}  // namespace npusim
