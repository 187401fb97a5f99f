// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd_identity.h"
#include "device/backends.h"
#include "drain/drain.h"
#include "npusim/npusim_device.h"

namespace npuprof::device {
namespace {

// The functions of the simulated runtime, found in the process and never linked.
struct SimApi {
  decltype(&npusim_dev_count) count = nullptr;
  decltype(&npusim_dev_open) open = nullptr;
  decltype(&npusim_dev_close) close = nullptr;
  decltype(&npusim_dev_ioctl) ioctl = nullptr;
  decltype(&npusim_dev_mmap) mmap = nullptr;
  decltype(&npusim_dev_poll_fd) poll_fd = nullptr;

  // Newer than the others: may be missing.
  decltype(&npusim_dev_version) version = nullptr;
  decltype(&npusim_dev_module_memory) module_memory = nullptr;

  bool Find(void* where) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(where, name));
      return function != nullptr;
    };
    find(version, "npusim_dev_version");
    find(module_memory, "npusim_dev_module_memory");
    return find(count, "npusim_dev_count") && find(open, "npusim_dev_open") &&
           find(close, "npusim_dev_close") && find(ioctl, "npusim_dev_ioctl") &&
           find(mmap, "npusim_dev_mmap") && find(poll_fd, "npusim_dev_poll_fd");
  }
};

// Looked for at each call until it is found: the runtime may be loaded after us. Loaded with RTLD_LOCAL (as
// Python extensions are) it is not in the default scope, but can be asked for by name.
const SimApi* FindSim() {
  static std::atomic<const SimApi*> known{nullptr};
  if (const SimApi* api = known.load(std::memory_order_acquire)) return api;
  // Threads that look at the same time find the same functions; the first one's stay, and for good.
  const auto keep = [](const SimApi& api) {
    const SimApi* present = nullptr;
    auto fresh = std::make_unique<SimApi>(api);
    return known.compare_exchange_strong(present, fresh.get()) ? fresh.release() : present;
  };
  SimApi api;
  if (api.Find(RTLD_DEFAULT)) return keep(api);
  void* runtime = dlopen("libruntime.so", RTLD_LAZY | RTLD_NOLOAD);
  if (runtime == nullptr) return nullptr;
  if (api.Find(runtime)) return keep(api);  // keeps the reference: its functions are in use from now on
  dlclose(runtime);
  return nullptr;
}

class SimFile final : public DeviceFile {
 public:
  SimFile(const SimApi* api, int handle, uint32_t id)
      : api_(api), handle_(handle), id_(id), poll_fd_(api->poll_fd(handle)), identity_(poll_fd_) {}
  ~SimFile() override {
    if (Ours()) api_->close(handle_);
  }

  int Ioctl(unsigned long request, void* argument) override {
    return Ours() ? api_->ioctl(handle_, request, argument) : -EOWNERDEAD;
  }
  int Map(uint64_t area, size_t length, void** address) override {
    return Ours() ? api_->mmap(handle_, area, length, address) : -EOWNERDEAD;
  }
  int PollFd() const override { return poll_fd_; }
  void ClearWake() override {
    // The program may have closed it and got its number for a file of its own: its bytes are not ours to take.
    if (!Ours() || !identity_.Holds(poll_fd_)) return;
    pollfd fd{poll_fd_, POLLIN, 0};
    uint64_t value;
    if (poll(&fd, 1, 0) == 1 && read(poll_fd_, &value, sizeof value) < 0) return;
  }
  bool ReadModuleMemory(std::vector<ModuleMemory>* out) const override {
    constexpr uint32_t kMost = 64;
    npusim_dev_module modules[kMost];
    if (!Ours() || api_->module_memory == nullptr) return false;
    const int count = api_->module_memory(id_, modules, kMost);
    if (count < 0) return false;
    out->clear();
    for (uint32_t i = 0; i < std::min(static_cast<uint32_t>(count), kMost); ++i)
      out->push_back({modules[i].module, modules[i].bytes});
    return true;
  }
  Backend backend() const override { return Backend::kSim; }
  std::string version() const override { return SimRuntimeVersion(); }
  std::string description() const override { return fmt::format("simulated NPU {}", id_); }

 private:
  bool Ours() const { return generation_ == drain::ForkGeneration(); }

  const SimApi* api_;
  int handle_;
  uint32_t id_;
  int poll_fd_;
  FdIdentity identity_;
  unsigned generation_ = drain::ForkGeneration();
};

}  // namespace

int SimDeviceCount() {
  const SimApi* api = FindSim();
  return api == nullptr ? -ENOENT : api->count();
}

std::string SimRuntimeVersion() {
  const SimApi* api = FindSim();
  return api == nullptr || api->version == nullptr ? "" : fmt::format("npusim {}", api->version());
}

Status OpenSim(uint32_t id, std::unique_ptr<DeviceFile>* out) {
  const SimApi* api = FindSim();
  if (api == nullptr)
    return Status::Fail(ErrorKind::kNotFound, "no simulated runtime is loaded in this process");
  const int handle = api->open(id);
  if (handle >= 0) {
    *out = std::make_unique<SimFile>(api, handle, id);
    return Status::Ok();
  }
  if (handle == -ENODEV) {
    return Status::Fail(ErrorKind::kNotFound,
                        fmt::format("device {} does not exist; the simulated runtime has {} (0 to {})", id,
                                    api->count(), api->count() - 1),
                        ENODEV);
  }
  if (handle == -EREMOTE) {
    return Status::Fail(
        ErrorKind::kNotFound,
        fmt::format("device {} is not in this process: NPUSIM_PORT is set, so the simulated runtime "
                    "drives the machine's NPUs, which are profiled through /dev/npuprof<N>",
                    id),
        EREMOTE);
  }
  if (handle == -EOWNERDEAD) {
    return Status::Fail(
        ErrorKind::kDevice,
        fmt::format("simulated NPU {} belongs to the process that this one was forked from; a child "
                    "profiles NPUs if it is forked before its parent uses one",
                    id),
        EOWNERDEAD);
  }
  const ErrorKind kind = handle == -EMFILE || handle == -EBUSY ? ErrorKind::kBusy : ErrorKind::kDevice;
  return Status::Fail(kind, fmt::format("simulated NPU {} cannot be opened: {}", id, std::strerror(-handle)),
                      -handle);
}

}  // namespace npuprof::device
