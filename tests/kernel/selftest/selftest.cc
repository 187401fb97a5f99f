// SPDX-License-Identifier: Apache-2.0
#include "selftest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "rounds.h"

namespace selftest {

int Rounds(int usual, int least) {
  return conformance::Rounds(usual, least);
}

int Patience() {
  const char* patience = std::getenv("NPUPROF_LAB_PATIENCE");
  return std::max(1, patience == nullptr ? 1 : std::atoi(patience));
}

uint32_t Stretch() {
  const char* stretch = std::getenv("NPUPROF_LAB_STRETCH");
  return stretch == nullptr ? 1 : static_cast<uint32_t>(std::max(1, std::atoi(stretch)));
}

Moments::Moments() {
  const int given = GTEST_FLAG_GET(random_seed);
  const unsigned seed = given != 0 ? static_cast<unsigned>(given) : std::random_device{}() % 100'000 + 1;
  std::printf("random moments: --gtest_random_seed=%u\n", seed);
  random_.seed(seed);
}

void Moments::Pass(unsigned microseconds) {
  usleep(random_() % microseconds);
}

int InChild(const std::function<int()>& body, unsigned long flags) {
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
  if (child == 0) _exit(body());
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

using namespace conformance;

int ClaimAll(Profiler& profiler, uint32_t path) {
  for (const npuprof_add_ring& ring : {DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64, path), PmuRing(64, path),
                                       SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kMs, 64, {0x416}, path),
                                       UnitRing(NPUPROF_CHANNEL_HBM, 20 * kMs, 1024, path)}) {
    const int result = profiler.Add(ring);
    if (result < 0) return result;
  }
  return 0;
}

int WriteFile(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const ssize_t put = write(fd, text.data(), text.size());
  const int error = put < 0 ? -errno : 0;
  close(fd);
  return error;
}

std::string ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text(65536, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  close(fd);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string PciAddress(unsigned device) {
  char path[PATH_MAX];
  const std::string link = "/sys/class/npuprof/npuprof" + std::to_string(device) + "/device";
  if (realpath(link.c_str(), path) == nullptr) return "";
  const std::string real = path;
  return real.substr(real.rfind('/') + 1);
}

int ResetDevice(unsigned device) {
  return WriteFile("/sys/bus/pci/devices/" + PciAddress(device) + "/reset", "1");
}

uint64_t Account(const std::string& who, const std::string& figure, unsigned device) {
  const std::string text =
      "\n" + ReadFile("/sys/kernel/debug/npuprof/" + std::to_string(device) + "/account") + "\n";
  const size_t begin = text.find("\n" + who + " ");
  const std::string line =
      begin == std::string::npos ? "" : text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  const std::string name = " " + figure + "=";
  const size_t at = line.find(name);
  EXPECT_NE(at, std::string::npos) << "no " << figure << " of " << who << " in:" << text;
  return at == std::string::npos ? UINT64_MAX : std::stoull(line.substr(at + name.size()));
}

uint64_t LongestCallback(unsigned device) {
  return Account("longest", "callback_ns", device);
}

void SimulatedTime::TearDown() {
  if (!TimeIsTheModules()) return;
  EXPECT_LE(LongestCallback(), kLongestCallback);
}

int OpenPerfEvent(uint64_t config, unsigned device) {
  const std::string pmu = "/sys/bus/event_source/devices/npuprof_" + std::to_string(device) + "/";
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = static_cast<uint32_t>(std::atoi(ReadFile(pmu + "type").c_str()));
  attr.config = config;
  const int cpu = std::atoi(ReadFile(pmu + "cpumask").c_str());
  const long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

bool WaitNode(unsigned device, bool present) {
  const std::string path = "/dev/npuprof" + std::to_string(device);
  for (int k = 0; k < 3000; ++k) {
    struct stat st;
    if ((stat(path.c_str(), &st) == 0) == present) return true;
    usleep(10'000);
  }
  return false;
}

}  // namespace selftest
