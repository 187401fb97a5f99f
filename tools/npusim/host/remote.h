/* SPDX-License-Identifier: Apache-2.0 */
/* NPUs that are not in this process: what is behind Host when NPUSIM_PORT names a port to them. */
#ifndef NPUSIM_HOST_REMOTE_H
#define NPUSIM_HOST_REMOTE_H

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd_identity.h"
#include "base/last_thread.h"
#include "host/npusim_host.h"
#include "host/port_stream.h"
#include "host/remote_clock.h"
#include "host/settings.h"

namespace npusim {

/**
 * Speaks model/npusim_port.h with whoever hosts the devices. One thread named "npusim" reads and tells listeners.
 *
 * A port that cannot be opened, or dies, leaves no device: all functions fail with -ENODEV, tasks that were taken are
 * told as ended with -ENODEV, and trouble() says why.
 */
class Remote {
 public:
  /** Without an answer for so long the other side is taken to be dead, so that nobody waits for ever. */
  static constexpr uint64_t kAnswerNs = 30'000'000'000;

  /** Opens the port at @p path. */
  explicit Remote(const std::string& path);
  /** Takes over a connected descriptor; @p name is for messages. */
  Remote(int fd, const std::string& name, uint64_t answer_ns = kAnswerNs);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  uint32_t device_count() const { return static_cast<uint32_t>(devices_.size()); }
  /** Of a device as its host has it; defaults for one that was not there. */
  const Settings& settings(uint32_t device) const;
  /** Why there is no device (any more); empty while all is well. */
  std::string trouble() const;

  int Submit(uint32_t device, const npusim_task& task, TaskListener* listener);
  int WaitIdle(uint32_t device, uint64_t timeout_ns);
  int Totals(uint32_t device, npusim_totals* totals);
  /** @return 0 or -ENODEV, -EINVAL */
  int EventTotal(uint32_t device, uint32_t kind, uint32_t event, uint64_t* total);
  int Stats(uint32_t device, npusim_port_stats* stats);
  int Fault(uint32_t device, uint32_t kind, uint64_t value);
  /** NPUSIM_PORT_RESET, REMOVE or INSERT. @return 0, -ENODEV, -EEXIST */
  int Act(uint32_t device, uint16_t type);
  /** Takes another bracket of the devices' clock. @return its half width in nanoseconds, or -ENODEV */
  int64_t SyncClock();

  /** For the child of a fork: nothing of this is its own. */
  void Abandon();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Device {
    Settings settings;
    bool gone = false;
    uint64_t in_flight = 0;
    uint64_t last_ns = 0;  // of what was told last
  };
  struct Pending {
    TaskListener* listener = nullptr;
    uint64_t cookie = 0;
    uint64_t submitted_ns = 0;
    uint32_t device = 0;
    bool used = false;
  };
  struct Notice {
    TaskListener* listener;
    uint64_t cookie;
    uint64_t ns;
    uint32_t device;
    int status;
    bool ended;
  };
  struct Request {
    void* reply = nullptr;
    size_t size = 0;  // of the reply, if it is not refused
    uint64_t arrived_ns = 0;
    int status = 0;
    bool done = false;
  };

  void Connect();
  void Greet();
  /** Sends and waits. Takes the header's type and device from @p message. @return status of the reply */
  int Ask(npusim_port_header* message, size_t size, void* reply, size_t reply_size,
          uint64_t* arrived_ns = nullptr);
  template <class Reply>
  int Ask(uint16_t type, uint32_t device, Reply* reply);
  void Send(const void* message, size_t size);
  bool Await(Lock& lock, Request* request);

  void Run();
  void ReadOnce(Lock& lock, int timeout_ms);
  void Receive(const npusim_port_header& message);
  void TaskTold(const npusim_port_task& message);
  void Dispatch(Lock& lock);
  void Die(const std::string& why);
  void Wake();

  const std::string name_;
  const uint64_t answer_ns_ = kAnswerNs;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PortStream stream_;
  int wake_fd_;
  const npuprof::FdIdentity wake_identity_{wake_fd_};
  RemoteClock clock_;
  std::vector<Device> devices_;
  std::vector<Pending> pending_;  // by token - 1
  std::vector<uint32_t> free_tokens_;
  std::map<uint32_t, Request*> requests_;
  uint32_t sequence_ = 0;
  std::vector<Notice> notices_;
  std::string trouble_;
  bool dead_ = false;
  bool polling_ = false;  // the thread sleeps and must be told if it is to write
  bool dispatching_ = false;
  bool quit_ = false;
  std::atomic<bool> abandoned_{false};
  npuprof::LastThread last_thread_{"npusim"};  // of the reading thread
  std::thread thread_;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_REMOTE_H
