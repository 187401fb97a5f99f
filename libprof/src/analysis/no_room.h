// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>

#include "analysis/error.h"

namespace npuprof::analysis {

/// A disk is full, or its quota is used up.
class NoRoom : public Error {
 public:
  using Error::Error;
};

/// Throws `text` as NoRoom if `error` is of that kind, else as Error.
[[noreturn]] inline void ThrowFor(int error, const std::string& text) {
  if (error == ENOSPC || error == EDQUOT) throw NoRoom(text);
  throw Error(text);
}

}  // namespace npuprof::analysis
