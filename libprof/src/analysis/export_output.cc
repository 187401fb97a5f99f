// SPDX-License-Identifier: Apache-2.0
#include "analysis/export_output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <system_error>

#include "analysis/error.h"
#include "analysis/export.h"

namespace npuprof::analysis {
namespace fs = std::filesystem;

void ExportOutput::Choose(const fs::path& directory, const std::string& timestamp) {
  directory_ = directory;
  std::error_code error;
  fs::path path = fs::absolute(directory_).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  for (; path.has_relative_path() && !fs::exists(path, error); path = path.parent_path())
    created_.push_back(path);
  fs::create_directories(directory_, error);
  if (error) throw Error(fmt::format("{} cannot be created: {}", directory_.string(), error.message()));
  if (!fs::is_directory(directory_, error))
    throw Error(fmt::format("{} is no directory", directory_.string()));
  timestamp_ = timestamp;
  if (!timestamp_.empty()) {
    if (timestamp_.size() != 14 || timestamp_.find_first_not_of("0123456789") != std::string::npos) {
      throw Error(fmt::format("timestamp '{}' has to be 14 digits", timestamp_));
    }
    if (!claim_.Take(directory_, timestamp_) || Taken(timestamp_)) {
      throw Error(fmt::format("{} already holds an export of {}", directory_.string(), timestamp_));
    }
    return;
  }
  // Two exports within a second get neighbouring names.
  for (std::time_t now = std::time(nullptr);; ++now) {
    timestamp_ = fmt::format("{:%Y%m%d%H%M%S}", fmt::localtime(now));
    if (claim_.Take(directory_, timestamp_) && !Taken(timestamp_)) return;
  }
}

bool ExportOutput::Taken(const std::string& timestamp) const {
  std::error_code ignored;
  const auto there = [&](const std::string& name) { return fs::exists(directory_ / name, ignored); };
  for (const auto& table : KnownTables()) {
    if (there(fmt::format("{}_{}.csv", table, timestamp)) ||
        there(fmt::format("{}_slice_0_{}.csv", table, timestamp)))
      return true;
  }
  return there(fmt::format("msprof_{}.json", timestamp)) ||
         there(fmt::format("msprof_slice_0_{}.json", timestamp)) ||
         there(fmt::format("msprof_{}.pftrace", timestamp));
}

fs::path ExportOutput::File(const char* name, const char* extension) const {
  return directory_ / fmt::format("{}_{}.{}", name, timestamp_, extension);
}

void ExportOutput::Withdraw(const std::vector<fs::path>& files) {
  claim_.Release();
  std::error_code ignored;
  for (const fs::path& file : files) fs::remove(file, ignored);
  for (const fs::path& made : created_) ::rmdir(made.c_str());  // only if nobody else used it
}

}  // namespace npuprof::analysis
