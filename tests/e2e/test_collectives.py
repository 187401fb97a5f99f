# SPDX-License-Identifier: Apache-2.0
"""Collectives among device threads: what each rank did on which plane, and whom it waited for."""
import json
import os
import struct
from collections import Counter

from harness import ACL_API, HCCL, RUNTIME_API, TASK_TIME, ClientTest, rows

COMMUNICATION = 5500
TICKS_PER_MS = 50_000


class Communication:
    """Tasks of the collectives of a directory: (name, rank, remote rank, plane, ticks)."""

    def __init__(self, path):
        self.path = path
        names = dict(line.split(":", 1) for line in self.host("unaging.additional.hash_dic").decode().splitlines())
        spans = {r: self.spans(r) for r in range(8) if os.path.isdir(os.path.join(path, f"device_{r}"))}
        tracks = [(thread, time, device & 0xFFF, stream, task) for _, _, _, thread, _, time, device, stream, task, *_ in
                  struct.iter_unpack("<HHIIIQHHHH32x", self.host("aging.compact.task_track"))]
        infos = [(thread, time, names[str(item)], local, remote, plane)
                 for _, _, _, thread, _, time, item, local, remote, plane in
                 struct.iter_unpack("<HHIIIQQ16xII8xI188x", self.host("aging.additional.hccl_info"))]
        self.tasks = []
        for _, level, _, thread, _, begin, end, _ in struct.iter_unpack("<HHIIIQQQ", self.host("aging.api_event.data")):
            if level != COMMUNICATION:
                continue
            # The call of one task of a collective holds that task's track and its description.
            (info,) = [i for i in infos if i[0] == thread and begin < i[1] <= end]
            (track,) = [t for t in tracks if t[0] == thread and begin <= t[1] <= end]
            self.tasks.append((*info[2:], spans[track[2]][track[3:]]))

    def host(self, name):
        with open(os.path.join(self.path, "host", "data", name + ".slice_0"), "rb") as f:
            return f.read()

    def spans(self, device):
        open_, done = {}, {}
        with open(os.path.join(self.path, f"device_{device}", "data", f"stars_soc.data.{device}.slice_0"), "rb") as f:
            for head, _, stream, task, clock in struct.iter_unpack("<HHHHQ48x", f.read()):
                if head & 63 == 0:
                    open_[stream, task] = clock
                else:
                    done[stream, task] = clock - open_[stream, task]
        return done


class Collectives(ClientTest):
    serial = True

    def collective(self, name, ranks, late, delay, *more, types=ACL_API | TASK_TIME | HCCL):
        done = self.run_client("collective", self.fresh(name), f"ranks={ranks}", f"late={late}", f"delay={delay}",
                               f"types={types:#x}", *more, NPUSIM_DEVICES=ranks)
        self.assertTrue(json.loads(done.stdout)["right"], "sums of the all-reduce")
        profile = self.profile_in(os.path.join(self.dir, name))
        counts = self.assert_readable(profile)
        self.assertEqual(0, profile.lost())
        return profile, counts

    def test_all_ranks_wait_for_the_late_one(self):
        for ranks, late in ((2, 1), (3, 0), (4, 2)):
            with self.subTest(ranks=ranks, late=late):
                delay = 1000  # longer than a busy machine keeps a rank's thread from launching
                profile, counts = self.collective(f"r{ranks}", ranks, late, delay)
                tasks = Communication(profile.path).tasks
                self.assertEqual(counts["host"]["hccl_info"], len(tasks))
                waits = [(rank, remote) for name, rank, remote, _, ticks in tasks
                         if name == "Notify_Wait" and rank != remote and ticks > delay * TICKS_PER_MS / 2]
                self.assertEqual(sorted((rank, late) for rank in range(ranks) if rank != late), sorted(waits))

    def test_planes_and_operators(self):
        profile, counts = self.collective("planes", 4, 0, 0)
        tasks = Communication(profile.path).tasks
        self.assertEqual(4 * 4, counts["host"]["hccl_op_info"])
        for rank in range(4):
            mine = [t for t in tasks if t[1] == rank]
            self.assertEqual({0, 1, 2}, {plane for *_, plane, _ in mine})
            # The all-reduce adds up the part of each peer once, and so does the reduce-scatter.
            self.assertEqual({peer: 2 for peer in range(4) if peer != rank},
                             dict(Counter(remote for name, _, remote, _, _ in mine if name == "Reduce_Inline")))
        table = rows(profile.export()["output"], "communication_statistic")
        self.assertEqual({str(rank): 4 for rank in range(4)},
                         {device: sum(int(r["Count"]) for r in table if r["Device_id"] == device)
                          for device in {r["Device_id"] for r in table}})
        for device in {r["Device_id"] for r in table}:
            self.assertAlmostEqual(100, sum(float(r["Ratio(%)"]) for r in table if r["Device_id"] == device), delta=0.01)

    def test_without_their_data_type_nothing_is_told_of_them(self):
        _, counts = self.collective("off", 2, 0, 0, types=ACL_API | RUNTIME_API)
        self.assertNotIn("hccl_info", counts["host"])
        self.assertNotIn("hccl_op_info", counts["host"])

    def test_memory_of_the_collectives_is_told_as_theirs(self):
        profile, counts = self.collective("memory", 2, 0, 0, "memory=100")
        program, collectives, mib = 33, 3, 1 << 20
        for rank in range(2):
            totals = counts["devices"][str(rank)]["totals"]
            # A communicator has a place of 32 MiB for what comes in and one for what goes out, from before the window.
            self.assertEqual((64 * mib, 64 * mib), (totals[f"module_{collectives}.last"], totals[f"module_{collectives}.most"]))
            self.assertEqual(0, totals[f"module_{program}.last"], "the buffers of the program are freed")
        table = rows(profile.export()["output"], "npu_module_mem")
        told = {(r["Device_id"], r["Total Reserved(KB)"]) for r in table if r["Component"] == "HCCL"}
        self.assertEqual({("0", "65536"), ("1", "65536")}, told)
