// SPDX-License-Identifier: Apache-2.0
#include "device/device_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "device/backends.h"

namespace npuprof::device {
namespace {

Status HalRefused() {
  return Status::Fail(ErrorKind::kUnsupported,
                      "NPUPROF_DEVICE is hal, but this build cannot use the vendor's driver; allowed are "
                      "auto, sim and kernel");
}

}  // namespace

const char* BackendName(Backend backend) {
  switch (backend) {
    case Backend::kNone:
      return "none";
    case Backend::kSim:
      return "sim";
    case Backend::kKernel:
      return "kernel";
    case Backend::kHal:
      return "hal";
  }
  return "unknown";
}

Status ChooseBackend(Backend* backend, std::string* reason) {
  const char* value = std::getenv("NPUPROF_DEVICE");
  const std::string_view wish = value == nullptr || *value == '\0' ? "auto" : value;
  if (wish == "hal") return HalRefused();
  if (wish != "auto" && wish != "sim" && wish != "kernel") {
    return Status::Fail(ErrorKind::kInvalidArgument,
                        fmt::format("NPUPROF_DEVICE is \"{}\"; allowed are auto, sim, kernel and hal", wish));
  }
  const int count = SimDeviceCount();
  const bool sim = count >= 0;
  // The runtime decides: this one uses NPUs that only the kernel can have.
  const bool elsewhere = count == -EREMOTE;
  if (wish == "sim") {
    if (elsewhere) {
      return Status::Fail(
          ErrorKind::kNotFound,
          "NPUPROF_DEVICE is sim, but NPUSIM_PORT is set, so the NPUs are not in this process; allowed "
          "then are auto and kernel");
    }
    if (!sim) {
      return Status::Fail(
          ErrorKind::kNotFound,
          "NPUPROF_DEVICE is sim, but no simulated runtime (libruntime.so) is loaded in this process");
    }
    *backend = Backend::kSim;
    *reason = "NPUPROF_DEVICE is sim";
  } else if (wish == "kernel") {
    if (KernelDeviceIds().empty()) {
      return Status::Fail(ErrorKind::kNotFound, fmt::format("NPUPROF_DEVICE is kernel, but {}",
                                                            OpenRefused(0, ENOENT, KernelFacts()).text));
    }
    *backend = Backend::kKernel;
    *reason = "NPUPROF_DEVICE is kernel";
  } else if (sim) {
    *backend = Backend::kSim;
    *reason = "the process uses the simulated runtime";
  } else if (!KernelDeviceIds().empty()) {
    *backend = Backend::kKernel;
    *reason = elsewhere ? "the simulated runtime uses the machine's NPUs (NPUSIM_PORT)"
                        : "the kernel module has devices";
  } else {
    *backend = Backend::kNone;
    *reason =
        elsewhere
            ? "the simulated runtime uses the machine's NPUs (NPUSIM_PORT), but there is no /dev/npuprof<N>; "
              "host data alone"
            : "no simulated runtime in this process and no /dev/npuprof<N>; host data alone";
  }
  return Status::Ok();
}

std::string RuntimeVersion(Backend backend) {
  const bool used = backend == Backend::kSim || (backend == Backend::kKernel && SimDeviceCount() == -EREMOTE);
  return used ? SimRuntimeVersion() : "";
}

std::vector<uint32_t> DeviceIds(Backend backend) {
  if (backend == Backend::kKernel) return KernelDeviceIds();
  std::vector<uint32_t> ids(backend == Backend::kSim ? static_cast<size_t>(std::max(0, SimDeviceCount()))
                                                     : 0);
  std::iota(ids.begin(), ids.end(), 0u);
  return ids;
}

std::string DeviceIdText(const std::vector<uint32_t>& ids) {
  if (ids.size() > 1 && ids.back() - ids.front() == ids.size() - 1)
    return fmt::format("{} to {}", ids.front(), ids.back());
  return fmt::format("{}", fmt::join(ids, ", "));
}

Status DeviceFile::Open(Backend backend, uint32_t id, std::unique_ptr<DeviceFile>* out) {
  switch (backend) {
    case Backend::kSim:
      return OpenSim(id, out);
    case Backend::kKernel:
      return OpenKernel(id, out);
    case Backend::kHal:
      return HalRefused();
    case Backend::kNone:
      break;
  }
  return Status::Fail(ErrorKind::kNotFound,
                      fmt::format("device {} does not exist: this process has no NPU", id));
}

}  // namespace npuprof::device
