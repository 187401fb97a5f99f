# SPDX-License-Identifier: Apache-2.0
"""Counts how often another Python thread gets its turn while this one is in a call of the library.

The switch interval is so long that a turn can only come from a call that gives the interpreter lock away; "nothing" is
the proof, tried very often. Calls wait for a model that takes long on the device (NPUSIM_TIME_SCALE), or are made until the
other thread had a turn: where one is short and the machine busy, the lock is mostly taken back before the other is awake.

usage: threads.py MODEL OUTPUT
"""

import json
import os
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


TRIES = 2000
PATIENCE = 60  # seconds


def during(call):
    before = turns
    ok(call())
    return turns - before


def nothing():
    """Turns while this thread calls nothing that waits."""
    before = turns
    for _ in range(TRIES):
        during(lambda: 0)
    return turns - before


def tried(call, undo):
    """Turns within the first call that gave one; undo() takes back those that did not."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if had := during(call):
            return had
        ok(undo())
    return 0


def subscription(model_id):
    """Turns within some subscriptions of the model, and within their ends."""
    begins = ends = 0
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        read, write = os.pipe()
        wish = acl.prof.create_subscribe_config(1, acl.prof.ACL_AICORE_NONE, write)
        begins += during(lambda: acl.prof.model_subscribe(model_id, wish))
        ends += during(lambda: acl.prof.model_unsubscribe(model_id))
        os.close(read)
        ok(acl.prof.destroy_subscribe_config(wish))
        if begins and ends:
            break
    return {"model_subscribe": begins, "model_unsubscribe": ends}


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
    result = {"nothing": nothing(), "execute": during(lambda: acl.mdl.execute(model_id, inputs, outputs))}
    ok(acl.mdl.execute_async(model_id, inputs, outputs, stream))
    result["synchronize_stream"] = during(lambda: acl.rt.synchronize_stream(stream))
    ok(acl.prof.start(config))
    ok(acl.mdl.execute_async(model_id, inputs, outputs, stream))
    result["stop"] = during(lambda: acl.prof.stop(config))
    # Both wait for seconds while another thread is in a Stop.
    result["set_config"] = tried(lambda: acl.prof.set_config(acl.prof.ACL_PROF_SYS_IO_FREQ, "15"), lambda: 0)
    result["create_config"] = tried(lambda: acl.prof.destroy_config(acl.prof.create_config([0], 1, 0, 0x7)), lambda: 0)
    ok(acl.prof.finalize())
    init, finalize = lambda: acl.prof.init(output), acl.prof.finalize
    result["init"] = tried(init, finalize)
    result["start"] = tried(lambda: acl.prof.start(config), lambda: acl.prof.stop(config))
    result["finalize"] = tried(finalize, lambda: init() or acl.prof.start(config))
    result.update(subscription(model_id))
    done = True
    thread.join()
    ok(acl.finalize())
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
