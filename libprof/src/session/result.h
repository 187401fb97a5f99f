// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace npuprof {

/// Codes of the aclprof interface.
namespace code {
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidParam = 100000;
inline constexpr int kRepeatInitialize = 100002;
inline constexpr int kInvalidFile = 100003;
inline constexpr int kInvalidConfig = 100010;
inline constexpr int kInvalidModel = 100011;
inline constexpr int kAlreadyRun = 100042;
inline constexpr int kNotRun = 100043;
inline constexpr int kRepeatSubscribe = 148046;
inline constexpr int kApiConflict = 148047;
inline constexpr int kFeatureUnsupported = 200006;
inline constexpr int kModulesUnsupported = 200007;
inline constexpr int kStepFailure = 500002;
inline constexpr int kFailure = 500005;
}  // namespace code

/// What an interface function came to: its code, and for a refusal one sentence that names the value and what is
/// allowed.
struct [[nodiscard]] Result {
  int code = code::kSuccess;
  std::string text;
  const char* family = nullptr;  ///< "EK0006"; else what the code comes to, see FamilyOf()

  bool ok() const { return code == code::kSuccess; }
  static Result Ok() { return {}; }
  static Result Fail(int code, std::string text) { return {code, std::move(text)}; }
  /// @p what names the argument: "the stamp"
  static Result Null(const std::string& what) { return {code::kInvalidParam, what + " is NULL", "EK0006"}; }
};

/// The published families of error texts: EK0001 value, EK0002 order of calls, EK0003 setting, EK0004 function,
/// EK0005 data type, EK0006 NULL, EK0007 another way of profiling is on, EK0201 memory, EK0203 thread, EK0204 disk, EK9999 inside.
inline const char* FamilyOf(const Result& result) {
  if (result.family) return result.family;
  switch (result.code) {
    case code::kRepeatInitialize:
    case code::kNotRun:
    case code::kRepeatSubscribe:
      return "EK0002";
    case code::kAlreadyRun:
    case code::kApiConflict:
      return "EK0007";
    case code::kInvalidConfig:
      return "EK0003";
    case code::kFeatureUnsupported:
      return "EK0004";
    case code::kModulesUnsupported:
      return "EK0005";
    case code::kFailure:
    case code::kStepFailure:
      return "EK9999";
    default:
      return "EK0001";
  }
}

}  // namespace npuprof
