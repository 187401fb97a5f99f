// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/output_claim.h"

namespace npuprof::analysis {

/// Directory and names of the files of one export.
class ExportOutput {
 public:
  /// Makes `directory` and chooses names that nothing there has: by `timestamp`, or by the time if it is empty. Throws Error if
  /// that cannot be.
  void Choose(const std::filesystem::path& directory, const std::string& timestamp);
  const std::filesystem::path& directory() const { return directory_; }
  const std::string& timestamp() const { return timestamp_; }
  std::filesystem::path File(const char* name, const char* extension) const;
  /// Removes `files`, and the directories that were made.
  void Withdraw(const std::vector<std::filesystem::path>& files);

 private:
  bool Taken(const std::string& timestamp) const;

  std::filesystem::path directory_;
  std::string timestamp_;
  OutputClaim claim_;                           // on the timestamp
  std::vector<std::filesystem::path> created_;  // the innermost first
};

}  // namespace npuprof::analysis
