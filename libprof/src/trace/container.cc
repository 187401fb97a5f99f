// SPDX-License-Identifier: Apache-2.0
#include "trace/container.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace npuprof::trace {
namespace {

// The machine's own process numbers have this name on every kernel; it is part of the kernel's interface.
constexpr std::string_view kMachineProcesses = "pid:[4026531836]";

bool OwnProcessNumbers(const std::string& root) {
  char name[64];
  const ssize_t length = readlink((root + "/proc/self/ns/pid").c_str(), name, sizeof name);
  return length > 0 && std::string_view(name, static_cast<size_t>(length)) != kMachineProcesses;
}

}  // namespace

bool InContainer(std::string* complaint, const std::string& root) {
  if (const char* told = std::getenv("NPUPROF_CONTAINER")) {
    const std::string_view text(told);
    if (text == "yes" || text == "no") return text == "yes";
    if (!text.empty() && text != "auto" && complaint)
      *complaint =
          fmt::format("NPUPROF_CONTAINER is '{}'; allowed are auto, yes and no; taken is auto", text);
  }
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    if (access((root + mark).c_str(), F_OK) == 0) return true;
  }
  const char* manager = std::getenv("container");  // of systemd-nspawn, podman and lxc
  return (manager && *manager) || OwnProcessNumbers(root);
}

}  // namespace npuprof::trace
