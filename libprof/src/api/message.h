// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "base/no_cancel.h"
#include "session/caught.h"

namespace npuprof::api {

/// Keeps the sentence of a refusal for the calling thread and logs it. @return the code
int Answer(const Result& result) noexcept;
/// The same for the Msprof* functions, whose codes are small numbers.
int Answer(int code, const char* sentence, const char* family = "EK0001") noexcept;

/// Runs @p body, which returns a Result; what is thrown must not become an exception in a C program, and nobody cancels it. A
/// function of its own, so that entries which often have nothing to do need no room on the stack to find that out; those hand
/// over their arguments by value.
template <typename Body>
[[gnu::noinline]] int Guarded(Body&& body) noexcept {
  const NoCancel here;
  try {
    return Answer(body());
  } catch (...) {
    try {
      return Answer(FromException(std::current_exception()));
    } catch (...) {  // there is no memory for the sentence either
      return Answer(code::kFailure, "memory ran out", "EK0201");
    }
  }
}

}  // namespace npuprof::api
