// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <stdexcept>

namespace demo {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

uint64_t PageFaults() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_minflt);
}

// Writes one byte to every page of fresh memory.
void TouchFreshMemory() {
  constexpr size_t kBytes = 48 << 20, kPage = 4096;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for the page-fault phase");
  madvise(memory, kBytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < kBytes; i += kPage) static_cast<volatile char*>(memory)[i] = 1;
  munmap(memory, kBytes);
}

void* Malloc(size_t bytes) {
  void* memory = nullptr;
  Check(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  return memory;
}

// Data set of fresh device buffers, one per input or output of the model.
aclmdlDataset* Buffers(aclmdlDesc* desc, size_t count, size_t (*size)(aclmdlDesc*, size_t),
                       std::vector<void*>* memory) {
  aclmdlDataset* set = aclmdlCreateDataset();
  for (size_t i = 0; i < count; i++) {
    memory->push_back(Malloc(size(desc, i)));
    Check(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory->back(), size(desc, i))),
          "aclmdlAddDatasetBuffer");
  }
  return set;
}

void Destroy(aclmdlDataset* set) {
  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(set); i++)
    aclDestroyDataBuffer(aclmdlGetDatasetBuffer(set, i));
  aclmdlDestroyDataset(set);
}

}  // namespace

void Check(int code, const char* call) {
  if (code == 0) return;
  const char* why = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " returned " + std::to_string(code) + ": " +
                           (why != nullptr ? why : ""));
}

bool IsLockStep(int step) {
  return step >= 8 && step < 11;
}
bool IsFaultStep(int step) {
  return step >= 14 && step < 17;
}

void Worker::SetUp() {
  Check(aclrtSetDevice(static_cast<int32_t>(device_)), "aclrtSetDevice");
  Check(aclrtCreateStream(&stream_), "aclrtCreateStream");
  Check(aclmdlLoadFromFile(shared_->model.c_str(), &model_), "aclmdlLoadFromFile");
  desc_ = aclmdlCreateDesc();
  Check(aclmdlGetDesc(desc_, model_), "aclmdlGetDesc");
  inputs_ = Buffers(desc_, aclmdlGetNumInputs(desc_), aclmdlGetInputSizeByIndex, &memory_);
  outputs_ = Buffers(desc_, aclmdlGetNumOutputs(desc_), aclmdlGetOutputSizeByIndex, &memory_);

  device_input_ = memory_.at(0);
  input_bytes_ = aclmdlGetInputSizeByIndex(desc_, 0);
  element_bytes_ = aclmdlGetInputDataType(desc_, 0) == ACL_FLOAT16 ? 2 : 4;
  batch_ = static_cast<int>(input_bytes_ / (size_t{3} * 224 * 224 * element_bytes_));
  if (batch_ < 1) throw std::runtime_error(shared_->model + " takes no images of 224 x 224");
  Check(aclrtMallocHost(&host_input_, input_bytes_), "aclrtMallocHost");

  gradient_ = Malloc(kGradient * sizeof(float));
  sum_ = Malloc(kGradient * sizeof(float));
  const std::vector<float> mine(kGradient, static_cast<float>(device_ + 1));
  Check(aclrtMemcpy(gradient_, kGradient * sizeof(float), mine.data(), kGradient * sizeof(float),
                    ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
  Check(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
}

void Worker::PrepareImages(int step) {
  for (int i = 0; i < batch_; i++) {
    const size_t number = (static_cast<size_t>(step) * batch_ + i + device_) % shared_->images.size();
    last_image_ = DecodeJpeg(shared_->images[number]);
    const Image small = Resize(last_image_, 224, 224);
    ToTensor(small, element_bytes_,
             static_cast<char*>(host_input_) + static_cast<size_t>(i) * 3 * 224 * 224 * element_bytes_);
  }
}

void Worker::HoldLock(Step* step) {
  const auto begin = Clock::now();
  const std::lock_guard<std::mutex> hold(shared_->lock);
  step->lock_wait_ms = MsSince(begin);
  for (int pass = 0; pass < 24; pass++)
    for (uint8_t value : last_image_.rgb) shared_->histogram[value]++;
}

void Worker::Run(int number) {
  Step step;
  const auto begin = Clock::now();
  const uint64_t faults = PageFaults();
  PrepareImages(number);
  step.images_ms = MsSince(begin);
  if (IsLockStep(number)) HoldLock(&step);
  if (IsFaultStep(number)) TouchFreshMemory();
  Check(aclrtMemcpyAsync(device_input_, input_bytes_, host_input_, input_bytes_, ACL_MEMCPY_HOST_TO_DEVICE,
                         stream_),
        "aclrtMemcpyAsync");
  Check(aclmdlExecuteAsync(model_, inputs_, outputs_, stream_), "aclmdlExecuteAsync");
  Check(HcclAllReduce(gradient_, sum_, kGradient, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm_, stream_),
        "HcclAllReduce");
  Check(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream");
  step.page_faults = PageFaults() - faults;
  step.ms = MsSince(begin);
  steps_.push_back(step);
}

void Worker::TearDown(int devices) {
  std::vector<float> sum(kGradient);
  Check(aclrtMemcpy(sum.data(), kGradient * sizeof(float), sum_, kGradient * sizeof(float),
                    ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  const float wanted = static_cast<float>(devices * (devices + 1)) / 2;
  for (float value : sum)
    if (value != wanted)
      throw std::runtime_error("the exchanged gradient is " + std::to_string(value) + ", must be " +
                               std::to_string(wanted));
  Destroy(inputs_);
  Destroy(outputs_);
  for (void* memory : memory_) Check(aclrtFree(memory), "aclrtFree");
  Check(aclrtFree(gradient_), "aclrtFree");
  Check(aclrtFree(sum_), "aclrtFree");
  Check(aclrtFreeHost(host_input_), "aclrtFreeHost");
  Check(aclmdlDestroyDesc(desc_), "aclmdlDestroyDesc");
  Check(aclmdlUnload(model_), "aclmdlUnload");
  Check(aclrtDestroyStream(stream_), "aclrtDestroyStream");
  Check(aclrtResetDevice(static_cast<int32_t>(device_)), "aclrtResetDevice");
}

}  // namespace demo
