// SPDX-License-Identifier: Apache-2.0
#include "csv.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace npuprof::test {
namespace fs = std::filesystem;

Csv ReadCsv(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string cell;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += c;
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      line.push_back(std::move(cell));
      cell.clear();
      if (c == '\n') {
        lines.push_back(std::move(line));
        line.clear();
      }
    } else if (c != '\r') {
      cell += c;
    }
  }
  if (!line.empty() || !cell.empty())
    throw std::runtime_error(path.string() + " does not end with a line break");
  Csv csv;
  if (lines.empty()) return csv;
  csv.header = lines[0];
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != csv.header.size()) {
      throw std::runtime_error(path.string() + " row " + std::to_string(i) +
                               " has another number of cells than the header");
    }
    auto& row = csv.rows.emplace_back();
    for (size_t c = 0; c < csv.header.size(); ++c) row[csv.header[c]] = lines[i][c];
  }
  return csv;
}

fs::path FindExport(const fs::path& directory, const std::string& table, const std::string& extension) {
  const std::regex pattern(table + "_[0-9]{14}\\." + extension);
  fs::path found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!std::regex_match(entry.path().filename().string(), pattern)) continue;
    if (!found.empty()) return {};
    found = entry.path();
  }
  return found;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "npuprof-test-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace npuprof::test
