/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool that listens to mstx, to be named by MSTX_INJECTION_PATH: prints what it hears. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "mstx/ms_tools_ext.h"

static void mark(const char* message, aclrtStream stream) {
  printf("tool: mark %s%s\n", message, stream != NULL ? " on a stream" : "");
}

static mstxRangeId range_start(const char* message, aclrtStream stream) {
  (void)stream;
  printf("tool: begin %s\n", message);
  return 77;
}

static void range_end(mstxRangeId id) {
  printf("tool: end %d\n", (int)id);
}

static void tool_id(uint64_t* id) {
  *id = 5;
}

static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc) {
  (void)domain;
  printf("tool: heap of type %d\n", (int)desc->type);
  return (mstxMemHeapHandle_t)(uintptr_t)9;
}

static int put(MstxGetModuleFuncTableFunc get, MstxFuncModule module, unsigned entry,
               MstxFuncPointer function) {
  MstxFuncTable table = NULL;
  unsigned size = 0;
  if (get(module, &table, &size) != 0 || entry >= size || table[entry] == NULL) return 1;
  *table[entry] = function;
  return 0;
}

__attribute__((visibility("default"))) int InitInjectionMstx(MstxGetModuleFuncTableFunc get) {
  MstxFuncTable table = NULL;
  unsigned size = 0;
  /* A tool may well use the library that it listens to. */
  void (*mark_now)(const char*, aclrtStream) =
      (void (*)(const char*, aclrtStream))dlsym(RTLD_DEFAULT, "mstxMarkA");
  if (mark_now == NULL) return 2;
  mark_now("while the tool loads", NULL);
  if (get((MstxFuncModule)9, &table, &size) == 0) return 1;
  return put(get, MSTX_API_MODULE_CORE, MSTX_FUNC_MARKA, (MstxFuncPointer)mark) ||
         put(get, MSTX_API_MODULE_CORE, MSTX_FUNC_RANGE_STARTA, (MstxFuncPointer)range_start) ||
         put(get, MSTX_API_MODULE_CORE, MSTX_FUNC_RANGE_END, (MstxFuncPointer)range_end) ||
         put(get, MSTX_API_MODULE_CORE, MSTX_FUNC_GET_TOOL_ID, (MstxFuncPointer)tool_id) ||
         put(get, MSTX_API_MODULE_CORE_MEM, MSTX_FUNC_MEM_HEAP_REGISTER, (MstxFuncPointer)heap_register);
}
