// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd_identity.h"
#include "base/status.h"

namespace npuprof::trace {

/// Checks an output path as the interface documents it, without touching the disk. Refused (kPath): an empty
/// path, control characters LF FF CR BS TAB VT DEL, quotes, and any of \ % > < | & $ ; `
/// Refused (kInvalidArgument): 4096 bytes or more.
Status CheckOutputPath(std::string_view path);

/// @p path made absolute with the current directory; no other change.
std::string AbsolutePath(std::string_view path);

/// Whether PrepareOutputDirectory() would fail for the absolute @p path, as far as that can be told without touching the
/// disk. kPath and the same sentences.
Status LookAtOutputDirectory(const std::string& path);

/// Makes sure that @p path is a writable directory, creating missing parts (mode 0750). kPath if it is
/// something else, cannot be made or cannot be written; the sentence says which.
Status PrepareOutputDirectory(const std::string& path);

/// One PROF_* directory. Plain value; all functions from any thread.
class ProfDirectory {
 public:
  /// Creates <output>/PROF_<index>_<local time, ms>_<pid><8 letters A-R> with host/data (mode 0750) and
  /// npuprof/. Two processes that create at the same moment get different directories.
  /// @param index  number of the run within the process, from 1; shown modulo 1,000,000
  /// @param out    has the path as soon as the directory is there, so that whoever finds that the rest failed, or throws, can
  ///               remove it; before, it stays as it is
  /// kPath as PrepareOutputDirectory() says it.
  static Status Create(const std::string& output, unsigned index, ProfDirectory* out);

  /// Creates device_<id>/data if it is not there.
  Status AddDevice(uint32_t id) const;

  const std::string& path() const { return path_; }
  std::string name() const;                    ///< last component
  std::string host() const;                    ///< <path>/host
  std::string host_data() const;               ///< <path>/host/data
  std::string device(uint32_t id) const;       ///< <path>/device_<id>
  std::string device_data(uint32_t id) const;  ///< <path>/device_<id>/data
  std::string own() const;                     ///< <path>/npuprof, for what is ours alone

 private:
  std::string path_;
};

/// Says that somebody writes a directory, to those who would repair or remove it: <path>/npuprof/lock is locked as long as
/// this lives. One thread at a time.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// kIo where the file system has no locks; the directory is written all the same.
  Status Take(const ProfDirectory& directory);
  void Release();

 private:
  std::string path_;
  int fd_ = -1;
  FdIdentity identity_{-1};
};

/// Writes @p content to @p path as a whole (mode 0640): readers see the old file or the new one, never half.
/// @p done: also write <path>.done with the size, as the metadata files have it.
/// @p keep: it outlives a loss of power. That may take seconds, so never on the drain thread.
Status WriteWhole(const std::string& path, std::string_view content, bool done, bool keep = false);

}  // namespace npuprof::trace
