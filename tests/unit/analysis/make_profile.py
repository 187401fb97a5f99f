# SPDX-License-Identifier: Apache-2.0
"""Writes a PROF directory of any size: one host thread that launches operators and copies on one device.

Every eighth task is a copy, the others are operators, each with a name of its own, tensors, counters and the calls that
launched it. Task ids wrap; both sides have the wraps on record.
"""
import json
import os
import struct

HOST_START, DEVICE_START = 100_000_000_000, 50_000_000_000
BEGIN_NS, BEGIN_US = 1_000_000_000_000, 1_767_225_600_000_000
ACL, NODE, RUNTIME = 20000, 10000, 5000
LAUNCH, MATMUL_API, KERNEL_API, COPY_API = 5, 0x050001, 1010, 1011
AI_CORE, MEMCPY, FLIP = 0, 5, 98
SQE_AI_CORE, SQE_SDMA = 0, 11
STREAM, THREAD, PERIOD_NS = 3, 7, 20_000
EVENTS = "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"


def _metadata(root):
    common = {"version": "1.0", "hostname": "test", "platform_version": "5", "pid": "4711", "pid_name": "app",
              "memoryTotal": 1 << 20, "netCard": [], "drvVersion": 467473, "cannVersion": "9.0.0",
              "CPU": [{"Frequency": "100.000000"}]}
    device = {"id": 0, "ai_core_num": 24, "aiv_num": 48, "hwts_frequency": "50.000000", "aic_frequency": "1800",
              "aiv_frequency": "1800"}
    clock = f"clock_monotonic_raw: {BEGIN_NS}\ncntvct: {HOST_START}\ncntvct_diff: 0\n"
    for part, suffix, device_list, info in (("host", "", "64", []), ("device_0", ".0", "0", [device])):
        sample = {"devices": device_list, "llc_profiling": ""}
        for core, interval in (("ai_core", "aicore"), ("aiv", "aiv")):
            sample |= {f"{core}_profiling": "on", f"{core}_profiling_mode": "task-based",
                       f"{core}_metrics": "PipeUtilization", f"{core}_profiling_events": EVENTS,
                       f"{interval}_sampling_interval": 10}
        files = {"info.json" + suffix: json.dumps(common | {"devices": device_list, "DeviceInfo": info}),
                 "sample.json": json.dumps(sample),
                 "start_info" + suffix: json.dumps({"collectionTimeBegin": str(BEGIN_US),
                                                    "clockMonotonicRaw": str(BEGIN_NS)}),
                 "host_start.log" + suffix: ("[Device0]\n" if suffix else "[Host]\n") + clock}
        if suffix:
            files["dev_start.log.0"] = f"clock_monotonic_raw: 77\ncntvct: {DEVICE_START}\n"
        os.makedirs(os.path.join(root, part, "data"))
        for name, text in files.items():
            with open(os.path.join(root, part, name), "w", encoding="utf-8") as f:
                f.write(text)


def _tensors(name, time, size):
    entries = b"".join(struct.pack("<III8I", kind, 2, 1, 1024, size, 0, 0, 0, 0, 0, 0) for kind in (0, 0, 1))
    return struct.pack("<HHIIIQQI", 0x5A5A, NODE, 1, THREAD, 232, time, name, 3) + entries + bytes(256 - 36 - len(entries))


def write(parent, tasks, distinct_shapes=8):
    """Writes a directory below `parent` and returns its path."""
    root = os.path.join(parent, "PROF_000001_20260101000000123_00004711ABCDEFGH")
    os.makedirs(root)
    _metadata(root)
    out = {name: open(os.path.join(root, name + ".slice_0"), "wb", buffering=1 << 20) for name in (
        "host/data/aging.api_event.data", "host/data/aging.compact.node_basic_info",
        "host/data/aging.additional.tensor_info", "host/data/aging.compact.task_track",
        "host/data/aging.compact.memcpy_info", "host/data/unaging.additional.hash_dic",
        "host/data/unaging.additional.type_info_dic", "device_0/data/stars_soc.data.0",
        "device_0/data/ffts_profile.data.0", "device_0/data/ts_track.data.0")}
    api, node, tensor, track, copy, hashes, types, log, pmu, marks = (f.write for f in out.values())
    types(f"{NODE}_{LAUNCH}:launch\n{ACL}_{MATMUL_API}:aclnnMatmul\n{RUNTIME}_{AI_CORE}:KERNEL_AICORE\n"
          f"{RUNTIME}_{MEMCPY}:MEMCPY_ASYNC\n{RUNTIME}_{FLIP}:FLIP_TASK\n{RUNTIME}_{KERNEL_API}:KernelLaunch\n"
          f"{RUNTIME}_{COPY_API}:MemcpyAsync\n".encode())
    hashes(b"1:MatMulV2\n2:matmul_kernel\n")
    call = struct.Struct("<HHIIIQQQ").pack
    launched = struct.Struct("<HHIIIQHHHHQQ16x").pack
    entry = struct.Struct("<HHHHQ48x").pack

    def one_call(level, kind, begin, end, item=0):
        api(call(0x5A5A, level, kind, THREAD, 0, HOST_START + begin // 10, HOST_START + end // 10, item))

    def one_track(at, task, batch, kind, kernel):
        track(launched(0x5A5A, RUNTIME, 802, THREAD, 40, HOST_START + at // 10, 0, STREAM, task, batch, kind, kernel))

    for i in range(tasks):
        at, task = 100_000 + i * PERIOD_NS, i & 0xFFFF
        if i and task == 0:
            one_track(at - 10_000, 0, i >> 16, FLIP, 0)
            marks(struct.pack("<BBHIQHHHH16x", 0, 14, 0, 0, DEVICE_START + (at - 8_000) // 20, STREAM, i >> 16, 0, 0))
        start, end = DEVICE_START + (at + 2_000) // 20, DEVICE_START + (at + 12_000) // 20
        is_copy = i % 8 == 7
        sqe = (SQE_SDMA if is_copy else SQE_AI_CORE) << 10
        log(entry(sqe, 0x6BD3, STREAM, task, start) + entry(sqe | 1, 0x6BD3, STREAM, task, end))
        if is_copy:
            one_call(ACL, 0x030001, at, at + 900)
            one_call(RUNTIME, COPY_API, at + 200, at + 700)
            one_track(at + 500, task, i >> 16, MEMCPY, 0)
            copy(struct.pack("<HHIIIQQQHxxxxxx16x", 0x5A5A, RUNTIME, 803, THREAD, 40, HOST_START + (at + 500) // 10,
                             1 << 20, 0, 1))
            continue
        name = 1000 + i
        hashes(b"%d:MatMul_%d\n" % (name, i))
        one_call(ACL, MATMUL_API, at, at + 900)
        one_call(NODE, LAUNCH, at + 100, at + 800, name)
        one_call(RUNTIME, KERNEL_API, at + 200, at + 700)
        time = HOST_START + (at + 800) // 10
        node(struct.pack("<HHIIIQQIQII12x", 0x5A5A, NODE, 0, THREAD, 40, time, name, 0, 1, 20, 0))
        tensor(_tensors(name, time, 64 * (1 + i % distinct_shapes)))
        one_track(at + 500, task, i >> 16, AI_CORE, 2)
        cycles = 360_000 + i % 977
        pmu(struct.pack("<HHHHQBxHHxxxxxxxxxxQQ8Q", 0x28, 0x6BD3, STREAM, task, 0, 0, 0, 0, cycles, 0,
                        *(cycles // k for k in range(2, 10))) + struct.pack("<QQ", start, end))
    for f in out.values():
        f.close()
    return root
