// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "acl/acl_prof.h"
#include "session/result.h"

/// Ranges that tell the shapes of what is launched inside them. They nest, on each thread of its own.
namespace npuprof::tensor_range {

/// Keeps a copy of all that @p attributes lead to.
Result Push(const aclprofEventAttributes* attributes);
/// Reports the range that was begun last on this thread.
Result Pop();

}  // namespace npuprof::tensor_range
