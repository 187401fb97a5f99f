// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace npuprof::analysis {

/// What stops an analysis: one sentence that names the file, the value and what would be allowed.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something a reader had to step over. Warnings about the same file and reason are merged.
struct Warning {
  std::string file;     ///< path relative to the PROF directory; empty when no single file is meant
  uint64_t offset = 0;  ///< byte offset of the first record concerned
  uint64_t count = 0;   ///< records concerned; 0 when the warning is not about records
  std::string text;     ///< reason, without file and count
  /// One line for people: "<file> at byte <offset>: <text> (<count> records)".
  std::string Line() const;
};

}  // namespace npuprof::analysis
