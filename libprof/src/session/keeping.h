// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npuprof {

/// How long a directory is written before the next begins, and what is kept of those below an output path. From the
/// environment, and from the file that NPUPROF_CONFIG names: lines "name = value", where the name is that of the
/// variable without NPUPROF_, in small letters; '#' begins a comment. The environment comes first.
struct Keeping {
  uint64_t rotate_seconds = 0;  ///< 0: never, here and below
  uint64_t rotate_bytes = 0;
  uint64_t keep_count = 0;
  uint64_t keep_bytes = 0;
  uint64_t keep_seconds = 0;

  bool rotates() const { return rotate_seconds > 0 || rotate_bytes > 0; }
  bool removes() const { return keep_count > 0 || keep_bytes > 0 || keep_seconds > 0; }
};

/// What is wrong with variables or file appends a sentence to @p warnings; that setting is off then.
Keeping ReadKeeping(std::vector<std::string>* warnings);

/// Removes the oldest PROF_* directories of npuprof below @p output until those that are left keep to @p keeping. The
/// one named @p own and those that are being written stay, whoever writes them; so do directories of other tools. Several
/// processes may do so at once: one of them works, the others find nothing to do. Reads and removes much: not for the
/// drain thread, and not below the manager's lock. @return what was removed, one path each
/// @p now  seconds since 1970, against which age is measured
std::vector<std::string> RemoveOld(const std::string& output, const std::string& own, const Keeping& keeping,
                                   int64_t now);

/// Seconds since 1970 for ages. A wall clock that is set, either way, makes nothing older than it was.
class AgeClock {
 public:
  AgeClock();
  /// For readings of the two clocks in seconds: CLOCK_REALTIME and CLOCK_BOOTTIME.
  AgeClock(int64_t wall, int64_t running) : ahead_(wall - running) {}
  int64_t Now() const;
  int64_t Now(int64_t wall, int64_t running) const {
    return wall - running < ahead_ ? wall : running + ahead_;
  }

 private:
  int64_t ahead_;  // of the wall clock, when this was made
};

}  // namespace npuprof
