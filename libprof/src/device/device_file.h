// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace npuprof::device {

/// Who drives the NPU.
enum class Backend {
  kNone,    ///< no NPU here: host data alone
  kSim,     ///< the simulated NPU of this process
  kKernel,  ///< /dev/npuprof<N>
  kHal,     ///< the vendor's driver
};
/// "none", "sim", "kernel" or "hal".
const char* BackendName(Backend backend);

/// Decides by NPUPROF_DEVICE (auto|sim|kernel|hal) and by what this process has loaded who drives devices:
/// under the simulated runtime its own device, else the kernel module's, else none. Never a device that the
/// program does not use.
/// @param reason  in a few words, why
/// kInvalidArgument: the variable holds something else; kUnsupported: hal (not in this build);
/// kNotFound: sim or kernel was demanded and is not there.
Status ChooseBackend(Backend* backend, std::string* reason);

/// Name and version of the runtime whose device @p backend drives ("npusim 0.1.0"); empty where there is none or
/// it does not tell.
std::string RuntimeVersion(Backend backend);

/// Ids of the devices of @p backend, ascending; none for kNone.
std::vector<uint32_t> DeviceIds(Backend backend);
/// For people: "0 to 3", or "0, 2" where one is missing between them.
std::string DeviceIdText(const std::vector<uint32_t>& ids);

/// An open device, the way uapi/npuprof.h describes it: opening is the session, destruction releases it all.
/// Any thread, but not destroyed while another thread is in a call. In a forked child every call fails with
/// -EOWNERDEAD and destruction closes only the child's own descriptors.
class DeviceFile {
 public:
  struct ModuleMemory {
    uint32_t module = 0;  ///< as published readers number it
    uint64_t bytes = 0;
  };

  /// kNotFound (no such device; the sentence names how many there are), kBusy, kUnsupported, kDevice.
  static Status Open(Backend backend, uint32_t id, std::unique_ptr<DeviceFile>* out);

  virtual ~DeviceFile() = default;
  /// One request NPUPROF_IOC_*. @return 0 or the negative errno of uapi/npuprof.h
  virtual int Ioctl(unsigned long request, void* argument) = 0;
  /// Maps @p length bytes of an area NPUPROF_MMAP_*; writable for the tails only. Valid until destruction.
  /// @return 0 or a negative errno
  virtual int Map(uint64_t area, size_t length, void** address) = 0;
  /// Readable when records wait.
  virtual int PollFd() const = 0;
  /// Takes the readiness back.
  virtual void ClearWake() = 0;
  /// How much memory of the device each module of the runtime holds. Waits for nobody.
  /// @return false if whoever drives the device does not tell
  virtual bool ReadModuleMemory(std::vector<ModuleMemory>*) const { return false; }
  virtual Backend backend() const = 0;
  /// Version of the driver, empty if it does not tell.
  virtual std::string version() const = 0;
  /// For people: "simulated NPU 0", "/dev/npuprof0".
  virtual std::string description() const = 0;
};

}  // namespace npuprof::device
