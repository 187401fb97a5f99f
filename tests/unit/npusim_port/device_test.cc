// SPDX-License-Identifier: Apache-2.0
// Power, removal, faults, interrupts and memory writes of one NPU.
#include "machine.h"

namespace port_test {
namespace {

TEST(PortDevice, RegistersSeeTheTimeOfTheAccess) {
  Machine machine;
  Npu& npu = *machine.npus[0];
  EXPECT_EQ(npu.R32(REFNPU_ID), REFNPU_ID_VALUE);
  machine.now = 2'001'000;  // 2 ms after power-on
  EXPECT_EQ(npu.R64(REFNPU_CLOCK), 100'000u);
  machine.now = 4'001'000;
  EXPECT_EQ(npu.R64(REFNPU_CLOCK), 200'000u);
}

TEST(PortDevice, WritesRecordsAndThenTheirNumber) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoMemory(64);
  for (uint16_t i = 0; i < 5; ++i) machine.Submit(0, Cube(i), 0);
  machine.Until(1'000'000);
  EXPECT_EQ(npu.Head(), 10u);
  npuprof_rec_task_log last;
  std::memcpy(&last, npu.memory.data() + Npu::kRecords + 9 * sizeof last, sizeof last);
  EXPECT_EQ(last.task_id, 4u);
  EXPECT_EQ(machine.Stats(0).dma_blocked, 0u);
}

TEST(PortDevice, WritesThatDoNotReachMemoryAreCounted) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoMemory(64);
  npu.mastering = false;
  machine.Submit(0, Cube(1), 0);
  machine.Until(1'000'000);
  const npusim_port_stats stats = machine.Stats(0);
  EXPECT_EQ(npu.Head(), 0u);
  EXPECT_EQ(stats.dma_writes, 0u);
  EXPECT_GE(stats.dma_blocked, 2u);
  EXPECT_EQ(npu.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 2u);  // the device does not know
}

TEST(PortDevice, AsleepItLosesRegistersButNotTasks) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoFifo();
  machine.Submit(0, Cube(1, 1'800'000, 9), NPUSIM_PORT_TELL_END);
  machine.Until(100'000);
  const int before = npu.irqs[0];
  EXPECT_EQ(before, 1);
  port_device_sleep(npu.device, true);
  EXPECT_EQ(npu.R32(REFNPU_ID), UINT32_MAX);
  EXPECT_EQ(npu.R64(REFNPU_CLOCK), UINT64_MAX);
  npu.W32(REFNPU_TRACE_ENABLE, REFNPU_TRACE_LOG);
  machine.Until(10'000'000);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, 9u);
  port_device_sleep(npu.device, false);
  EXPECT_EQ(npu.irqs[0], before);
  EXPECT_EQ(npu.R32(REFNPU_ID), REFNPU_ID_VALUE);
  EXPECT_EQ(npu.R32(REFNPU_TRACE_ENABLE), 0u);
  EXPECT_EQ(npu.R32(REFNPU_TRACE_WINDOW), 0u);
  EXPECT_EQ(npu.R32(REFNPU_INT_ENABLE), 0u);
  EXPECT_EQ(npu.R32(REFNPU_FIFO(REFNPU_FIFO_LOG, REFNPU_FIFO_COUNT)), 0u);
  EXPECT_EQ(npu.R32(REFNPU_EPOCH), 0u);
  EXPECT_EQ(npu.R64(REFNPU_CLOCK), (machine.now - 1000) / 20);
  EXPECT_EQ(machine.Stats(0).sleeps, 1u);
}

TEST(PortDevice, AsleepItWritesNothing) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoMemory(64);
  machine.Submit(0, Cube(1, 1'800'000), 0);
  machine.Until(100'000);
  EXPECT_EQ(npu.Head(), 1u);
  port_device_sleep(npu.device, true);
  machine.Until(10'000'000);
  port_device_sleep(npu.device, false);
  EXPECT_EQ(npu.Head(), 1u);
  EXPECT_EQ(npu.R64(REFNPU_QUEUE(0, REFNPU_QUEUE_PRODUCER)), 0u);
}

TEST(PortDevice, SurpriseRemovalReadsAllOnesAndTearsTasksOff) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoFifo();
  machine.Submit(0, Cube(1, 1'800'000, 3), NPUSIM_PORT_TELL_END);
  machine.Until(100'000);
  machine.Put(NPUSIM_PORT_REMOVE, 0);
  const auto aborted = machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED);
  EXPECT_EQ(aborted.cookie, 3u);
  EXPECT_EQ(aborted.header.status, -ENODEV);
  EXPECT_EQ(machine.Take<npusim_port_header>(NPUSIM_PORT_GONE).device, 0u);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_REMOVE).status, 0);
  EXPECT_EQ(npu.removed, 1);
  EXPECT_EQ(npu.R32(REFNPU_ID), UINT32_MAX);
  EXPECT_EQ(npu.R64(REFNPU_CLOCK), UINT64_MAX);
  machine.Submit(0, Cube(2, 1800, 4), 0);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED).header.status, -ENODEV);
  machine.Put(NPUSIM_PORT_REMOVE, 0);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_REMOVE).status, -ENODEV);
  machine.Put(NPUSIM_PORT_RESET, 0);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_RESET).status, -ENODEV);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_REFUSE, 1), -ENODEV);
  // The other one is still there.
  EXPECT_EQ(machine.npus[1]->R32(REFNPU_ID), REFNPU_ID_VALUE);
  machine.Submit(1, Cube(1, 1800, 5), NPUSIM_PORT_TELL_END);
  machine.Until(10'000'000);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, 5u);
}

