// SPDX-License-Identifier: Apache-2.0
// What all acl* functions share: their span in profiling data and the check of pointers.
#ifndef NPUSIM_RUNTIME_ACL_API_H
#define NPUSIM_RUNTIME_ACL_API_H

#include <initializer_list>
#include <utility>

#include "acl/acl.h"
#include "runtime/core/rt.h"
#include "runtime/report/reporter.h"

namespace npusim {

// The calls that are reported: enumerator, sub-module of the type number, name.
#define NPUSIM_ACL_CALLS(X)                               \
  X(OpExecute, OP, "aclopExecuteV2")                      \
  X(ModelLoad, MODEL, "aclmdlLoadFromFile")               \
  X(ModelLoadMem, MODEL, "aclmdlLoadFromMem")             \
  X(ModelUnload, MODEL, "aclmdlUnload")                   \
  X(ModelExecute, MODEL, "aclmdlExecute")                 \
  X(ModelExecuteAsync, MODEL, "aclmdlExecuteAsync")       \
  X(CaptureBegin, MODEL, "aclmdlRICaptureBegin")          \
  X(CaptureEnd, MODEL, "aclmdlRICaptureEnd")              \
  X(GraphExecute, MODEL, "aclmdlRIExecuteAsync")          \
  X(GraphDestroy, MODEL, "aclmdlRIDestroy")               \
  X(SetDevice, RUNTIME, "aclrtSetDevice")                 \
  X(ResetDevice, RUNTIME, "aclrtResetDevice")             \
  X(SynchronizeDevice, RUNTIME, "aclrtSynchronizeDevice") \
  X(CreateContext, RUNTIME, "aclrtCreateContext")         \
  X(DestroyContext, RUNTIME, "aclrtDestroyContext")       \
  X(CreateStream, RUNTIME, "aclrtCreateStream")           \
  X(DestroyStream, RUNTIME, "aclrtDestroyStream")         \
  X(SynchronizeStream, RUNTIME, "aclrtSynchronizeStream") \
  X(StreamWaitEvent, RUNTIME, "aclrtStreamWaitEvent")     \
  X(CreateEvent, RUNTIME, "aclrtCreateEvent")             \
  X(DestroyEvent, RUNTIME, "aclrtDestroyEvent")           \
  X(RecordEvent, RUNTIME, "aclrtRecordEvent")             \
  X(SynchronizeEvent, RUNTIME, "aclrtSynchronizeEvent")   \
  X(Malloc, RUNTIME, "aclrtMalloc")                       \
  X(Free, RUNTIME, "aclrtFree")                           \
  X(MallocHost, RUNTIME, "aclrtMallocHost")               \
  X(FreeHost, RUNTIME, "aclrtFreeHost")                   \
  X(Memset, RUNTIME, "aclrtMemset")                       \
  X(MemsetAsync, RUNTIME, "aclrtMemsetAsync")             \
  X(Memcpy, RUNTIME, "aclrtMemcpy")                       \
  X(MemcpyAsync, RUNTIME, "aclrtMemcpyAsync")             \
  X(LaunchKernel, RUNTIME, "aclrtLaunchKernel")           \
  X(Add, NN, "aclnnAdd")                                  \
  X(Matmul, NN, "aclnnMatmul")                            \
  X(Relu, NN, "aclnnRelu")                                \
  X(Softmax, NN, "aclnnSoftmax")

enum class AclCall : uint32_t {
#define NPUSIM_ENUMERATOR(name, module, text) k##name,
  NPUSIM_ACL_CALLS(NPUSIM_ENUMERATOR)
#undef NPUSIM_ENUMERATOR
};

Switches& AclSwitches();

class AclSpan : public Span {
 public:
  explicit AclSpan(AclCall call)
      : Span(AclSwitches().Any(PROF_ACL_API), MSPROF_REPORT_ACL_LEVEL,
             AclSwitches().Any(PROF_ACL_API) ? TypeOf(call) : 0) {}

 private:
  static uint32_t TypeOf(AclCall call);
};

// ACL_SUCCESS, or ACL_ERROR_INVALID_PARAM with a sentence that names the first null argument.
inline int NotNull(std::initializer_list<std::pair<const char*, const void*>> arguments) {
  for (const auto& [name, pointer] : arguments)
    if (pointer == nullptr) return rtFail(ACL_ERROR_INVALID_PARAM, std::string(name) + " is null");
  return ACL_SUCCESS;
}

}  // namespace npusim

// Definitions of objects behind public handles.
struct aclDataBuffer {
  void* data;
  size_t size;
};

struct aclTensorDesc {
  aclDataType type;
  aclFormat format;
  std::vector<int64_t> dims;
  std::string name;
};

#endif  // NPUSIM_RUNTIME_ACL_API_H
