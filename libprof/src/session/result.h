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
inline constexpr int kAlreadyRun = 100042;
inline constexpr int kNotRun = 100043;
inline constexpr int kApiConflict = 148047;
inline constexpr int kFeatureUnsupported = 200006;
inline constexpr int kModulesUnsupported = 200007;
inline constexpr int kFailure = 500005;
}  // namespace code

/// What an interface function came to: its code, and for a refusal one sentence that names the value and what is
/// allowed.
struct [[nodiscard]] Result {
  int code = code::kSuccess;
  std::string text;

  bool ok() const { return code == code::kSuccess; }
  static Result Ok() { return {}; }
  static Result Fail(int code, std::string text) { return {code, std::move(text)}; }
};

}  // namespace npuprof
