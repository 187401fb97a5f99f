// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "npuprof.h"
#include "npusim/npusim_device.h"

namespace conformance {
namespace {

class Sim final : public Backend {
 public:
  const char* name() const override { return "sim"; }
  uint32_t devices() const override { return static_cast<uint32_t>(npusim_dev_count()); }
  int Open(uint32_t id) override { return npusim_dev_open(id); }
  int Close(int handle) override { return npusim_dev_close(handle); }
  int Ioctl(int handle, unsigned long request, void* argument) override {
    return npusim_dev_ioctl(handle, request, argument);
  }
  int Map(int handle, uint64_t offset, size_t length, int, void** address) override {
    return npusim_dev_mmap(handle, offset, length, address);
  }
  void Unmap(void*, size_t) override {}  // mappings live as long as the session
  int PollFd(int handle) override { return npusim_dev_poll_fd(handle); }
  void ClearReady(int handle) override {
    uint64_t value;
    while (read(PollFd(handle), &value, sizeof value) == sizeof value) continue;
  }
};

class Kernel final : public Backend {
 public:
  const char* name() const override { return "kernel"; }
  uint32_t devices() const override {
    uint32_t count = 0;
    struct stat st;
    while (stat(Path(count).c_str(), &st) == 0) ++count;
    return count;
  }
  int Open(uint32_t id) override {
    const int fd = open(Path(id).c_str(), O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
  }
  int Close(int handle) override { return close(handle) == 0 ? 0 : -errno; }
  int Ioctl(int handle, unsigned long request, void* argument) override {
    return ioctl(handle, request, argument) == 0 ? 0 : -errno;
  }
  int Map(int handle, uint64_t offset, size_t length, int protection, void** address) override {
    void* memory = mmap(nullptr, length, protection, MAP_SHARED, handle, static_cast<off_t>(offset));
    if (memory == MAP_FAILED) return -errno;
    *address = memory;
    return 0;
  }
  void Unmap(void* address, size_t length) override { munmap(address, length); }
  int PollFd(int handle) override { return handle; }
  void ClearReady(int) override {}  // poll() asks the rings themselves

 private:
  static std::string Path(uint32_t id) { return "/dev/npuprof" + std::to_string(id); }
};

std::unique_ptr<Backend> Choose() {
  const char* value = std::getenv("NPUPROF_DEVICE");
  const std::string wish = value == nullptr ? "sim" : value;
  std::unique_ptr<Backend> backend;
  if (wish == "sim") backend = std::make_unique<Sim>();
  if (wish == "kernel") backend = std::make_unique<Kernel>();
  if (!backend || backend->devices() == 0) {
    std::fprintf(stderr, "NPUPROF_DEVICE is \"%s\"; it must be sim, or kernel with a /dev/npuprof0\n",
                 wish.c_str());
    std::exit(2);
  }
  return backend;
}

}  // namespace

Backend& Backend::Get() {
  static const std::unique_ptr<Backend> backend = Choose();
  return *backend;
}

namespace {

// Bits 0 to 31 of the effective set; CAP_IPC_LOCK is one of them. @return what was set before
uint32_t SetEffective(bool given, uint32_t wanted) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  EXPECT_EQ(syscall(SYS_capget, &head, data), 0);
  const uint32_t before = data[0].effective;
  data[0].effective = given ? wanted : before & ~(1u << CAP_IPC_LOCK);
  EXPECT_EQ(syscall(SYS_capset, &head, data), 0);
  return before;
}

}  // namespace

BoundedMemory::BoundedMemory() : effective_(SetEffective(false, 0)) {}

BoundedMemory::~BoundedMemory() {
  SetEffective(true, effective_);
}

bool Backend::is_kernel() const {
  return std::string(name()) == "kernel";
}

}  // namespace conformance
