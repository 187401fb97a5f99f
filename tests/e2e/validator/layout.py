# SPDX-License-Identifier: Apache-2.0
"""Numbers of the published format (chip generation A2, platform version "5")."""

HOST_MAGIC = 0x5A5A
STARS_MAGIC = 0x6BD3
MIN_DRIVER = 467473
EXACT = 1 << 53  # readers keep values as doubles

PLATFORMS = {"0", "1", "2", "3", "4", "5", "7", "8", "9", "11", "15", "16"}
REFUSED_CHARACTERS = set("\"'%><|&$;`\\") | {chr(c) for c in range(32)} | {chr(127)}

LEVELS = {30000: "pytorch", 25000: "pta", 20500: "msproftx", 20000: "acl", 15000: "model", 10000: "node",
          6000: "aicpu", 5500: "communication", 5000: "runtime"}
ACL, NODE, COMMUNICATION, RUNTIME = 20000, 10000, 5500, 5000

API_RECORD, COMPACT_RECORD, ADDITIONAL_RECORD = 40, 64, 256
EVENT_FLAG = (1 << 64) - 1

# Levels allowed in files of compact and additional records; files not named here may hold any known level.
KIND_LEVELS = {
    "task_track": {RUNTIME}, "memcpy_info": {RUNTIME}, "node_basic_info": {NODE}, "node_attr_info": {NODE},
    "tensor_info": {NODE}, "context_id_info": {NODE, COMMUNICATION}, "hccl_op_info": {NODE},
    "hccl_info": {COMMUNICATION}, "task_memory_info": {NODE}, "msproftx": {20500},
    "graph_id_map": {15000}, "fusion_op_info": {NODE, 15000}, "mc2_comm_info": {NODE},
}
# Kinds whose records are matched to a launch by thread and time.
INSIDE_LAUNCH = {"node_basic_info", "node_attr_info", "tensor_info", "context_id_info", "hccl_op_info"}
DICTIONARIES = {"hash_dic", "type_info_dic"}
VARIABLE_KINDS = {"capture_op_info"}

TASK_MAINTENANCE, TASK_FLIP = 6, 98

# Numbers that readers know names of modules for.
MODULES = set(range(78)) - set(range(12, 22)) - {26, 46}

# Device files of fixed-size records, and host and device files of text.
DEVICE_RECORDS = {
    "stars_soc.data": 64, "ffts_profile.data": 128, "ts_track.data": 40, "stars_soc_profile.data": 64,
    "lpmFreqConv.data": 888, "lpmInfoConv.data": 888, "aicpu.data": 256, "hbm.data": 24, "llc.data": 24,
    "npu_mem.data": 32, "npu_mem.app": 32, "npu_module_mem.data": 24, "pcie.data": 96, "qos.data": 64,
    "socpmu.data": 80, "tscpu.data": 304,
}
SAMPLED_CORE_RECORD = 96  # ffts_profile.data when cores are sampled by time
LAST_CUBE_CORE = 24  # in its samples; vector cores have the numbers after it
DEVICE_TEXT = {"hccs.data", "nic.data", "roce.data", "dvpp.data", "netdev_stats.data", "SystemCpuUsage.data",
               "Memory.data", "CpuUsage.data", "ai_ctrl_cpu.data"}
HOST_TEXT = {"host_cpu.data", "host_mem.data", "host_network.data", "host_disk.data", "host_syscall.data",
             "host_pthreadcall.data", "host_sys_cpu.data", "host_sys_mem.data", "CpuUsage.data",
             "Memory.data"}

# Function types of scheduler records.
TASK_START, TASK_END, SUB_START, SUB_END = 0x00, 0x01, 0x22, 0x23
CONTEXT_PMU, BLOCK_PMU = 0x28, 0x29
BLOCK_START, BLOCK_END = 0x24, 0x25
SOC_FUNCTIONS = {TASK_START, TASK_END, SUB_START, SUB_END, BLOCK_START, BLOCK_END, 0x16, 0x17}
PROFILE_FUNCTIONS = {0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1D}
MAX_SQE_TYPE = 20
TS_TAGS = {10, 11, 12, 14, 15}
TS_FLIP = 14

# Metric groups of the chip and the events each needs.
_PIPE = "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"
METRIC_GROUPS = {name: {int(e, 16) for e in events.split(",")} for name, events in {
    "PipeUtilization": _PIPE,
    "PipeUtilizationExct": "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55",
    "ArithmeticUtilization": "0x49,0x4a,0x4b,0x4c,0x4d,0x4e,0x4f",
    "Memory": "0x15,0x16,0x31,0x32,0xf,0x10,0x12,0x13",
    "MemoryL0": "0x1b,0x1c,0x21,0x22,0x27,0x28,0x29,0x2a",
    "MemoryUB": "0x10,0x13,0x37,0x38,0x3d,0x3e,0x43,0x44",
    "ResourceConflictRatio": "0x64,0x65,0x66",
    "L2Cache": "0x500,0x502,0x504,0x506,0x508,0x50a",
    "MemoryAccess": "0x32,0x3d,0x3e,0x206,0x20c,0x50c,0x50d,0x50e",
}.items()}
COUNTERS = 8


def resolve_ids(stream, task):
    """Stream and task behind the raw fields of a device record; high bits of one may ride in the other."""
    if stream & 0x1000:
        return stream % 2048, (task & 0x1FFF) | (stream & 0xE000)
    if stream & 0x2000:
        return (task & 0x0FFF) % 2048, (stream & 0x0FFF) | (task & 0xF000)
    return stream % 2048, task


def resolve_expanded_ids(stream, task, sqe_type):
    """As resolve_ids(), on streams whose ids use 15 bits."""
    if sqe_type in (3, 4):
        return stream & 0x7FFF, task
    if stream & 0x8000:
        return task & 0x7FFF, (task & 0x8000) | (stream & 0x7FFF)
    return stream & 0x7FFF, task
