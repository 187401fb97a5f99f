/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Throughputs of the reference NPU. docs/reference-npu.md explains them; time_scale slows all of them alike. */
#ifndef NPUSIM_MODEL_COST_H
#define NPUSIM_MODEL_COST_H

/* Per core and core cycle. */
#define CUBE_MACS_FP16	    4096 /* 16 x 16 x 16 */
#define CUBE_MACS_INT8	    8192 /* 16 x 32 x 16 */
#define VEC_LANES_FP16	    128
#define VEC_LANES_FP16_HALF 64
#define VEC_LANES_FP32	    64
#define VEC_LANES_INT32	    64
#define VEC_LANES_MISC	    32
#define L2_READ_BYTES	    64 /* port of a core towards L2 */
#define L2_WRITE_BYTES	    64
#define L1_READ_BYTES	    512 /* L1 to L0A and L0B together */
#define L0C_TO_L1_BYTES	    128
#define UB_READ_BYTES	    512
#define UB_WRITE_BYTES	    256

/* Cycles before the first instruction of a block counts. */
#define BLOCK_OVERHEAD_CYCLES 500
#define BLOCK_SCALAR	      100 /* scalar instructions of them */

/* Device, bytes per nanosecond. */
#define HBM_BYTES_PER_NS  1600
#define SDMA_BYTES_PER_NS 100 /* of each channel */
#define PCIE_BYTES_PER_NS 25  /* each direction */
#define PEER_BYTES_PER_NS 50  /* chip-to-chip link, each direction */
#define NIC_BYTES_PER_NS  25  /* each direction */

/* Device, nanoseconds. */
#define DISPATCH_NS	 300 /* from the end of a task to the start of the next of its stream */
#define SYNC_NS		 100 /* event, notify, value and place-holder tasks */
#define COPY_OVERHEAD_NS 1500
#define AICPU_NS	 20000	/* default of an AI CPU kernel */
#define DVPP_NS		 500000 /* default of a frame */

#endif /* NPUSIM_MODEL_COST_H */
