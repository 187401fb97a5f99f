// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

namespace npuprof::trace {

/// First line of a file of procfs or sysfs, empty if it cannot be read.
inline std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace npuprof::trace
