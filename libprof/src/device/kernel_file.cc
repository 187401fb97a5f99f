// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fd_identity.h"
#include "device/backends.h"
#include "drain/drain.h"
#include "drain/fork_guard.h"
#include "npuprof.h"

namespace npuprof::device {
namespace {

std::string DevicePath(uint32_t id) {
  return fmt::format("/dev/npuprof{}", id);
}

class KernelFile final : public DeviceFile {
 public:
  KernelFile(int fd, uint32_t id) : fd_(fd), id_(id) { drain::GuardFd(fd_); }
  ~KernelFile() override {
    if (!Ours()) return;  // the fork handler closed it, and mappings are not inherited
    for (const auto& [address, length] : maps_) munmap(address, length);
    drain::UnguardFd(fd_);
    if (identity_.Holds(fd_)) close(fd_);
  }

  int Ioctl(unsigned long request, void* argument) override {
    if (!Ours()) return -EOWNERDEAD;
    if (!identity_.Holds(fd_))
      return -EBADF;  // the program closed it; the number may be one of its own files
    return ioctl(fd_, request, argument) == 0 ? 0 : -errno;
  }
  int Map(uint64_t area, size_t length, void** address) override {
    if (!Ours()) return -EOWNERDEAD;
    const int access = area == NPUPROF_MMAP_TAILS ? PROT_READ | PROT_WRITE : PROT_READ;
    void* memory = mmap(nullptr, length, access, MAP_SHARED, fd_, static_cast<off_t>(area));
    if (memory == MAP_FAILED) return -errno;
    maps_.emplace_back(memory, length);
    *address = memory;
    return 0;
  }
  int PollFd() const override { return fd_; }
  void ClearWake() override {}  // poll() asks the rings themselves
  Backend backend() const override { return Backend::kKernel; }
  std::string version() const override {
    std::ifstream file("/sys/module/npuprof/version");
    std::string text;
    return std::getline(file, text) ? "npuprof.ko " + text : "";
  }
  std::string description() const override { return DevicePath(id_); }

 private:
  bool Ours() const { return generation_ == drain::ForkGeneration(); }

  int fd_;
  FdIdentity identity_{fd_};
  uint32_t id_;
  unsigned generation_ = drain::ForkGeneration();
  std::vector<std::pair<void*, size_t>> maps_;
};

}  // namespace

std::vector<uint32_t> KernelDeviceIds(const std::string& directory) {
  constexpr std::string_view kPrefix = "npuprof";
  std::vector<uint32_t> ids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    uint32_t id = 0;
    if (!name.starts_with(kPrefix)) continue;
    const char* last = name.data() + name.size();
    const auto [stop, wrong] = std::from_chars(name.data() + kPrefix.size(), last, id);
    std::error_code unseen;
    if (wrong == std::errc() && stop == last && entry->is_character_file(unseen)) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

OpenFacts KernelFacts() {
  return {access("/sys/module/npuprof", F_OK) == 0, KernelDeviceIds()};
}

Status OpenKernel(uint32_t id, std::unique_ptr<DeviceFile>* out) {
  const std::string path = DevicePath(id);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    *out = std::make_unique<KernelFile>(fd, id);
    return Status::Ok();
  }
  const int error = errno;
  return OpenRefused(id, error, KernelFacts());
}

}  // namespace npuprof::device
