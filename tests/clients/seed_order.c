/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published order of profiling calls, as a C program.
 *
 * usage: seed_order DIR MODEL [ITERATIONS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"

#define CHECK(call)                                                                    \
  do {                                                                                 \
    int code_ = (int)(call);                                                           \
    if (code_ != 0) {                                                                  \
      const char* why_ = aclGetRecentErrMsg();                                         \
      fprintf(stderr, "%s returned %d: %s\n", #call, code_, why_ != NULL ? why_ : ""); \
      return 1;                                                                        \
    }                                                                                  \
  } while (0)

static aclmdlDataset* buffers(size_t count, size_t (*size)(aclmdlDesc*, size_t), aclmdlDesc* desc) {
  aclmdlDataset* set = aclmdlCreateDataset();
  for (size_t i = 0; set != NULL && i < count; i++) {
    void* memory = NULL;
    if (aclrtMalloc(&memory, size(desc, i), ACL_MEM_MALLOC_HUGE_FIRST) != 0) return NULL;
    if (aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory, size(desc, i))) != 0) return NULL;
  }
  return set;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: seed_order DIR MODEL [ITERATIONS]\n");
    return 2;
  }
  int iterations = argc > 3 ? atoi(argv[3]) : 1;
  uint32_t devices[] = {0};
  uint32_t model = 0;
  aclrtStream stream = NULL;

  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclmdlLoadFromFile(argv[2], &model));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));
  aclmdlDataset* in = buffers(aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex, desc);
  aclmdlDataset* out = buffers(aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex, desc);
  if (in == NULL || out == NULL) {
    fprintf(stderr, "no memory for the model's inputs and outputs\n");
    return 1;
  }

  CHECK(aclprofInit(argv[1], strlen(argv[1])));
  aclprofConfig* config = aclprofCreateConfig(
      devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
      ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API);
  if (config == NULL) {
    fprintf(stderr, "aclprofCreateConfig returned NULL\n");
    return 1;
  }
  CHECK(aclprofSetConfig(ACL_PROF_HOST_SYS, "cpu,mem", strlen("cpu,mem")));
  CHECK(aclprofStart(config));
  for (int i = 0; i < iterations; i++) CHECK(aclmdlExecuteAsync(model, in, out, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclprofStop(config));
  CHECK(aclprofDestroyConfig(config));
  CHECK(aclprofFinalize());

  CHECK(aclmdlUnload(model));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