TEST(PortDevice, InsertPutsANewDeviceInItsPlace) {
  Machine machine;
  machine.Hello();
  machine.Put(NPUSIM_PORT_INSERT, 0);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_INSERT).status, -EEXIST);
  machine.Submit(0, Cube(1), 0);
  machine.Until(1'000'000);
  machine.Put(NPUSIM_PORT_REMOVE, 0);
  machine.Take<npusim_port_header>(NPUSIM_PORT_GONE);
  machine.Status(NPUSIM_PORT_REMOVE);
  machine.now = 2'000'000;
  machine.Put(NPUSIM_PORT_INSERT, 0);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_INSERT).status, 0);
  EXPECT_EQ(machine.npus[0]->inserted, 1);
  EXPECT_EQ(machine.npus[0]->R32(REFNPU_ID), REFNPU_ID_VALUE);
  EXPECT_EQ(machine.npus[0]->R64(REFNPU_CLOCK), 0u);
  EXPECT_EQ(machine.Totals(0).ended, 0u);
  machine.Submit(0, Cube(1, 1800, 6), NPUSIM_PORT_TELL_END);
  machine.Until(3'000'000);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, 6u);
}

TEST(PortDevice, DetachedDeviceIsToldToBeGone) {
  Machine machine;
  machine.Hello();
  machine.Submit(1, Cube(1, 1'800'000, 8), NPUSIM_PORT_TELL_END);
  machine.npus[1]->Detach();
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED).cookie, 8u);
  EXPECT_EQ(machine.Take<npusim_port_header>(NPUSIM_PORT_GONE).device, 1u);
  machine.Put(NPUSIM_PORT_TOTALS, 1);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_TOTALS).status, -ENODEV);
}

TEST(PortDevice, DropsExactlyAsManyFifoInterrupts) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoFifo();
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_DROP_IRQ, 2), 0);
  for (uint16_t i = 0; i < 4; ++i) {
    machine.Submit(0, Cube(i), 0);
    machine.Until(machine.now + 100'000);
    npu.W32(REFNPU_INT_STATUS, REFNPU_INT_FIFO);
    npu.W32(REFNPU_FIFO(REFNPU_FIFO_LOG, REFNPU_FIFO_POP), 2);
  }
  // One interrupt per task: its start. Its end finds the cause pending.
  EXPECT_EQ(npu.irqs[0], 2);
  EXPECT_EQ(machine.Stats(0).interrupts, 4u);
  EXPECT_EQ(machine.Stats(0).interrupts_dropped, 2u);
}

