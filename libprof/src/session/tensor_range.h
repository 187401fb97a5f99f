// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "acl/acl_prof.h"
#include "host/queue.h"
#include "session/result.h"

/// Ranges that tell the shapes of what is launched inside them. They nest, on each thread of its own.
namespace npuprof::tensor_range {

/// Ranges that were begun on this thread while nobody collected, since the last one that was kept. Only counted: they
/// cost nothing, and their ends must find them.
extern constinit thread_local unsigned t_unkept __attribute__((tls_model("initial-exec")));
/// True if that was all there is to do.
inline bool PushUnkept(const aclprofEventAttributes* attributes) {
  if (host::QueueSet::Collecting() || !attributes || attributes->messageType != ACL_PROF_MESSAGE_TENSOR_INFO)
    return false;
  ++t_unkept;
  return true;
}
inline bool PopUnkept() {
  if (t_unkept == 0) return false;
  --t_unkept;
  return true;
}

/// Keeps a copy of all that @p attributes lead to.
Result Push(const aclprofEventAttributes* attributes);
/// Reports the range that was begun last on this thread.
Result Pop();

}  // namespace npuprof::tensor_range
