// SPDX-License-Identifier: Apache-2.0
// The two ways to a device, as plain as the contract has them: one function per system call. NPUPROF_DEVICE says
// which: "sim" (default), the simulated NPU of this process, or "kernel", /dev/npuprof<N>.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace conformance {

class Backend {
 public:
  static Backend& Get();

  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  /// Number of devices.
  virtual uint32_t devices() const = 0;
  /// @return a handle or a negative errno; likewise 0 or a negative errno below.
  virtual int Open(uint32_t id) = 0;
  virtual int Close(int handle) = 0;
  virtual int Ioctl(int handle, unsigned long request, void* argument) = 0;
  /// @param protection  the simulated device maps as the contract says whatever is asked for here
  virtual int Map(int handle, uint64_t offset, size_t length, int protection, void** address) = 0;
  virtual void Unmap(void* address, size_t length) = 0;
  virtual int PollFd(int handle) = 0;
  /// Takes back the readiness that records seen so far have caused.
  virtual void ClearReady(int handle) = 0;

  bool is_kernel() const;
};

/// While it lives this thread lacks CAP_IPC_LOCK: a kernel's bound on ring memory holds for root too, and is reached
/// before the machine's memory is.
class BoundedMemory {
 public:
  BoundedMemory();
  ~BoundedMemory();
  BoundedMemory(const BoundedMemory&) = delete;

 private:
  uint32_t effective_ = 0;
};

/// At the head of a test: it says nothing about this backend, and why. The lab's table shows both.
#define NOT_APPLICABLE_ON(backend_name, why)                                   \
  do {                                                                         \
    if (std::string(conformance::Backend::Get().name()) == (backend_name)) {   \
      GTEST_SKIP() << "not applicable on " << (backend_name) << ": " << (why); \
    }                                                                          \
  } while (0)

}  // namespace conformance
