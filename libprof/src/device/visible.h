// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Numbers of devices. A program counts those that ASCEND_RT_VISIBLE_DEVICES shows it from 0; drivers, directories and
/// everything that a runtime reports have the numbers of the driver. The runtime in the process translates. Any thread.
namespace npuprof::device {

/// The driver's number of what the program calls device @p id: the same where no runtime translates; nullopt if the runtime
/// knows no such device.
std::optional<uint32_t> DriverId(uint32_t id);

/// The program's numbers of the devices @p driver_ids, as far as it sees them, ascending.
std::vector<uint32_t> ProgramIds(const std::vector<uint32_t>& driver_ids);

}  // namespace npuprof::device
