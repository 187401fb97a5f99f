// SPDX-License-Identifier: Apache-2.0
// The raw record files: "<base>.slice_<n>", n counting from 0 and compared as a number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/diagnostics.h"

namespace npuprof::analysis {

struct Slice {
  std::filesystem::path path;
  std::string name;  ///< relative to the PROF directory
  uint64_t number = 0;
  uint64_t bytes = 0;
};

using Slices = std::vector<Slice>;  ///< in rising order of number

/// All slices below the data directories of one PROF directory, by base ("host/data/aging.api_event.data").
class SliceIndex {
 public:
  /// Scans `root`/<part>/data for each part. Absent directories count as empty, and so do those that cannot be read,
  /// as a failure if `diagnostics` is given. So do slices that are missing between others.
  SliceIndex(const std::filesystem::path& root, const std::vector<std::string>& parts,
             Diagnostics* diagnostics = nullptr);

  const std::map<std::string, Slices>& all() const { return slices_; }
  /// Slices of one base; empty if there are none.
  const Slices& Get(const std::string& base) const;
  /// Bases with contents that Get() was never asked for. One thread.
  std::vector<std::string> Unread() const;

  /// "slices 0 to 3" where the oldest slices of a base are missing, as they are where room was made for younger ones.
  std::map<std::string, std::string> MissingInFront() const;

 private:
  std::map<std::string, Slices> slices_;
  mutable std::set<std::string> asked_;
};

/// Whether slices are missing before the one at `place` and behind the one before it.
inline bool BehindHole(const Slices& slices, size_t place) {
  return place > 0 && slices[place].number - slices[place - 1].number > 1;
}

uint64_t TotalBytes(const Slices& slices);

/// How many of the records of `record_bytes` to make room for beforehand. The size of a file is only a hint: it may
/// be made of holes or of something else, so beyond a million records room is made as they come.
size_t LikelyRecords(const Slices& slices, uint32_t record_bytes);

}  // namespace npuprof::analysis
