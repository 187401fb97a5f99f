/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind Host: devices, time, the thread, open sessions. */
#ifndef NPUSIM_HOST_HOST_IMPL_H
#define NPUSIM_HOST_HOST_IMPL_H

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/last_thread.h"
#include "host/driver.h"
#include "host/npusim_host.h"
#include "model/npusim_model.h"

namespace npusim {

class Host::Impl {
 public:
  explicit Impl(const Settings& settings);
  ~Impl();

  const Settings& settings() const { return settings_; }
  uint32_t device_count() const { return static_cast<uint32_t>(devices_.size()); }

  int Submit(uint32_t device, const npusim_task& task, TaskListener* listener);
  int WaitIdle(uint32_t device, uint64_t timeout_ns);
  int Totals(uint32_t device, npusim_totals* totals);
  uint64_t EventTotal(uint32_t device, int kind, uint16_t event);
  uint64_t SwallowedInterrupts(uint32_t device);

  // --- npusim/npusim_device.h ---
  int Open(uint32_t device);
  int Close(int handle);
  int Ioctl(int handle, unsigned long request, void* argument);
  int Mmap(int handle, uint64_t offset, size_t length, void** address);
  int PollFd(int handle);

 private:
  static constexpr size_t kMaxSessions = 64;

  struct Pending {
    TaskListener* listener = nullptr;
    uint64_t cookie = 0;
  };
  struct Notice {
    TaskListener* listener;
    uint64_t cookie;
    uint64_t ns;
    uint32_t device;
    int status;
    bool ended;
  };
  struct Signal {
    uint32_t device;
    uint32_t id;
    uint64_t ns;
  };
  struct Device {
    Impl* host = nullptr;
    uint32_t id = 0;
    npusim_model* model = nullptr;
    std::unique_ptr<Driver> driver;
    std::vector<Pending> pending;  // by token - 1
    std::vector<uint32_t> free_tokens;
    uint64_t in_flight = 0;
    ~Device() { npusim_model_destroy(model); }
  };

  static const npusim_model_ops kOps;
  static void OnIrq(void* ctx, uint32_t vector);
  static void OnDma(void* ctx, uint64_t address, const void* data, size_t length);
  static void OnStarted(void* ctx, uint64_t token, uint64_t ns);
  static void OnEnded(void* ctx, uint64_t token, uint64_t ns);
  static void OnAborted(void* ctx, uint64_t token, uint64_t ns);
  static void OnNotifyPeer(void* ctx, uint32_t peer, uint32_t id, uint64_t ns);
  void Finished(Device& device, uint64_t token, uint64_t ns, int status);

  /** Lets simulated time pass, all devices in step, until now. Lock held. @return the time reached */
  uint64_t CatchUp();
  void DeliverSignals();
  uint64_t NextEvent() const;
  /** Has the thread look again if something is due before it meant to. Lock held. */
  void Hurry();
  void Run();
  void Dispatch(std::vector<Notice>* notices);

  Session* Find(int handle);
  int Stop(Device& device, Session& session, npuprof_control* control, std::unique_lock<std::mutex>& lock);
  int ReadClock(Device& device, Session& session, npuprof_clock* clock);
  int Control(Device& device, Session& session, unsigned long number, npuprof_control* control,
              std::unique_lock<std::mutex>& lock);

  Settings settings_;
  std::mutex mutex_;
  std::condition_variable work_;     // the thread sleeps here
  std::condition_variable changed_;  // tasks ended, windows drained, devices went
  std::vector<std::unique_ptr<Device>> devices_;
  std::map<int, std::unique_ptr<Session>> sessions_;
  int next_handle_ = 0;
  std::vector<Notice> notices_;
  std::vector<Signal> signals_;
  uint64_t wake_ns_ = 0;  // when the sleeping thread means to wake; 0 while it is awake
  int stop_waiters_ = 0;
  bool quit_ = false;
  npuprof::LastThread last_thread_{"npusim"};
  uint64_t next_look_ns_ = 0;  // at the other threads
  std::thread thread_;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_HOST_IMPL_H
