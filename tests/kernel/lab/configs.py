# SPDX-License-Identifier: Apache-2.0
"""The machines the lab boots.

`boots`: groups of suites; each group is one boot, on a machine of its own where it is an On(). `side_by_side`: boots at a
time. `offline`: without the host's files (offline.py). `limit`: seconds for one boot, many times what it takes on two quiet cores. `patience`: factor on the time a suite may
take by the guest's own clock, and on bounds of time in selftests. `effort`: percentage of the usual rounds of what is done
very often; `efforts`: that of single suites. `stretch`: how many times as slowly things happen in simulated time. `options`:
of the module's makefile. `modules`: of the kernel's, loaded at boot. `left_out`: suites that no configuration with this kernel
runs, and why; reports show them as skipped. `table`: the conformance suite also runs on the host's
simulated device, and build/lab/conformance.txt shows both.

Timer ticks slip under thread=multi, so rates and losses are asserted only under icount, where time counts instructions;
there one CPU is all that works, and time races ahead while the guest is idle.
"""


class On(list):
    """A group of suites whose boot differs from the others of its configuration in `machine`."""

    def __init__(self, suites, **machine):
        super().__init__(suites)
        self.machine = machine

    @classmethod
    def some(cls, group, wanted):
        """Those suites of a group that wanted() wants, on the group's machine."""
        return cls([name for name in group if wanted(name)], **getattr(group, "machine", {}))


MULTI = ["-accel", "tcg,thread=multi", "-smp", "2"]
SINGLE = ["-accel", "tcg,thread=multi", "-smp", "1"]
# Two CPUs that take turns, where tracepoints and perf have the kernel change its code while it runs: QEMU before 8.1 may go on
# with the old code, and the breakpoint in it, on one CPU that is just met with it while the other writes.
TURNS = ["-accel", "tcg,thread=single", "-smp", "2"]
ICOUNT = ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-smp", "1"]

# What takes a slow kernel half a minute when it boots and is used by nothing here: ACPI's table of interrupts (all come as
# messages), and terminals of the old kind. Without ACPI altogether it would have no clock to measure the CPU's by.
QUICK_BOOT = ["acpi=noirq", "pty.legacy_count=0"]
# How many seconds a test of suspending stays there.
QUICK_SUSPEND = "suspend.pm_test_delay=1"
QUICK_ACPI = ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]

# An NPU below a root port, and what makes errors of the bus up.
AER = {"devices": 1, "modules": ["aer_inject"],
       "qemu": ["-device", "pcie-root-port,id=port1,chassis=1,slot=1,hotplug=off,x-speed=2_5",
                "-device", "refnpu,index=1,id=npu1,bus=port1,addr=0.0,multifunction=on",
                "-device", "refnpu,index=2,id=npu2,bus=port1,addr=0.1"]}

# What needs no particular machine. Each group is a boot of its own.
FULL = [
    ["load", "conformance", "rules", "gates"],
    ["load", "life", "storms", "random"],
    ["load", "removal", "power", "faults"],
]

# What maps memory for the device, and takes the mappings away again: in order, half way, in mid-run. That it holds ten thousand
# times is seen elsewhere.
DMA = ["load", "conformance", "rules", "life", "removal", "storms", "demo"]
DMA_EFFORTS = {"removal": 40, "storms": 10, "demo": 25}

# What is about the NPU itself, whatever kernel looks at it.
ON_DEBIAN = dict.fromkeys(("device", "port"), "is about the NPU without the module; npu runs it on Debian's kernel")

