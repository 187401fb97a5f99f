// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

#include "session/result.h"

namespace npuprof {

/// What an exception comes to: memory that ran out, a thread that could not be started, or what it says.
Result FromException(std::exception_ptr exception);

/// Runs @p body, which returns a Result; what it throws is a result like any other. Throws only where there is no memory for
/// a sentence.
template <typename Body>
Result Caught(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return FromException(std::current_exception());
  }
}

}  // namespace npuprof
