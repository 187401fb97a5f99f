// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "acl/acl_prof.h"

// No published header has it; programs look it up by name.
extern "C" int aclprofWarmup(const aclprofConfig* profilerConfig);
