/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof.h"
#include "npuprof_layout.h"
#include "npuprof_records.h"

#ifdef BREAK_LAYOUT
NPUPROF_SIZE(npuprof_query, 161);
#endif

/* Right on 64 bits, where a word of 64 is aligned to as many. */
#ifdef BREAK_LAYOUT_32
struct careless {
  __u32 size;
  __u64 value;
};
NPUPROF_SIZE(careless, 16);
#endif

#ifdef BREAK_PADDING
struct padded {
  __u64 value;
  __u32 flags;
};
NPUPROF_SIZE(padded, 16);
#endif

/* Sizes that every structure must have to pass between 32 and 64 bit programs unchanged. */
#define MULTIPLE_OF_8(type) NPUPROF_PROVE(sizeof(struct type) % 8 == 0)
MULTIPLE_OF_8(npuprof_query);
MULTIPLE_OF_8(npuprof_add_ring);
MULTIPLE_OF_8(npuprof_control);
MULTIPLE_OF_8(npuprof_stats);
MULTIPLE_OF_8(npuprof_clock);
MULTIPLE_OF_8(npuprof_rec_task_log);
MULTIPLE_OF_8(npuprof_rec_task_pmu);
MULTIPLE_OF_8(npuprof_rec_block_pmu);
MULTIPLE_OF_8(npuprof_rec_ts_track);
MULTIPLE_OF_8(npuprof_rec_core_sample);
MULTIPLE_OF_8(npuprof_rec_bandwidth);
MULTIPLE_OF_8(npuprof_rec_aicpu);
MULTIPLE_OF_8(npuprof_rec_event);

/* Request numbers are part of the contract. */
#define REQUESTS(PROVE)                     \
  PROVE(NPUPROF_IOC_QUERY, 0xc0a04ec0UL)    \
  PROVE(NPUPROF_IOC_ADD_RING, 0xc0804ec1UL) \
  PROVE(NPUPROF_IOC_START, 0xc0384ec2UL)    \
  PROVE(NPUPROF_IOC_STOP, 0xc0384ec3UL)     \
  PROVE(NPUPROF_IOC_FREEZE, 0xc0384ec4UL)   \
  PROVE(NPUPROF_IOC_FLUSH, 0xc0384ec5UL)    \
  PROVE(NPUPROF_IOC_STATS, 0xc0684ec6UL)    \
  PROVE(NPUPROF_IOC_CLOCK, 0xc0304ec7UL)
#ifdef __KERNEL__
/* The kernel's _IOC() is constant only to an optimising compiler. */
#include <linux/build_bug.h>
#define PROVE_REQUEST(name, number) BUILD_BUG_ON(name != number);
void npuprof_prove_requests(void);
void npuprof_prove_requests(void){REQUESTS(PROVE_REQUEST)}
#else
#define PROVE_REQUEST(name, number) NPUPROF_PROVE(name == number);
REQUESTS(PROVE_REQUEST)
#endif

NPUPROF_PROVE(NPUPROF_HEAD_FUNC(NPUPROF_HEAD(NPUPROF_FUNC_TASK_PMU, 63)) == NPUPROF_FUNC_TASK_PMU);
NPUPROF_PROVE(NPUPROF_HEAD_TYPE(NPUPROF_HEAD(NPUPROF_FUNC_TASK_PMU, 63)) == 63);
