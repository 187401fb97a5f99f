/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated NPUs of this process, as their runtime sees them: submit tasks, learn when they start and
 * end, ask for the device's own totals. Profilers come in through npusim/npusim_device.h and never through
 * here.
 *
 * One thread named "npusim" drives all devices. It sleeps until something is due and looks at most every
 * Host::kTickNs, so a completion may be told up to that much late; the times it carries are exact.
 *
 * If NPUSIM_PORT names a port (model/npusim_port.h), the NPUs are elsewhere: in the virtual machine's emulator. The
 * functions are the same; times are then translated from the clock there, and profilers find the devices where the
 * kernel has them.
 *
 * All functions may be called from any thread, listeners included.
 */
#ifndef NPUSIM_HOST_H
#define NPUSIM_HOST_H

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "host/settings.h"

extern "C" {
struct npusim_task;
struct npusim_totals;
}

namespace npusim {

/** Told about tasks from the npusim thread, with no lock held and in device time order per device. */
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  /** The task with this cookie began to run at @p ns (CLOCK_MONOTONIC_RAW). */
  virtual void OnStarted(uint32_t device, uint64_t cookie, uint64_t ns) {
    (void)device, (void)cookie, (void)ns;
  }
  /**
   * It ended at @p ns. Called exactly once per accepted task.
   * @param status 0, -EIO (the device was reset) or -ENODEV (the device went away); the task did not run to
   *     its end in the last two cases. A device elsewhere may also refuse a task after all: -ENOSPC, -ENOMEM
   */
  virtual void OnEnded(uint32_t device, uint64_t cookie, uint64_t ns, int status) = 0;
};

/** Counts ended tasks and waits for them; the shortest way to run tasks to their end. */
class TaskCounter final : public TaskListener {
 public:
  void OnEnded(uint32_t device, uint64_t cookie, uint64_t ns, int status) override;
  /** Waits until @p count tasks have ended in total. @return false after @p timeout_ns */
  bool WaitFor(uint64_t count, uint64_t timeout_ns);
  /** Tasks ended so far, failed ones included. */
  uint64_t ended() const;
  /** Of them, those that ended with a status other than 0. */
  uint64_t failed() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t ended_ = 0;
  uint64_t failed_ = 0;
};

class Remote;

class Host {
 public:
  static constexpr uint64_t kTickNs = 200'000;

  /**
   * The process's host, which lives as long as the process. The first call reads NPUSIM_*, creates the
   * devices (or connects to them) and starts the thread; complaints about settings go to standard error.
   */
  static Host& Get();

  /** A host of one's own, for tests: see host_testing.h. */
  explicit Host(const Settings& settings);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /**
   * True in a child forked from a process that used devices, or that has them elsewhere: the devices' thread is not in the
   * child, so that nothing would ever end there. Every call refuses with -EOWNERDEAD then. A child of a process that at most
   * asked how many there are gets devices of its own with its first call.
   */
  static bool forked();
  /** From here on somebody in the process holds things of devices, which mean nothing in a child. Any thread. */
  static void Use();

  /** 0 if the devices are elsewhere and cannot be reached. */
  uint32_t device_count() const;
  const Settings& settings(uint32_t device = 0) const;
  /** Why devices that are elsewhere cannot be reached; empty otherwise. */
  std::string trouble() const;

  /**
   * Queues a task on a device.
   * @param task copied; its cookie comes back in the listener
   * @param listener must outlive the task; nullptr if nobody wants to know
   * @return 0, -ENODEV (no such device, or it went away), -EINVAL (the model refuses the task)
   */
  int Submit(uint32_t device, const npusim_task& task, TaskListener* listener = nullptr);

  /** Waits until the device has no task left. @return 0, -ENODEV or -ETIMEDOUT */
  int WaitIdle(uint32_t device, uint64_t timeout_ns);

  /** The model's own count of everything it did. @return 0 or -ENODEV */
  int Totals(uint32_t device, npusim_totals* totals);

  /** Interrupts of task FIFOs that the drop_irq fault kept from the driver; 0 for a device that is not there. */
  uint64_t SwallowedInterrupts(uint32_t device);

  /** CLOCK_MONOTONIC_RAW in nanoseconds, the time base of the model. */
  static uint64_t NowNs();

  class Impl;
  /** For the files of this directory. One of both is there. */
  Impl* impl() { return impl_.get(); }
  Remote* remote() { return remote_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<Remote> remote_;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_H
