// SPDX-License-Identifier: Apache-2.0
// Which devices a process sees.
#ifndef NPUSIM_RUNTIME_CORE_VISIBLE_H
#define NPUSIM_RUNTIME_CORE_VISIBLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace npusim {

// The ids of the devices that the process sees, in the order in which it numbers them from 0: all of @p count, or those that
// @p text, the value of ASCEND_RT_VISIBLE_DEVICES, lists. A list is good up to the first item that is no id of a device or
// comes again; *complaint is a sentence about it then.
std::vector<uint32_t> VisibleDevices(const char* text, uint32_t count, std::string* complaint);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_CORE_VISIBLE_H
