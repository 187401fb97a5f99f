# SPDX-License-Identifier: Apache-2.0
"""Counts how often another Python thread gets its turn while this one is in a call of the library.

The switch interval is so long that a turn can only come from a call that gives the interpreter lock away; "nothing" is
the proof. Each call waits for a model that takes long on the device (NPUSIM_TIME_SCALE).

usage: threads.py MODEL OUTPUT
"""

import json
import sys
import threading
import time

import acl
from run_model import dataset, ok

turns = 0
done = False


def other():
    global turns
    while not done:
        turns += 1
        time.sleep(0)


def during(call):
    before = turns
    ok(call())
    return turns - before


def main(model, output):
    global done
    ok(acl.init())
    ok(acl.rt.set_device(0))
    stream = ok(*acl.rt.create_stream())
    model_id = ok(*acl.mdl.load_from_file(model))
    desc = acl.mdl.create_desc()
    ok(acl.mdl.get_desc(desc, model_id))
    inputs, _ = dataset(desc, acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index)
    outputs, _ = dataset(desc, acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)
    ok(acl.prof.init(output))
    config = acl.prof.create_config([0], 1, 0, 0x7)

    sys.setswitchinterval(1000)
    thread = threading.Thread(target=other)
    thread.start()
    result = {"nothing": during(lambda: 0), "execute": during(lambda: acl.mdl.execute(model_id, inputs, outputs))}
    ok(acl.mdl.execute_async(model_id, inputs, outputs, stream))
    result["synchronize_stream"] = during(lambda: acl.rt.synchronize_stream(stream))
    ok(acl.prof.start(config))
    ok(acl.mdl.execute_async(model_id, inputs, outputs, stream))
    result["stop"] = during(lambda: acl.prof.stop(config))
    done = True
    thread.join()
    ok(acl.prof.finalize())
    ok(acl.finalize())
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
