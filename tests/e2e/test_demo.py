# SPDX-License-Identifier: Apache-2.0
"""The demonstration runs to its end, says what it should, and leaves readable directories."""
import os
import re
import subprocess
from xml.etree import ElementTree

from harness import BUILD, SOURCE, ClientTest, environment, rows

RUN = os.path.join(SOURCE, "tests", "clients", "demo", "run.sh")


class Demo(ClientTest):
    serial = True
    timeout = 300

    def run_demo(self, output):
        return subprocess.run([RUN, BUILD, output], capture_output=True, text=True, env=environment(), timeout=280,
                              check=False)

    def test_demonstration(self):
        output = os.path.join(self.dir, "out")
        done = self.run_demo(output)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        lines = done.stdout.strip().splitlines()
        self.assertIn("simulated", lines[0])
        self.assertEqual(lines[0], lines[-1])
        sums = [line for line in lines if line.startswith("kernels: launched")]
        self.assertEqual(2, len(sums))
        for line in sums:
            self.assertRegex(line, r"^kernels: launched (\d+) = started \1 = ended \1 = PMU rows \1 = exported \1, lost 0$")
        self.assertRegex(done.stdout, r"(?m)^operators: C\+\+ (3680 of \d+ kinds) = Python \1$")
        self.assertRegex(done.stdout, r"(?m)^tasks: C\+\+ (\d+) = Python \1$")
        self.assertRegex(done.stdout, r"(?m)^one lock in steps 8 to 10: .* other steps$")
        self.assertRegex(done.stdout, r"(?m)^fresh memory in steps 14 to 16: \d+ of \d+ sampled page faults$")
        picture = os.path.join(output, "cpp", "timeline.svg")
        self.assertIn(f"picture    {picture}", lines)
        self.assertEqual("{http://www.w3.org/2000/svg}svg", ElementTree.parse(picture).getroot().tag)
        self.assertRegex(done.stdout, r"kept \d+ \+ lost \d+ \(no_credit \d+\) = model total \d+")

        for name in ("cpp", "python"):
            profile = self.profile_in(os.path.join(output, name))
            self.assert_readable(profile)
            # Twenty steps of the network on each of two devices.
            operators = rows(os.path.join(output, name, "tables"), "op_summary")
            convolutions = [r for r in operators if r["OP Type"] == "Conv2D"]
            self.assertEqual(53 * 20 * 2, len(convolutions))
        # Images decoded on two threads, host samples, collectives: all of it is in the C++ run.
        counts = self.profile_in(os.path.join(output, "cpp")).validate().counts["host"]
        self.assertEqual(40, counts["hccl_op_info"])
        self.assertGreater(counts["host_cpu.data"], 2)
        self.assertGreater(counts["host_mem.data"], 2)
        steps = [line for line in lines if re.match(r" +\d+ +[\d.]+ +[\d.]+ ", line)]
        self.assertEqual(20, len(steps))
        self.assertEqual((3, 3), tuple(sum(line.endswith(mark) for line in steps) for mark in ("one lock", "fresh memory")))

    def test_output_of_somebody_else_is_left_alone(self):
        with open(os.path.join(self.dir, "precious"), "w", encoding="utf-8") as f:
            f.write("mine")
        done = self.run_demo(self.dir)
        self.assertEqual(2, done.returncode)
        self.assertEqual(["precious"], os.listdir(self.dir))
