/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_HOST_REGISTERS_H
#define NPUSIM_HOST_REGISTERS_H

#include <cstdint>

#include "model/npusim_model.h"

namespace npusim {

/** What a session cost the driver; the STATS request tells it. */
struct Account {
  uint64_t interrupts = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t busy_ns = 0;
};

/** Register accesses of a driver, counted for the session on whose behalf they happen. */
class Registers {
 public:
  explicit Registers(npusim_model* model) : model_(model) {}

  /** Accesses from now on are for this account, which must live until the next call of this kind. */
  void ChargeTo(Account* account) { account_ = account; }
  void ChargeToSelf() { account_ = &own_; }

  uint32_t Read32(uint32_t offset) {
    ++account_->reads;
    return npusim_model_read32(model_, offset);
  }
  uint64_t Read64(uint32_t offset) {
    ++account_->reads;
    return npusim_model_read64(model_, offset);
  }
  void Write32(uint32_t offset, uint32_t value) {
    ++account_->writes;
    npusim_model_write32(model_, offset, value);
  }
  void Write64(uint32_t offset, uint64_t value) {
    ++account_->writes;
    npusim_model_write64(model_, offset, value);
  }

 private:
  npusim_model* model_;
  Account own_;  // of the driver itself
  Account* account_ = &own_;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_REGISTERS_H
