// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session/result.h"

namespace npuprof::api {

/// Keeps the sentence of a refusal for the calling thread and logs it. @return the code
int Answer(const Result& result) noexcept;
/// The same for the Msprof* functions, whose codes are small numbers.
int Answer(int code, const char* sentence, const char* family = "EK0001") noexcept;

/// Runs @p body, which returns a Result; memory that runs out must not become an exception in a C program.
template <typename Body>
int Guarded(Body&& body) noexcept {
  try {
    return Answer(body());
  } catch (...) {
    return Answer(code::kFailure, "an internal error occurred, most likely memory ran out", "EK0201");
  }
}

}  // namespace npuprof::api
