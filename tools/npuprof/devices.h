// SPDX-License-Identifier: Apache-2.0
// The devices of this machine, for `npuprof info --device`.
#pragma once

namespace npuprof::cli {

/// Prints what each device can do, as text or JSON; the simulated ones if the SDK's runtime lies beside
/// npuprof and NPUPROF_DEVICE allows it. Of the kernel module's devices also what sysfs tells; one that refuses is
/// named with the reason, and makes the exit status 1. Returns the exit status. @throws Error if a device was demanded that
/// is not there.
int ShowDevices(bool json);

}  // namespace npuprof::cli
