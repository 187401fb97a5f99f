// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/error.h"

namespace npuprof::analysis {

/// Collects what readers step over, merged by file and reason. Not thread-safe.
class Diagnostics {
 public:
  /// Distinct reasons kept; more are counted under one heading.
  static constexpr size_t kMaxWarnings = 1000;

  /// A remark about a whole file, or about the run if `file` is empty. Repetitions are dropped.
  void Warn(std::string file, std::string text);
  /// A part of the directory or a file of which something is missing as a whole: a warning, and a failure of whatever
  /// is made of it.
  void Failed(std::string file, std::string text);
  /// A remark about `count` records from byte `offset` of `file` on; `broken` if their content is lost by it.
  void Record(const std::string& file, uint64_t offset, const std::string& text, bool broken = true,
              uint64_t count = 1);

  const std::vector<Warning>& warnings() const { return warnings_; }
  const std::vector<Warning>& failures() const { return failures_; }
  uint64_t broken() const { return broken_; }

 private:
  std::vector<Warning> warnings_;
  std::vector<Warning> failures_;  ///< these are warnings too
  std::map<std::pair<std::string, std::string>, size_t> index_;
  uint64_t broken_ = 0;
};

}  // namespace npuprof::analysis
