// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace npuprof::test {

struct Csv {
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;  ///< by column name
};

/// Reads a table; quoted cells may hold commas, quotes and line breaks. A missing file gives an empty table.
Csv ReadCsv(const std::filesystem::path& path);

/// The file `<table>_<14 digits>.<extension>` in `directory`; empty if there is not exactly one.
std::filesystem::path FindExport(const std::filesystem::path& directory, const std::string& table,
                                 const std::string& extension = "csv");

/// A directory below the temporary directory, removed with its content at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace npuprof::test
