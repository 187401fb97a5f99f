# SPDX-License-Identifier: Apache-2.0
"""Runs a model and profiles it in the order of the published pages; prints what came back as JSON.

usage: run_model.py MODEL OUTPUT ITERATIONS
"""

import json
import sys

import acl

ACL_PROF_ACL_API = 0x1
ACL_PROF_TASK_TIME = 0x2
ACL_PROF_AICORE_METRICS = 0x4
ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3
ACL_AICORE_PIPE_UTILIZATION = 1
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2

rets = []


def ok(*values):
    """Notes the code, the last value; returns the value before it, if there is one."""
    rets.append(values[-1])
    return values[0] if len(values) > 1 else None


def dataset(desc, number, size_of):
    out, memory = acl.mdl.create_dataset(), []
    for index in range(number):
        size = size_of(desc, index)
        device = ok(*acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST))
        ok(*acl.mdl.add_dataset_buffer(out, acl.create_data_buffer(device, size)))
        memory.append((device, size))
    return out, memory


def main(model, output, iterations):
    ok(acl.init())
    ok(acl.rt.set_device(0))
    context = ok(*acl.rt.create_context(0))
    stream = ok(*acl.rt.create_stream())
    model_id = ok(*acl.mdl.load_from_file(model))
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, model_id))
    inputs, in_memory = dataset(desc, acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index)
    outputs, out_memory = dataset(desc, acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)

    ok(acl.prof.init(output))
    config = acl.prof.create_config([0], ACL_AICORE_PIPE_UTILIZATION, 0,
                                    ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS)
    ok(acl.prof.set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "15"))
    ok(acl.prof.start(config))
    for _ in range(iterations):
        for device, size in in_memory:
            data = bytes(size)
            ok(acl.rt.memcpy(device, size, acl.util.bytes_to_ptr(data), size, ACL_MEMCPY_HOST_TO_DEVICE))
        ok(acl.mdl.execute_async(model_id, inputs, outputs, stream))
        ok(acl.rt.synchronize_stream(stream))
    ok(acl.prof.stop(config))
    ok(acl.prof.destroy_config(config))
    ok(acl.prof.finalize())

    for buffers in (inputs, outputs):
        for index in range(acl.mdl.get_dataset_num_buffers(buffers)):
            ok(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(buffers, index)))
        ok(acl.mdl.destroy_dataset(buffers))
    for device, _ in in_memory + out_memory:
        ok(acl.rt.free(device))
    ok(acl.mdl.destroy_desc(desc))
    ok(acl.mdl.unload(model_id))
    ok(acl.rt.destroy_stream(stream))
    ok(acl.rt.destroy_context(context))
    ok(acl.rt.reset_device(0))
    ok(acl.finalize())
    print(json.dumps({"rets": rets, "config": config}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
