/* SPDX-License-Identifier: Apache-2.0 */
/* NPUSIM_* environment variables, read once per process. */
#ifndef NPUSIM_HOST_SETTINGS_H
#define NPUSIM_HOST_SETTINGS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace npusim {

/** What NPUSIM_FAULT asks for. Times count from START of a session. */
struct Faults {
  bool refuse_start = false;  // START fails with EIO
  bool stall_drain = false;   // the producer no longer sees tails move
  uint64_t drop_irq = 0;      // so many task FIFO interrupts after START are swallowed
  std::optional<uint64_t> reset_at_ms;
  std::optional<uint64_t> surprise_remove_at_ms;
};

struct Settings {
  uint32_t devices = 2;               // NPUSIM_DEVICES, 1 to 16
  uint32_t cube_cores = 24;           // NPUSIM_AIC, 1 to 128
  uint32_t vector_cores = 48;         // NPUSIM_AIV, 1 to 128
  uint32_t core_mhz = 1800;           // NPUSIM_AIC_MHZ, 1 to 10000
  uint32_t clock_mhz = 50;            // NPUSIM_CLOCK_MHZ, 1 to 10000
  uint64_t clock_start = 0;           // NPUSIM_CLOCK_START, ticks
  int64_t clock_ppm = 0;              // NPUSIM_CLOCK_PPM, -100000 to 100000
  int64_t clock_offset_ns = 0;        // NPUSIM_CLOCK_OFFSET_NS, up to ten years either way
  uint32_t time_scale_ppm = 1000000;  // NPUSIM_TIME_SCALE, 0.000001 to 1000
  uint64_t seed = 0;  // NPUSIM_SEED; 0 means that equal kernels take equal time, else up to 1 % more
  Faults faults;      // NPUSIM_FAULT
  std::string port;   // NPUSIM_PORT: the devices are elsewhere, and only the other side knows their settings
};

/** Value of a variable, or nullopt if it is not set. */
using Getenv = std::function<std::optional<std::string>(const char* name)>;

/**
 * Reads all settings. A value that is not allowed leaves its default and adds one sentence to @p complaints,
 * which names the variable, the value and what is allowed. An empty value counts as not set.
 */
Settings ReadSettings(const Getenv& get, std::vector<std::string>* complaints);

}  // namespace npusim
#endif  // NPUSIM_HOST_SETTINGS_H
