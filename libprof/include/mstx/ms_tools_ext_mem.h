/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an allocator tells tools that watch memory about the pieces it gives out of a larger one. The profiler does not
 * watch: without such a tool (MSTX_INJECTION_PATH) these functions do nothing and handles are NULL.
 */
#ifndef MS_TOOLS_EXT_MEM_H
#define MS_TOOLS_EXT_MEM_H

#include "mstx/ms_tools_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mstxMemHeap_st *mstxMemHeapHandle_t;
typedef struct mstxMemRegion_st *mstxMemRegionHandle_t;

typedef enum { MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 0 } mstxMemHeapUsageType;
typedef enum { MSTX_MEM_TYPE_VIRTUAL_ADDRESS = 0 } mstxMemType;
typedef enum { MSTX_MEM_REGION_REF_TYPE_POINTER = 0, MSTX_MEM_REGION_REF_TYPE_HANDLE } mstxMemRegionRefType;

/** Bytes of a device. */
typedef struct {
  uint32_t deviceId;
  const void *ptr;
  uint64_t size;
} mstxMemVirtualRangeDesc_t;

typedef struct {
  mstxMemHeapUsageType usage;
  mstxMemType type;
  const void *typeSpecificDesc; /* mstxMemVirtualRangeDesc_t */
} mstxMemHeapDesc_t;

typedef struct {
  mstxMemHeapHandle_t heap;
  mstxMemType regionType;
  size_t regionCount;
  const void *regionDescArray; /* regionCount times mstxMemVirtualRangeDesc_t */
  mstxMemRegionHandle_t *regionHandleArrayOut;
} mstxMemRegionsRegisterBatch_t;

typedef struct {
  mstxMemRegionRefType refType;
  __extension__ union {
    const void *pointer;
    mstxMemRegionHandle_t handle;
  };
} mstxMemRegionRef_t;

typedef struct {
  size_t refCount;
  const mstxMemRegionRef_t *refArray;
} mstxMemRegionsUnregisterBatch_t;

/** A piece of memory that an allocator divides. @return NULL if nobody watches */
MSTX_DECLSPEC mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain,
                                                      const mstxMemHeapDesc_t *desc);
MSTX_DECLSPEC void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
/** Pieces that are given out; their handles become NULL if nobody watches. */
MSTX_DECLSPEC void mstxMemRegionsRegister(mstxDomainHandle_t domain,
                                          const mstxMemRegionsRegisterBatch_t *desc);
/** Pieces that are given back. */
MSTX_DECLSPEC void mstxMemRegionsUnregister(mstxDomainHandle_t domain,
                                            const mstxMemRegionsUnregisterBatch_t *desc);

#ifdef __cplusplus
}
#endif
#endif /* MS_TOOLS_EXT_MEM_H */
