// SPDX-License-Identifier: Apache-2.0
#include "database/sqlite_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analysis/error.h"

namespace npuprof::database {

using analysis::Error;

SqliteFile::SqliteFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".part";
  // Made beforehand, because SQLite has a mode of its own for new files.
  const int fd = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) throw Error(fmt::format("{} cannot be created: {}", temporary_.string(), std::strerror(errno)));
  ::close(fd);
  try {
    if (sqlite3_open_v2(temporary_.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
      Fail("cannot be opened");
    // Nobody sees the file before it is complete, so there is nothing to roll back to and nobody to lock out.
    Run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN");
  } catch (...) {
    sqlite3_close(handle_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

SqliteFile::~SqliteFile() {
  if (!handle_) return;
  sqlite3_close_v2(handle_);
  ::unlink(temporary_.c_str());
}

void SqliteFile::Fail(const std::string& what) {
  throw Error(fmt::format("{} {}: {}", path_.string(), what, sqlite3_errmsg(handle_)));
}

void SqliteFile::Run(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail("cannot be written");
}

void SqliteFile::Commit() {
  Run("COMMIT");
  if (sqlite3_close(handle_) != SQLITE_OK) Fail("cannot be closed");
  handle_ = nullptr;
  if (::rename(temporary_.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  ::unlink(temporary_.c_str());
  throw Error(fmt::format("{} cannot be written: {}", path_.string(), std::strerror(error)));
}

bool SqliteFile::HasTable(const std::filesystem::path& path, const std::string& name) {
  sqlite3* handle = nullptr;
  bool has = false;
  if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK) {
    sqlite3_stmt* query = nullptr;
    if (sqlite3_prepare_v2(handle, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", -1, &query,
                           nullptr) == SQLITE_OK) {
      sqlite3_bind_text(query, 1, name.c_str(), -1, SQLITE_TRANSIENT);
      has = sqlite3_step(query) == SQLITE_ROW;
    }
    sqlite3_finalize(query);
  }
  sqlite3_close(handle);
  return has;
}

}  // namespace npuprof::database
