/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks, a range and a heap, without any call of the profiler: whoever MSTX_INJECTION_PATH names listens. Prints what came
 * back.
 *
 * usage: mstx_plain [acl]
 * With acl: between aclInit() and aclFinalize(), as a program that its surroundings profile, and with a mark in domain io.
 */
#include <stdio.h>

#include "acl/acl.h"
#include "mstx/ms_tools_ext.h"

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0) return 1;
    mstxDomainMarkA(mstxDomainCreateA("io"), "read", NULL);
  }
  uint64_t tool = 0;
  mstxMarkA("hello", NULL);
  mstxRangeId range = mstxRangeStartA("range", NULL);
  mstxRangeEnd(range);
  mstxGetToolId(&tool);
  mstxMemHeapDesc_t desc = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, NULL};
  mstxMemHeapHandle_t heap = mstxMemHeapRegister(NULL, &desc);
  mstxMemRegionHandle_t handles[2] = {(mstxMemRegionHandle_t)(uintptr_t)1,
                                      (mstxMemRegionHandle_t)(uintptr_t)1};
  mstxMemRegionsRegisterBatch_t batch = {heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 2, NULL, handles};
  mstxMemRegionsRegister(NULL, &batch);
  mstxMemRegionRef_t ref = {MSTX_MEM_REGION_REF_TYPE_HANDLE, {NULL}};
  mstxMemRegionsUnregisterBatch_t unregister = {1, &ref};
  mstxMemRegionsUnregister(NULL, &unregister);
  mstxMemHeapUnregister(NULL, heap);
  printf("range %d tool %d heap %d handles %d %d\n", (int)range, (int)tool, (int)(uintptr_t)heap,
         handles[0] != NULL, handles[1] != NULL);
  if (argc > 1) return aclrtResetDevice(0) || aclFinalize();
  return 0;
}
