// SPDX-License-Identifier: Apache-2.0
// One training thread of the demonstration: images in, network, gradient exchanged.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"
#include "images.h"

namespace demo {

/// What both threads share. The lock is planted: the threads hold it far longer than they need to.
struct Shared {
  std::vector<std::string> images;
  std::string model;
  int steps = 20;
  std::mutex lock;
  std::vector<uint64_t> histogram = std::vector<uint64_t>(256);
};

/// How one step went.
struct Step {
  double ms = 0;            ///< whole step on the host
  double images_ms = 0;     ///< of it, decoding and resizing
  double lock_wait_ms = 0;  ///< of it, waiting for the planted lock
  uint64_t page_faults = 0;
};

/// Steps in which the threads fight over the lock, and steps in which they touch fresh memory.
bool IsLockStep(int step);
bool IsFaultStep(int step);

/// Drives one device. All functions but the constructor belong to one thread; failures throw
/// std::runtime_error.
class Worker {
 public:
  Worker(uint32_t device, HcclComm comm, Shared* shared) : device_(device), comm_(comm), shared_(shared) {}

  /// Opens the device, loads the model and allocates buffers.
  void SetUp();
  /// One step; returns when the device has finished it.
  void Run(int step);
  /// Checks that the last exchanged gradient is the sum over all devices, and frees everything.
  void TearDown(int devices);

  const std::vector<Step>& steps() const { return steps_; }

 private:
  void PrepareImages(int step);
  void HoldLock(Step* step);

  static constexpr uint64_t kGradient = 1 << 20;  // floats

  uint32_t device_;
  HcclComm comm_;
  Shared* shared_;
  aclrtStream stream_ = nullptr;
  uint32_t model_ = 0;
  aclmdlDesc* desc_ = nullptr;
  aclmdlDataset *inputs_ = nullptr, *outputs_ = nullptr;
  std::vector<void*> memory_;  // device memory of inputs and outputs
  void *host_input_ = nullptr, *device_input_ = nullptr;
  size_t input_bytes_ = 0;
  int element_bytes_ = 2, batch_ = 1;
  void *gradient_ = nullptr, *sum_ = nullptr;
  Image last_image_;
  std::vector<Step> steps_;
};

/// Throws std::runtime_error naming the call, its code and the runtime's sentence unless code is 0.
void Check(int code, const char* call);

}  // namespace demo
