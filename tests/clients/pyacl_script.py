# SPDX-License-Identifier: Apache-2.0
"""A script as people write them for pyACL: constants of its own, Init before the device is set, a settings call, stamps that
are made anew for each message, steps, and arguments for calls that take none. Prints every code as JSON.

usage: pyacl_script.py DIR MODEL STEPS
"""
import json
import sys

import acl

ACL_PROF_ACL_API = 0x0001
ACL_PROF_TASK_TIME = 0x0002
ACL_PROF_AICORE_METRICS = 0x0004
ACL_PROF_MSPROFTX = 0x0080
ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3
ACL_AICORE_PIPE_UTILIZATION = 1

rets = {}


def note(call, ret):
    rets.setdefault(call, []).append(ret)


def datasets(model):
    desc = acl.mdl.create_desc()
    note("get_desc", acl.mdl.get_desc(desc, model))
    made = []
    for count, size in ((acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index),
                        (acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)):
        dataset = acl.mdl.create_dataset()
        for i in range(count):
            memory, ret = acl.rt.malloc(size(desc, i), 0)
            note("malloc", ret)
            note("add_dataset_buffer", acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(memory, size(desc, i)))[1])
        made.append(dataset)
    return made


def stamped(call, message):
    stamp = acl.prof.create_stamp()
    note("set_stamp_trace_message", acl.prof.set_stamp_trace_message(stamp, message, len(message)))
    result = call(stamp)
    acl.prof.destroy_stamp(stamp)
    return result


def main(directory, file, steps):
    note("acl.init", acl.init())
    note("init", acl.prof.init(directory))
    note("set_device", acl.rt.set_device(0))
    stream, ret = acl.rt.create_stream()
    note("create_stream", ret)
    model, ret = acl.mdl.load_from_file(file)
    note("load_from_file", ret)
    inputs, outputs = datasets(model)

    config = acl.prof.create_config([0], ACL_AICORE_PIPE_UTILIZATION, 0,
                                    ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_MSPROFTX)
    note("set_config", acl.prof.set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "15"))
    note("start", acl.prof.start(config))
    number, ret = stamped(acl.prof.range_start, "all steps")
    note("range_start", ret)
    for step in range(steps):
        info = acl.prof.create_step_info()
        note("get_step_timestamp", acl.prof.get_step_timestamp(info, 0, stream))
        note("push", stamped(acl.prof.push, f"step {step}"))
        note("execute_async", acl.mdl.execute_async(model, inputs, outputs, stream))
        note("mark", stamped(acl.prof.mark, f"launched {step}"))
        note("mark_ex", acl.prof.mark_ex("on the stream", stream))
        note("synchronize_stream", acl.rt.synchronize_stream(stream))
        note("pop", acl.prof.pop(0))
        note("get_step_timestamp", acl.prof.get_step_timestamp(info, 1, stream))
        acl.prof.destroy_step_info(info)
    note("range_stop", acl.prof.range_stop(number))
    note("synchronize_stream", acl.rt.synchronize_stream(stream))
    note("stop", acl.prof.stop(config))
    note("destroy_config", acl.prof.destroy_config(config))
    note("finalize", acl.prof.finalize())

    note("unload", acl.mdl.unload(model))
    note("destroy_stream", acl.rt.destroy_stream(stream))
    note("reset_device", acl.rt.reset_device(0))
    note("acl.finalize", acl.finalize())
    print(json.dumps({"config": config, "rets": rets}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
