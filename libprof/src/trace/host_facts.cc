// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "trace/cgroup.h"
#include "trace/first_line.h"
#include "trace/metadata.h"

namespace npuprof::trace {
namespace {

// Value of the first "key ... : value" line of a /proc file.
std::string Field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Cards whose speed the kernel knows; readers divide by it.
std::vector<NetCard> NetCards() {
  std::vector<NetCard> cards;
  // Not by an iterator of the C++ library, which ends the program where there is no memory.
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/sys/class/net"), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    std::ifstream file(std::string("/sys/class/net/") + entry->d_name + "/speed");
    long speed = 0;
    if (file >> speed && speed > 0) cards.push_back({entry->d_name, static_cast<uint32_t>(speed)});
  }
  std::sort(cards.begin(), cards.end(), [](const NetCard& a, const NetCard& b) { return a.name < b.name; });
  return cards;
}

// CPUs that the process may run on, by its own wish or its control group's (cpuset); 0 if the kernel does not tell.
uint32_t CpusAllowed() {
  for (size_t most = 1024; most <= size_t{1} << 20; most *= 4) {
    std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(most) / sizeof(cpu_set_t) + 1);
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(getpid(), bytes, set.data()) == 0)
      return static_cast<uint32_t>(CPU_COUNT_S(bytes, set.data()));
    if (errno != EINVAL) break;
  }
  return 0;
}

}  // namespace

HostFacts HostFacts::Probe() {
  HostFacts facts;
  utsname system{};
  if (uname(&system) == 0) {
    facts.os = std::string(system.sysname) + " " + system.release;
    facts.hostname = system.nodename;
    facts.hwtype = system.machine;
  }
  facts.pid = static_cast<uint32_t>(getpid());
  facts.process_name = FirstLine("/proc/self/comm");
  // Images of containers often lack a number of their own.
  facts.host_uid = FirstLine("/etc/machine-id");
  if (facts.host_uid.empty()) facts.host_uid = FirstLine("/proc/sys/kernel/random/boot_id");
  if (const char* job = std::getenv("NPUPROF_JOB"); job && *job) facts.job_info = job;
  facts.up_time = FirstLine("/proc/uptime");
  std::istringstream(Field("/proc/meminfo", "MemTotal")) >> facts.memory_kb;
  facts.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  // What the process may use is what its use is compared with.
  if (const uint32_t allowed = CpusAllowed(); allowed > 0) facts.cpus = std::min(facts.cpus, allowed);
  const CgroupLimits limits = CgroupLimits::Read();
  if (limits.memory_bytes) facts.memory_kb = std::min(facts.memory_kb, *limits.memory_bytes / 1024);
  if (limits.cpus)
    facts.cpus = std::clamp(static_cast<uint32_t>(std::min(std::ceil(*limits.cpus), 1e6)), 1u, facts.cpus);
  facts.clock_ticks = static_cast<uint32_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
  facts.cpu_name = Field("/proc/cpuinfo", "model name");
  if (facts.cpu_name.empty()) facts.cpu_name = facts.hwtype;
  facts.cpu_type = facts.hwtype;
  facts.net_cards = NetCards();
  return facts;
}

}  // namespace npuprof::trace
