# SPDX-License-Identifier: Apache-2.0
"""The published order of profiling calls, in Python.

usage: seed_order.py DIR MODEL [ITERATIONS]
"""
import sys

import acl

ACL_PROF_ACL_API = 0x1
ACL_PROF_TASK_TIME = 0x2
ACL_PROF_AICORE_METRICS = 0x4
ACL_PROF_RUNTIME_API = 0x100
ACL_PROF_HOST_SYS = 8
PIPE_UTILIZATION = 1
MALLOC_HUGE_FIRST = 0


def check(ret, call):
    if ret != 0:
        sys.exit(f"{call} returned {ret}")


def buffers(count, size, desc):
    """A data set of fresh device buffers."""
    dataset = acl.mdl.create_dataset()
    for i in range(count):
        memory, ret = acl.rt.malloc(size(desc, i), MALLOC_HUGE_FIRST)
        check(ret, "acl.rt.malloc")
        _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(memory, size(desc, i)))
        check(ret, "acl.mdl.add_dataset_buffer")
    return dataset


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    iterations = int(sys.argv[3]) if len(sys.argv) > 3 else 1

    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")
    model, ret = acl.mdl.load_from_file(sys.argv[2])
    check(ret, "acl.mdl.load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "acl.mdl.get_desc")
    inputs = buffers(acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index, desc)
    outputs = buffers(acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index, desc)

    check(acl.prof.init(sys.argv[1]), "acl.prof.init")
    types = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_RUNTIME_API
    config = acl.prof.create_config([0], PIPE_UTILIZATION, 0, types)
    if config == 0:
        sys.exit("acl.prof.create_config returned 0")
    check(acl.prof.set_config(ACL_PROF_HOST_SYS, "cpu,mem"), "acl.prof.set_config")
    check(acl.prof.start(config), "acl.prof.start")
    for _ in range(iterations):
        check(acl.mdl.execute_async(model, inputs, outputs, stream), "acl.mdl.execute_async")
    check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
    check(acl.prof.stop(config), "acl.prof.stop")
    check(acl.prof.destroy_config(config), "acl.prof.destroy_config")
    check(acl.prof.finalize(), "acl.prof.finalize")

    check(acl.mdl.unload(model), "acl.mdl.unload")
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.reset_device(0), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")


if __name__ == "__main__":
    main()
