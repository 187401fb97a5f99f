# SPDX-License-Identifier: Apache-2.0
"""Collectives among device threads: what each rank did on which plane, and whom it waited for."""
import glob
import json
import os
import struct
import subprocess
from collections import Counter, defaultdict, namedtuple
from decimal import Decimal

from harness import ACL_API, BUILD, HCCL, NPUPROF, RUNTIME_API, TASK_TIME, ClientTest, environment, rows

COMMUNICATION = 5500
TICKS_PER_MS = 50_000
MS_PER_TICK = 1 / TICKS_PER_MS
ON_CHIP, HCCS = 0, 1
SDMA, LOCAL = 0, 2
COMMUNICATION_LAYER, OVERLAP_LAYER = 16, 31  # of the timeline
RING, MESH = "level0:ring", "level0:fullmesh"

Task = namedtuple("Task", "name rank remote plane notify size link transport ticks")


def nanoseconds(us):
    """Of a number, or of a text, which may be of more digits than a number has."""
    return int(Decimal(us.strip() if isinstance(us, str) else repr(us)) * 1000)


class Communication:
    """Tasks of the collectives of a directory, and algorithm, elements and device of each collective."""

    def __init__(self, path):
        self.path = path
        names = dict(line.split(":", 1) for line in self.host("unaging.additional.hash_dic").decode().splitlines())
        spans = {r: self.spans(r) for r in range(8) if os.path.isdir(os.path.join(path, f"device_{r}"))}
        tracks = [(thread, time, device & 0xFFF, stream, task) for _, _, _, thread, _, time, device, stream, task, *_ in
                  struct.iter_unpack("<HHIIIQHHHH32x", self.host("aging.compact.task_track"))]
        infos = [(thread, time, names[str(item)], *rest)
                 for _, _, _, thread, _, time, item, *rest in
                 struct.iter_unpack("<HHIIIQQ16xII8xI4xQ32xQ8xII120x", self.host("aging.additional.hccl_info"))]
        self.algorithms = {names[str(algorithm)] for *_, algorithm, _ in
                           struct.iter_unpack("<HHIIIQ2xQQ22x", self.host("aging.compact.hccl_op_info"))}
        self.tasks = []
        for _, level, _, thread, _, begin, end, _ in struct.iter_unpack("<HHIIIQQQ", self.host("aging.api_event.data")):
            if level != COMMUNICATION:
                continue
            # The call of one task of a collective holds that task's track and its description.
            (info,) = [i for i in infos if i[0] == thread and begin < i[1] <= end]
            (track,) = [t for t in tracks if t[0] == thread and begin <= t[1] <= end]
            self.tasks.append(Task(*info[2:], spans[track[2]][track[3:]]))

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

    def collective(self, name, ranks, late, delay, *more, types=ACL_API | TASK_TIME | HCCL, algorithm=RING):
        done = self.run_client("collective", self.fresh(name), f"ranks={ranks}", f"late={late}", f"delay={delay}",
                               f"types={types:#x}", *more, NPUSIM_DEVICES=ranks, HCCL_ALGO=algorithm)
        self.assertTrue(json.loads(done.stdout)["right"], "values that the ranks got")
        profile = self.profile_in(os.path.join(self.dir, name))
        counts = self.assert_readable(profile)
        self.assertEqual(0, profile.lost())
        return profile, counts

    def test_all_ranks_wait_for_the_late_one(self):
        """In a mesh each rank waits for the late one itself; in a ring for the neighbour that is nearer to it, the same way
        round, and on either plane."""
        for algorithm, ranks, late in ((MESH, 2, 1), (MESH, 4, 2), (RING, 2, 1), (RING, 3, 0), (RING, 4, 2), (RING, 5, 1)):
            with self.subTest(algorithm=algorithm, ranks=ranks, late=late):
                delay = 1000  # longer than a busy machine keeps a rank's thread from launching
                profile, counts = self.collective(f"{algorithm[7:]}{ranks}", ranks, late, delay, algorithm=algorithm)
                tasks = Communication(profile.path).tasks
                self.assertEqual(counts["host"]["hccl_info"], len(tasks))
                waits = [(t.rank, t.remote) for t in tasks
                         if t.name == "Notify_Wait" and t.rank != t.remote and t.ticks > delay * TICKS_PER_MS / 2]
                expected = []
                for rank in set(range(ranks)) - {late}:
                    if algorithm == MESH:
                        expected.append((rank, late))
                        continue
                    for way in (1, -1)[:1 if ranks == 2 else 2]:
                        behind, ahead = (rank - late) * way % ranks, (late - rank) * way % ranks
                        expected.append((rank, (rank - way if behind <= ahead else rank + way) % ranks))
                self.assertEqual(sorted(expected), sorted(waits))

    def test_planes_and_operators(self):
        profile, counts = self.collective("planes", 4, 0, 0, algorithm=MESH)
        found = Communication(profile.path)
        self.assertEqual({"MESH"}, found.algorithms)
        self.assertEqual(4 * 4, counts["host"]["hccl_op_info"])
        for rank in range(4):
            mine = [t for t in found.tasks if t.rank == rank]
            self.assertEqual({0, 1, 2}, {t.plane for t in mine})
            # The all-reduce adds up the part of each peer once, and so does the reduce-scatter.
            self.assertEqual({peer: 2 for peer in range(4) if peer != rank},
                             dict(Counter(t.remote for t in mine if t.name == "Reduce_Inline")))
        table = rows(profile.export()["output"], "communication_statistic")
        self.assertEqual({str(rank): 4 for rank in range(4)},
                         {device: sum(int(r["Count"]) for r in table if r["Device_id"] == device)
                          for device in {r["Device_id"] for r in table}})
        for device in {r["Device_id"] for r in table}:
            self.assertAlmostEqual(100, sum(float(r["Ratio(%)"]) for r in table if r["Device_id"] == device), delta=0.01)

    def test_rows_and_layers_of_collectives(self):
        """op_summary has a row for each collective of each rank, the timeline its slice with a plane's tasks inside it, and the
        layer of overlap as much communication as insight."""
        ranks = 3
        profile, counts = self.collective("layers", ranks, 0, 0)
        done = profile.export("--format", "csv,json")
        summary = [r for r in rows(done["output"], "op_summary") if r["Task Type"] == "COMMUNICATION"]
        self.assertEqual({str(rank): 4 for rank in range(ranks)}, dict(Counter(r["Device_id"] for r in summary)))
        (path,) = glob.glob(os.path.join(done["output"], "**", "msprof_2*.json"), recursive=True)
        with open(path, encoding="utf-8") as f:
            events = json.load(f)
        def of(layer):
            return [e for e in events if e["pid"] >> 5 & 31 == layer]
        threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in of(COMMUNICATION_LAYER) if e["name"] == "thread_name"}
        slices = [e for e in of(COMMUNICATION_LAYER) if e["ph"] == "X"]
        whole = [e for e in slices if threads[e["pid"], e["tid"]].startswith("Group ")]
        tasks = [e for e in slices if threads[e["pid"], e["tid"]].startswith("Plane ")]
        self.assertEqual(sorted((r["Op Name"], r["Device_id"], nanoseconds(r["Task Start Time(us)"]),
                                 nanoseconds(r["Task Duration(us)"])) for r in summary),
                         sorted((e["name"], str(e["pid"] & 31), nanoseconds(e["ts"]), nanoseconds(e["dur"])) for e in whole))
        self.assertEqual(counts["host"]["hccl_info"], len(tasks))
        self.assertEqual(Counter((t.rank, t.name, t.plane) for t in Communication(profile.path).tasks),
                         Counter((e["args"]["src rank"], e["name"], int(threads[e["pid"], e["tid"]].split()[1])) for e in tasks))
        for device in range(ranks):
            mine = [e for e in whole if e["pid"] & 31 == device]
            for task in (e for e in tasks if e["pid"] & 31 == device):
                self.assertTrue(any(nanoseconds(c["ts"]) <= nanoseconds(task["ts"]) and
                                    nanoseconds(task["ts"]) + nanoseconds(task["dur"]) <= nanoseconds(c["ts"]) + nanoseconds(c["dur"])
                                    for c in mine), task)
        ends = {e["id"] for e in of(COMMUNICATION_LAYER) if e["ph"] == "f"}
        self.assertEqual(len(whole), len(ends), "a flow from the host to each collective")
        self.assertEqual(ends, ends & {e["id"] for e in events if e["ph"] == "s"})
        told = subprocess.run([NPUPROF, "report", profile.path, "--json"], capture_output=True, check=True, env=environment())
        for device in json.loads(told.stdout)["devices"]:
            overlap = device["overlap"]
            sums = Counter()
            for e in of(OVERLAP_LAYER):
                if e["ph"] == "X" and e["pid"] & 31 == device["device"]:
                    sums[e["name"]] += nanoseconds(e["dur"])
            self.assertEqual((overlap["communication_ns"], overlap["exposed_ns"], overlap["free_ns"]),
                             (sums["Communication"], sums["Communication(Not Overlapped)"], sums["Free"]))

    def test_steps_of_rings(self):
        ranks, steps = 4, 3
        profile, counts = self.collective("steps", ranks, 0, 0)
        found = Communication(profile.path)
        self.assertEqual({"RING"}, found.algorithms)
        self.assertEqual(4 * ranks, counts["host"]["hccl_op_info"])
        for rank in range(ranks):
            mine = [t for t in found.tasks if t.rank == rank]
            self.assertEqual({0, 1}, {t.plane for t in mine})
            for plane, behind, ahead in ((0, (rank - 1) % ranks, (rank + 1) % ranks), (1, (rank + 1) % ranks, (rank - 1) % ranks)):
                there = [t for t in mine if t.plane == plane and t.remote != rank]
                self.assertEqual({HCCS}, {t.link for t in there})
                self.assertEqual({SDMA}, {t.transport for t in there})
                # Reduce-scatters of the all-reduce and by itself; gathers of the all-reduce and by itself, one broadcast.
                self.assertEqual({behind: 2 * steps}, dict(Counter(t.remote for t in there if t.name == "Reduce_Inline")))
                reads = {behind: 2 * steps + (rank != 0)}
                self.assertEqual(reads, dict(Counter(t.remote for t in there if t.name == "Memcpy")))
                self.assertEqual({behind, ahead}, {t.remote for t in there if t.name == "Notify_Wait"})
                self.assertTrue(all(t.size > 0 for t in there if t.name in ("Memcpy", "Reduce_Inline")))
                self.assertTrue(all(t.size == 0 for t in there if t.name.startswith("Notify")))
            local = [t for t in mine if t.remote == rank]
            self.assertEqual({("Memcpy", ON_CHIP, SDMA), ("Notify_Record", ON_CHIP, LOCAL), ("Notify_Wait", ON_CHIP, LOCAL)},
                             {(t.name, t.link, t.transport) for t in local})

    def test_every_byte_over_the_links_is_told(self):
        """The sizes of tasks, the links' own counters and the tables of the analysis tell the same bytes."""
        ranks, count = 4, 100_003
        for algorithm in (RING, MESH):
            with self.subTest(algorithm=algorithm):
                profile, counts = self.collective("bytes" + algorithm[7:], ranks, 0, 0, f"count={count}", "links=50",
                                                  algorithm=algorithm)
                tasks = Communication(profile.path).tasks
                between, times = defaultdict(int), defaultdict(float)
                for t in tasks:
                    if t.name in ("Memcpy", "Reduce_Inline"):
                        between[t.rank, t.remote] += t.size
                        times[t.rank, t.remote] += t.ticks * MS_PER_TICK
                over = {rank: sum(size for (local, remote), size in between.items() if rank == local != remote)
                        for rank in range(ranks)}
                # All-reduce: each rank's chunks are added at three others and fetched by three. Then gather, scatter, broadcast.
                buffer = 4 * count
                self.assertEqual((2 + ranks + ranks + 1) * (ranks - 1) * buffer, sum(over.values()))
                for rank in range(ranks):
                    self.assertEqual(over[rank], counts["devices"][str(rank)]["totals"]["link_received"])
                profile.export()
                subprocess.run([os.path.join(BUILD, "bin", "msprof"), "--analyze=on", f"--output={profile.path}"], check=True,
                               capture_output=True, env=environment(), timeout=120)
                with open(os.path.join(profile.path, "analyze", "communication_matrix.json"), encoding="utf-8") as f:
                    told = json.load(f)
                total = told[next(key for key in told if key.startswith("Total"))]
                self.assertEqual({f"{a}-{b}" for a, b in between}, set(total))
                for (a, b), size in between.items():
                    pair = total[f"{a}-{b}"]
                    self.assertEqual("LOCAL" if a == b else "HCCS", pair["Transport Type"])
                    self.assertAlmostEqual(size / 1e6, pair["Transit Size(MB)"], places=6)
                    self.assertAlmostEqual(times[a, b], pair["Transit Time(ms)"], delta=1e-3)
                    self.assertAlmostEqual(pair["Transit Size(MB)"] / pair["Transit Time(ms)"], pair["Bandwidth(GB/s)"], places=3)

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
