// SPDX-License-Identifier: Apache-2.0
// From operators with shapes to operators ready for launching.
#ifndef NPUSIM_RUNTIME_ACL_CONVERT_H
#define NPUSIM_RUNTIME_ACL_CONVERT_H

#include <string>

#include "runtime/core/rt.h"
#include "runtime/ops/model_file.h"

namespace npusim {

RtOperator ToLaunchable(const ops::Operator& op, const ops::Plan& plan);

// Cores of the calling thread's device (those of device 0 if it has none).
ops::Cores PlanningCores();

// Reads and plans the model file at @p path. Returns an ACL code.
int ReadModel(const char* path, ops::ModelFile* model);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_ACL_CONVERT_H
