/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_HOST_HOST_TESTING_H
#define NPUSIM_HOST_HOST_TESTING_H

#include "host/npusim_host.h"

namespace npusim {

/**
 * While it lives, Host::Get() and npusim_dev_*() mean this host. For tests, which need other settings than
 * the environment's. No other thread may be in a call when it comes or goes.
 */
class ScopedHost {
 public:
  explicit ScopedHost(const Settings& settings);
  ~ScopedHost();
  Host* operator->() { return &host_; }
  Host& operator*() { return host_; }

  /** What the model itself counted of an event on all cores of a kind (0 cube, 1 vector), ended blocks only.
   */
  uint64_t EventTotal(uint32_t device, int kind, uint16_t event);

 private:
  Host host_;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_HOST_TESTING_H
