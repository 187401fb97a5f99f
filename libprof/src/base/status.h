// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace npuprof {

/// What kind of failure a Status reports; the api layer turns it into the published codes.
enum class ErrorKind {
  kNone,
  kInvalidArgument,  ///< a value outside what is allowed
  kPath,             ///< an output path that is malformed, no directory, missing or not writable
  kNotFound,         ///< no such device or file
  kUnsupported,      ///< known, but not available here
  kBusy,             ///< somebody else owns it
  kDevice,           ///< the device or its driver refused or failed
  kIo,               ///< a read or write failed
  kTimeout,          ///< a deadline passed first
  kThread,           ///< a thread could not be started
  kForked,           ///< called in a forked child on an object of the parent
};

/// Outcome of an operation: success, or a kind, the errno behind it (0 if none) and one sentence that names
/// the value at fault and what is allowed.
struct [[nodiscard]] Status {
  ErrorKind kind = ErrorKind::kNone;
  int error = 0;
  std::string text;

  bool ok() const { return kind == ErrorKind::kNone; }
  static Status Ok() { return {}; }
  static Status Fail(ErrorKind kind, std::string text, int error = 0) {
    return {kind, error, std::move(text)};
  }
};

}  // namespace npuprof
