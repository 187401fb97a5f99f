# SPDX-License-Identifier: Apache-2.0
"""The machines the lab boots.

`boots`: groups of suites; each group is one boot. `limit`: seconds for one boot, several times what it takes on two
quiet cores. `patience`: factor on the time a suite may take by the guest's own clock. Timer ticks slip under thread=multi, so rates and losses are asserted only under icount, where time
counts instructions; there one CPU is all that works, and time races ahead while the guest is idle.
"""

MULTI = ["-accel", "tcg,thread=multi", "-smp", "2"]
ICOUNT = ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-smp", "1"]

CONFIGS = {
    "debian": {
        "about": "Debian's kernel, two CPUs",
        "kernel": "debian", "accel": MULTI, "limit": 240,
        "boots": [["load", "conformance"], ["observe"], ["demo"]],
    },
    "npu": {
        "about": "the NPU itself, one of them in a hot-plug slot, without the module",
        "kernel": "debian", "accel": MULTI, "limit": 240, "devices": 1,
        # The slot tells the kernel itself, as real ones do; otherwise ACPI would, and of agreed removals only.
        "qemu": ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
                 "-device", "pcie-root-port,id=slot1,chassis=1,slot=1", "-device", "refnpu,index=1,id=npu1,bus=slot1"],
        "boots": [["port", "device"]],
    },
    "cpus": {
        "about": "perf, with CPUs that come and go, the first one too",
        "kernel": "debian", "accel": MULTI, "limit": 240,
        # Linux lets only Intel's first CPU go.
        "machine": ["-M", "q35", "-cpu", "qemu64,vendor=GenuineIntel"], "append": ["cpu0_hotplug"],
        "boots": [["perf"]],
    },
    "icount": {
        "about": "one CPU whose time counts instructions: rates and losses",
        "kernel": "debian", "accel": ICOUNT, "limit": 240, "patience": 20,
        "boots": [["load", "conformance"]],
    },
    "swiotlb": {
        "about": "all DMA through bounce buffers: a missing sync loses data",
        "kernel": "debian", "accel": MULTI, "limit": 240,
        "append": ["swiotlb=force"],
        "boots": [["load", "conformance"]],
    },
    "iommu": {
        "about": "an emulated Intel IOMMU: a missing or wrong mapping faults",
        "kernel": "debian", "accel": MULTI, "limit": 240,
        "machine": ["-M", "q35,kernel-irqchip=off", "-cpu", "qemu64", "-device", "intel-iommu,intremap=on"],
        "append": ["intel_iommu=on", "iommu.strict=1"],
        "boots": [["load", "conformance"]],
    },
    "pm": {
        "about": "suspend and resume of devices (pm_test=devices)",
        "kernel": "debian", "accel": MULTI, "limit": 240,
        "boots": [["load", "conformance"]],
    },
    "debug": {
        "about": "a kernel with KASAN, lockdep, kmemleak, UBSAN, DMA-API debugging",
        "kernel": "debug", "accel": MULTI, "limit": 900, "memory": 640, "patience": 8,
        "boots": [["load", "kunit", "conformance"], ["observe", "perf"]],
    },
}

# `debug` is reported as skipped, with the reason, where there is no such kernel.
DEFAULT = ["npu", "debian", "cpus", "icount", "swiotlb", "iommu", "pm", "debug"]

# Builds without a boot.
BUILDS = {
    "rt": {"about": "the module against Debian's PREEMPT_RT headers", "kernel": "rt"},
    "backport": {"about": "the module against the headers of Debian's backported kernel", "kernel": "backport"},
}
