// SPDX-License-Identifier: Apache-2.0
#include "npuprof/kernel_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>

namespace npuprof::cli {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string KernelFacts::Line() const {
  std::vector<std::string> parts = {node};
  if (!bus.empty()) parts.push_back("bus " + bus);
  if (!driver.empty()) parts.push_back(driver);
  for (const auto& [name, words] : {std::pair{"abi", "interface "}, {"epoch", "epoch "}}) {
    if (const auto found = attributes.find(name); found != attributes.end())
      parts.push_back(words + found->second);
  }
  if (!perf.empty()) parts.push_back("perf PMU " + perf);
  return fmt::format("{}", fmt::join(parts, ", "));
}

KernelFacts ReadKernelFacts(const std::string& sysfs, uint32_t id) {
  KernelFacts facts;
  facts.node = fmt::format("/dev/npuprof{}", id);
  const fs::path directory = fs::path(sysfs) / "class/npuprof" / fmt::format("npuprof{}", id);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    // uevent and dev are the kernel's own, the rest of what is no plain file are links.
    if (entry.is_symlink(error) || !entry.is_regular_file(error) || name == "uevent" || name == "dev")
      continue;
    facts.attributes[name] = FirstLine(entry.path());
  }
  if (const fs::path device = fs::read_symlink(directory / "device", error); !error)
    facts.bus = device.filename();
  if (fs::exists(fs::path(sysfs) / "module/npuprof", error)) {
    const std::string version = FirstLine(fs::path(sysfs) / "module/npuprof/version");
    facts.driver = version.empty() ? "npuprof.ko" : "npuprof.ko " + version;
  }
  const std::string pmu = fmt::format("npuprof_{}", id);
  if (fs::exists(fs::path(sysfs) / "bus/event_source/devices" / pmu, error)) facts.perf = pmu;
  return facts;
}

}  // namespace npuprof::cli
