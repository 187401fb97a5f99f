// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace npuprof::analysis {

/// Keeps a name in a directory from others that claim it, in this process and in others, for as long as it lives. The claim
/// of a process that died is void.
class OutputClaim {
 public:
  OutputClaim() = default;
  ~OutputClaim() { Release(); }
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;

  /// False if somebody has it. Throws Error if nothing can be written there.
  bool Take(const std::filesystem::path& directory, const std::string& name);
  void Release();

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace npuprof::analysis
