// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/quiet_write.h"

struct sqlite3;

namespace npuprof::database {

/// A database that appears under its name only when it is complete. Errors throw analysis::Error, naming the file.
class SqliteFile {
 public:
  /// One transaction is open from here to Commit().
  explicit SqliteFile(std::filesystem::path path);
  ~SqliteFile();  ///< removes what was not committed
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  void Run(const std::string& sql);
  void Commit();
  [[noreturn]] void Fail(const std::string& what);
  sqlite3* handle() { return handle_; }
  const std::filesystem::path& path() const { return path_; }

  /// Whether `path` is a database with the table `name`. A file that is none, or that cannot be read, has no tables.
  static bool HasTable(const std::filesystem::path& path, const std::string& name);

 private:
  std::filesystem::path path_, temporary_;
  sqlite3* handle_ = nullptr;
  QuietWrite quiet_;  // SQLite reports a limit on file sizes, once the signal does not end the process
};

}  // namespace npuprof::database
