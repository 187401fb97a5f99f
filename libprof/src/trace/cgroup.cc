// SPDX-License-Identifier: Apache-2.0
#include "trace/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "trace/first_line.h"

namespace npuprof::trace {
namespace {

// Path of this process below the hierarchy of version 2, which is the line of number 0.
std::optional<std::string> OwnGroup(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 3, "0::") == 0) return line.substr(3);
  }
  return std::nullopt;
}

struct Mount {
  std::string root, point;  ///< which group is seen where
};

std::optional<Mount> Hierarchy(const std::string& root) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Mount mount;
    std::string word;
    if (!(words >> word >> word >> word >> mount.root >> mount.point)) continue;
    while (words >> word && word != "-") {
    }
    if (words >> word && word == "cgroup2") return mount;
  }
  return std::nullopt;
}

template <typename Value>
void Lower(std::optional<Value>* limit, Value value) {
  *limit = limit->has_value() ? std::min(**limit, value) : value;
}

void Apply(const std::string& directory, CgroupLimits* limits) {
  std::istringstream cpu(FirstLine(directory + "/cpu.max"));
  double quota = 0, period = 0;
  if (cpu >> quota >> period && quota > 0 && period > 0) Lower(&limits->cpus, quota / period);  // else "max"
  std::istringstream memory(FirstLine(directory + "/memory.max"));
  uint64_t bytes = 0;
  if (memory >> bytes) Lower(&limits->memory_bytes, bytes);
}

}  // namespace

CgroupLimits CgroupLimits::Read(const std::string& root) {
  CgroupLimits limits;
  const auto group = OwnGroup(root);
  const auto mount = Hierarchy(root);
  if (!group || !mount) return limits;
  // In a container the mount may begin at its own group, and the path may still tell of those above.
  std::string below = *group;
  if (mount->root != "/" && below.compare(0, mount->root.size(), mount->root) == 0)
    below.erase(0, mount->root.size());
  // Each group above may allow less than its children ask for.
  for (;;) {
    while (!below.empty() && below.back() == '/') below.pop_back();
    Apply(root + mount->point + below, &limits);
    const size_t slash = below.rfind('/');
    if (slash == std::string::npos) return limits;
    below.erase(slash);
  }
}

}  // namespace npuprof::trace
