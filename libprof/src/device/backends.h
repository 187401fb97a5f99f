// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device_file.h"
#include "device/refusals.h"

/// The ways to a device that this build knows; DeviceFile::Open() chooses among them.
namespace npuprof::device {

/// Number of simulated devices of this process; -ENOENT if no simulated runtime is loaded, -EREMOTE if the one that is
/// drives devices elsewhere.
int SimDeviceCount();
/// "npusim " and the version of the simulated runtime; empty if none is loaded or it is too old to tell.
std::string SimRuntimeVersion();
Status OpenSim(uint32_t id, std::unique_ptr<DeviceFile>* out);

/// Every N of a character device npuprof<N> in @p directory, in ascending order. There may be gaps: a container is given
/// some of the NPUs, or the driver of one was unbound.
std::vector<uint32_t> KernelDeviceIds(const std::string& directory = "/dev");
/// Why none may be there.
OpenFacts KernelFacts();
Status OpenKernel(uint32_t id, std::unique_ptr<DeviceFile>* out);

}  // namespace npuprof::device
