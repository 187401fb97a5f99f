# SPDX-License-Identifier: Apache-2.0
"""The demonstration's network, collective and profiling calls in Python: ResNet-50 on two devices, 20 steps.

Pictures are the affair of the C++ program; here the network gets whatever lies in the buffer.

usage: demo.py DIR MODEL TOTALS_FILE
PROF_* goes into DIR; TOTALS_FILE receives what the model of each device counted inside the window.
"""
import ctypes
import json
import sys
import time

import acl

DEVICES = 2
STEPS = 20

ACL_PROF_ACL_API = 0x1
ACL_PROF_TASK_TIME = 0x2
ACL_PROF_AICORE_METRICS = 0x4
ACL_PROF_RUNTIME_API = 0x100
ACL_PROF_HOST_SYS = 8
PIPE_UTILIZATION = 1
MALLOC_HUGE_FIRST = 0
HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
ACL_PROF_HCCL_TRACE = 0x20
HCCL_FP32 = 4
HCCL_SUM = 0
GRADIENT = 1 << 20  # floats


class Totals(ctypes.Structure):
    """npusimDeviceTotals of npusim/npusim.h."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "submitted", "started", "ended", "kernels", "aic_cycles", "aiv_cycles", "cube_macs", "bytes_read",
        "bytes_written")]


def check(ret, call):
    if ret != 0:
        sys.exit(f"{call} returned {ret}: {acl.get_recent_err_msg()}")


def totals():
    """What the model of each device has counted so far."""
    runtime = ctypes.CDLL("libruntime.so")
    found = []
    for device in range(DEVICES):
        one = Totals()
        check(runtime.npusimTotals(device, ctypes.byref(one), ctypes.sizeof(one)), "npusimTotals")
        found.append(one)
    return found


class Communicators:
    """One communicator per device, from the library itself: the acl package has no collectives."""

    def __init__(self):
        self.library = ctypes.CDLL("libhccl.so")
        self.library.HcclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int,
                                               ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self.handles = (ctypes.c_void_p * DEVICES)()
        check(self.library.HcclCommInitAll(DEVICES, (ctypes.c_int32 * DEVICES)(*range(DEVICES)), self.handles),
              "HcclCommInitAll")

    def all_reduce(self, device, send, receive, stream):
        check(self.library.HcclAllReduce(send, receive, GRADIENT, HCCL_FP32, HCCL_SUM, self.handles[device], stream),
              "HcclAllReduce")

    def destroy(self):
        for handle in self.handles:
            check(self.library.HcclCommDestroy(ctypes.c_void_p(handle)), "HcclCommDestroy")


class Network:
    """The model on one device, with buffers and a stream."""

    def __init__(self, device, path, communicators):
        self.device, self.communicators = device, communicators
        check(acl.rt.set_device(device), "acl.rt.set_device")
        self.stream, ret = acl.rt.create_stream()
        check(ret, "acl.rt.create_stream")
        self.model, ret = acl.mdl.load_from_file(path)
        check(ret, "acl.mdl.load_from_file")
        self.desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(self.desc, self.model), "acl.mdl.get_desc")
        self.memory = []
        self.inputs = self._dataset(acl.mdl.get_num_inputs(self.desc), acl.mdl.get_input_size_by_index)
        self.outputs = self._dataset(acl.mdl.get_num_outputs(self.desc), acl.mdl.get_output_size_by_index)
        self.bytes = acl.mdl.get_input_size_by_index(self.desc, 0)
        self.image, ret = acl.rt.malloc_host(self.bytes)
        check(ret, "acl.rt.malloc_host")
        self.gradient, ret = acl.rt.malloc(4 * GRADIENT, MALLOC_HUGE_FIRST)
        check(ret, "acl.rt.malloc")
        self.sum, ret = acl.rt.malloc(4 * GRADIENT, MALLOC_HUGE_FIRST)
        check(ret, "acl.rt.malloc")
        mine = (ctypes.c_float * GRADIENT)(*[device + 1.0] * GRADIENT)
        check(acl.rt.memcpy(self.gradient, 4 * GRADIENT, ctypes.addressof(mine), 4 * GRADIENT, HOST_TO_DEVICE),
              "acl.rt.memcpy")

    def _dataset(self, count, size):
        dataset = acl.mdl.create_dataset()
        for i in range(count):
            memory, ret = acl.rt.malloc(size(self.desc, i), MALLOC_HUGE_FIRST)
            check(ret, "acl.rt.malloc")
            self.memory.append(memory)
            _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(memory, size(self.desc, i)))
            check(ret, "acl.mdl.add_dataset_buffer")
        return dataset

    def launch(self):
        """Copies an image, runs the network and exchanges the gradient, without waiting."""
        check(acl.rt.set_device(self.device), "acl.rt.set_device")
        check(acl.rt.memcpy_async(self.memory[0], self.bytes, self.image, self.bytes, HOST_TO_DEVICE, self.stream),
              "acl.rt.memcpy_async")
        check(acl.mdl.execute_async(self.model, self.inputs, self.outputs, self.stream), "acl.mdl.execute_async")
        self.communicators.all_reduce(self.device, self.gradient, self.sum, self.stream)
        check(acl.rt.reset_device(self.device), "acl.rt.reset_device")  # gives back the set_device() above

    def wait(self):
        check(acl.rt.set_device(self.device), "acl.rt.set_device")
        check(acl.rt.synchronize_stream(self.stream), "acl.rt.synchronize_stream")
        check(acl.rt.reset_device(self.device), "acl.rt.reset_device")

    def check_sum(self):
        """The last exchanged gradient is the sum over all devices."""
        found = (ctypes.c_float * GRADIENT)()
        check(acl.rt.set_device(self.device), "acl.rt.set_device")
        check(acl.rt.memcpy(ctypes.addressof(found), 4 * GRADIENT, self.sum, 4 * GRADIENT, DEVICE_TO_HOST),
              "acl.rt.memcpy")
        check(acl.rt.reset_device(self.device), "acl.rt.reset_device")
        wanted = DEVICES * (DEVICES + 1) / 2
        if set(found) != {wanted}:
            sys.exit(f"the exchanged gradient holds {sorted(set(found))[:3]}, must be {wanted}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    directory, path, totals_file = sys.argv[1:]
    check(acl.init(), "acl.init")
    communicators = Communicators()
    networks = [Network(device, path, communicators) for device in range(DEVICES)]

    check(acl.prof.init(directory), "acl.prof.init")
    types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_HCCL_TRACE | ACL_PROF_RUNTIME_API
    config = acl.prof.create_config(list(range(DEVICES)), PIPE_UTILIZATION, 0, types)
    if config == 0:
        sys.exit("acl.prof.create_config returned 0")
    check(acl.prof.set_config(ACL_PROF_HOST_SYS, "cpu,mem"), "acl.prof.set_config")
    check(acl.prof.start(config), "acl.prof.start")
    first = totals()
    times = []
    for _ in range(STEPS):
        begin = time.monotonic()
        for network in networks:
            network.launch()
        for network in networks:
            network.wait()
        times.append((time.monotonic() - begin) * 1000)
    last = totals()
    check(acl.prof.stop(config), "acl.prof.stop")
    check(acl.prof.destroy_config(config), "acl.prof.destroy_config")
    check(acl.prof.finalize(), "acl.prof.finalize")

    for network in networks:
        network.check_sum()
        check(acl.rt.reset_device(network.device), "acl.rt.reset_device")
    communicators.destroy()
    check(acl.finalize(), "acl.finalize")
    counted = [{"id": i, **{key: getattr(last[i], key) - getattr(first[i], key)
                            for key in ("submitted", "started", "ended", "kernels")}} for i in range(DEVICES)]
    with open(totals_file, "w", encoding="utf-8") as f:
        json.dump({"devices": counted}, f)
    print("steps [ms]: " + " ".join(f"{t:.1f}" for t in times))


if __name__ == "__main__":
    main()
