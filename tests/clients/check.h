// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"

/// Ends the program with what the interface itself says if @p code is no success.
/// @param what  the call that returned it
inline void Check(int code, const char* what) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s returned %d: %s\n", what, code, why != nullptr ? why : "");
  std::exit(1);
}