CONFIGS = {
    "debian": {
        "about": "Debian's kernel, two CPUs",
        "kernel": "debian", "accel": MULTI, "limit": 900, "table": True,
        "boots": FULL + [On(["observe", "udev"], accel=TURNS), ["demo", "record"]],
        "left_out": {
            "kunit": "this kernel has no CONFIG_KUNIT; the debug kernel and the one for arm64 run it",
            "hotplug": "is part of perf, which cpus runs with this kernel",
        },
    },
    "npu": {
        "about": "the NPU itself, one of them in a hot-plug slot, without the module and with it",
        "kernel": "debian", "accel": MULTI, "limit": 900, "devices": 1,
        # The slot tells the kernel itself, as real ones do; otherwise ACPI would, and of agreed removals only.
        "qemu": [*QUICK_ACPI, "-device", "pcie-root-port,id=slot1,chassis=1,slot=1", "-device", "refnpu,index=1,id=npu1,bus=slot1"],
        "boots": [["port", "device"], ["unplug"]],
    },
    "cpus": {
        "about": "perf, with CPUs that come and go, the first one too",
        "kernel": "debian", "accel": TURNS, "limit": 900,
        # Linux lets only Intel's first CPU go.
        "machine": ["-M", "q35", "-cpu", "qemu64,vendor=GenuineIntel"], "append": ["cpu0_hotplug", "iomem=relaxed"],
        "boots": [["perf"]],
    },
    "noperf": {
        "about": "the module without its perf PMU, as in a kernel that has no perf",
        "kernel": "debian", "accel": TURNS, "limit": 900, "options": ["NPUPROF_PERF=n"],
        "boots": [["observe"]],
    },
    "aer": {
        "about": "two NPUs below a root port, errors on the bus",
        "kernel": "debian", "accel": TURNS, "limit": 900, **AER,
        "boots": [["aer"]],
    },
    "icount": {
        "about": "one CPU whose time counts instructions: rates and losses",
        "kernel": "debian", "accel": ICOUNT, "limit": 900, "patience": 20,
        "boots": [["load", "rates"]],
    },
    "swiotlb": {
        "about": "all DMA through bounce buffers: a missing sync loses data",
        "kernel": "debian", "accel": MULTI, "limit": 1500,
        "append": ["swiotlb=force"], "efforts": DMA_EFFORTS,
        "boots": [DMA],
    },
    "iommu": {
        "about": "an emulated Intel IOMMU: a missing or wrong mapping faults",
        "kernel": "debian", "accel": MULTI, "limit": 1500,
        "machine": ["-M", "q35,kernel-irqchip=off", "-cpu", "qemu64", "-device", "intel-iommu,intremap=on"],
        "append": ["intel_iommu=on", "iommu.strict=1"], "efforts": DMA_EFFORTS,
        "boots": [DMA],
    },
    "pm": {
        "about": "suspend and resume of devices (pm_test=devices)",
        "kernel": "debian", "accel": MULTI, "limit": 900,
        "append": [QUICK_SUSPEND], "boots": [["suspend"]],
    },
    "arm64": {
        "about": "Debian's arm64 kernel and libraries, programs and module cross-built",
        "kernel": "arm64", "accel": MULTI, "limit": 900, "effort": 25, "append": ["iomem=relaxed"], "side_by_side": 2,
        "boots": [["load", "kunit", "conformance", "rules", "gates", "record", "udev"],
                  ["load", "life", "storms", "random", "faults", "removal", "power"],
                  On(["load", "observe", "demo", "aer", "perf"], **AER),
                  On(["suspend"], append=[QUICK_SUSPEND]),
                  On(["load", "rates"], accel=ICOUNT, patience=20)],
        "left_out": {
            **ON_DEBIAN,
            "hotplug": "CPUs come and go on the kernels for x86",
            "unplug": "the machine has no hot-plug slot here; the way through the module is that of removal",
        },
    },
    "debug": {
        "about": "a kernel with KASAN, lockdep, kmemleak, UBSAN, DMA-API debugging",
        "kernel": "debug", "accel": MULTI, "limit": 2400, "memory": 640, "patience": 8, "effort": 5,
        "options": ["NPUPROF_KUNIT=y"], "unlocked_console": True,
        # A second CPU of this kernel is no help: its ticks, a thousand a second, take most of one here, and all CPUs spin for
        # locks that another holds. So one CPU but for what races.
        # Late: faults switch the DMA-API's debugging off, perf leaves no module. Leaks are looked for where processes,
        # devices and memory go away at bad moments; a look takes most of a minute.
        "side_by_side": 2, "efforts": {"storms": 1}, "append": QUICK_BOOT, "qemu": QUICK_ACPI,
        "boots": [["load", "life", "storms", "random", "removal", "hotplug"],
                  On(["load", "kunit", "conformance", "rules", "observe", "udev", "demo", "aer", "perf"],
                     **{**AER, "qemu": QUICK_ACPI + AER["qemu"]}, accel=SINGLE, append=[*QUICK_BOOT, "kmemleak=off"]),
                  On(["gates", "power", "suspend", "faults"], accel=SINGLE, offline=True,
                     append=[*QUICK_BOOT, QUICK_SUSPEND]),
                  On(["load", "rates"], accel=ICOUNT, patience=20, stretch=8,
                     append=[*QUICK_BOOT, "kmemleak=off"])],
        "left_out": {
            **ON_DEBIAN,
            "record": "its programs take minutes each on this kernel; demo goes the same way through the module",
            "unplug": "this kernel's own driver of hot-plug ports takes two locks in both orders, and lockdep ends after its report",
        },
    },
}

# `debug` is reported as skipped, with the reason, where there is no such kernel.
DEFAULT = ["npu", "debian", "cpus", "noperf", "aer", "icount", "swiotlb", "iommu", "pm", "arm64", "debug"]

# Builds without a boot.
BUILDS = {
    "rt": {"about": "the module against Debian's PREEMPT_RT headers", "kernel": "rt"},
    "backport": {"about": "the module against the headers of Debian's backported kernel", "kernel": "backport"},
}