TEST(PortDevice, HoldsInterruptsBackAndDeliversEachVectorOnce) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoFifo();
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_HOLD_IRQ, 1), 0);
  for (uint16_t i = 0; i < 3; ++i) {
    machine.Submit(0, Cube(i), 0);
    machine.Until(machine.now + 100'000);
    npu.W32(REFNPU_INT_STATUS, REFNPU_INT_FIFO);
  }
  EXPECT_EQ(npu.irqs[0], 0);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_HOLD_IRQ, 0), 0);
  EXPECT_EQ(npu.irqs[0], 1);
  EXPECT_EQ(machine.Stats(0).interrupts_held, 3u);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_HOLD_IRQ, 0), 0);
  EXPECT_EQ(npu.irqs[0], 1);
}

TEST(PortDevice, HeldInterruptsArriveAlthoughTheDeviceHasFallenAsleep) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  npu.TraceIntoFifo();
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_HOLD_IRQ, 1), 0);
  machine.Submit(0, Cube(0), 0);
  machine.Until(machine.now + 100'000);
  port_device_sleep(npu.device, true);
  EXPECT_EQ(npu.irqs[0], 0);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_HOLD_IRQ, 0), 0);
  EXPECT_EQ(npu.irqs[0], 1);
  EXPECT_EQ(npu.R32(REFNPU_ID), 0xffffffffu) << "it sleeps";
}

TEST(PortDevice, RefusesWindowsAndQueues) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_REFUSE, 1), 0);
  npu.TraceIntoMemory(64);
  EXPECT_EQ(npu.R32(REFNPU_TRACE_WINDOW), 0u);
  EXPECT_EQ(npu.R32(REFNPU_QUEUE(0, REFNPU_QUEUE_CTRL)), REFNPU_QUEUE_ERROR);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_REFUSE, 0), 0);
  npu.TraceIntoMemory(64);
  EXPECT_EQ(npu.R32(REFNPU_TRACE_WINDOW), 1u);
  EXPECT_EQ(npu.R32(REFNPU_QUEUE(0, REFNPU_QUEUE_CTRL)), REFNPU_QUEUE_ENABLE);
}

TEST(PortDevice, IsOutOfReachUntilTheLinkIsUpAgain) {
  Machine machine;
  machine.Hello();
  Npu& npu = *machine.npus[0];
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_LINK, 1), 0);
  EXPECT_FALSE(port_device_on_bus(npu.device));
  EXPECT_FALSE(port_device_gone(npu.device));
  EXPECT_EQ(npu.R32(REFNPU_ID), 0xffffffffu);
  npu.TraceIntoMemory(64);
  machine.Submit(0, Cube(0), 0);
  machine.Until(machine.now + 100'000);
  EXPECT_EQ(npu.irqs[0], 0);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_LINK, 0), 0);
  EXPECT_EQ(npu.R32(REFNPU_ID), REFNPU_ID_VALUE);
  EXPECT_EQ(npu.R32(REFNPU_TRACE_WINDOW), 0u) << "what was written meanwhile went nowhere";

  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_LINK, 1), 0);
  port_device_reset(npu.device);
  EXPECT_TRUE(port_device_on_bus(npu.device));
  EXPECT_EQ(npu.R32(REFNPU_ID), REFNPU_ID_VALUE);
}

TEST(PortDevice, UnknownFaultsAreRefused) {
  Machine machine;
  machine.Hello();
  EXPECT_EQ(machine.Fault(0, 0, 1), -EINVAL);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_KINDS, 1), -EINVAL);
  EXPECT_EQ(machine.Fault(0, NPUSIM_PORT_FAULT_HOLD_IRQ, 2), -EINVAL);
}

}  // namespace
}  // namespace port_test
