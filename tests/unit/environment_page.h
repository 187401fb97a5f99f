// SPDX-License-Identifier: Apache-2.0
// What docs/environment.md says about numbers, for tests that hold the code to it.
#pragma once

#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>

namespace npuprof::test {

struct DocumentedRange {
  std::string low, high, standard;  ///< as the page spells them; standard: the default
};

/// The rows "`NAME` | LOW to HIGH ... (DEFAULT)" of the page; a row of several names has a default for each.
inline std::map<std::string, DocumentedRange> DocumentedRanges(const std::string& root) {
  std::ifstream page(root + "/docs/environment.md");
  if (!page) throw std::runtime_error("docs/environment.md cannot be read");
  const std::regex row(R"(^\| ((?:`\w+`(?:, )?)+) \| (-?[0-9.]+) to (-?[0-9.]+)[^(|]*\(([^)]*)\) \|.*)");
  const std::regex name("`(\\w+)`"), item("[^, ][^,]*");
  std::map<std::string, DocumentedRange> ranges;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    const std::string names = match[1], defaults = match[4];
    std::sregex_iterator standard(defaults.begin(), defaults.end(), item);
    for (std::sregex_iterator i(names.begin(), names.end(), name); i != std::sregex_iterator(); ++i) {
      if (standard == std::sregex_iterator()) throw std::runtime_error("a default is missing: " + line);
      ranges[(*i)[1]] = {match[2], match[3], (standard++)->str()};
    }
  }
  return ranges;
}

}  // namespace npuprof::test
