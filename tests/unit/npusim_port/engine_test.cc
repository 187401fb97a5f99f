// SPDX-License-Identifier: Apache-2.0
// Requests, completions and times.
#include "machine.h"

namespace port_test {
namespace {

TEST(PortEngine, HelloTellsVersionAndDevices) {
  Machine machine(3);
  port_engine_open(machine.engine);
  npusim_port_hello hello{};
  hello.version = NPUSIM_PORT_VERSION + 1;
  machine.Put(NPUSIM_PORT_HELLO, 0, hello, 7);
  auto answer = machine.Take<npusim_port_hello>(NPUSIM_PORT_HELLO | NPUSIM_PORT_REPLY);
  EXPECT_EQ(answer.header.status, -EPROTONOSUPPORT);
  EXPECT_EQ(answer.header.sequence, 7u);
  EXPECT_EQ(answer.version, NPUSIM_PORT_VERSION);
  hello.version = NPUSIM_PORT_VERSION;
  machine.Put(NPUSIM_PORT_HELLO, 0, hello, 8);
  answer = machine.Take<npusim_port_hello>(NPUSIM_PORT_HELLO | NPUSIM_PORT_REPLY);
  EXPECT_EQ(answer.header.status, 0);
  EXPECT_EQ(answer.devices, 3u);
}

TEST(PortEngine, NothingIsDoneBeforeHello) {
  Machine machine;
  port_engine_open(machine.engine);
  machine.Put(NPUSIM_PORT_REMOVE, 0);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_REMOVE).status, -EPROTO);
  EXPECT_FALSE(port_device_gone(machine.npus[0]->device));
}

TEST(PortEngine, InfoTellsEachDevicesSettings) {
  Machine machine;
  machine.Hello();
  for (uint16_t i = 0; i < 2; ++i) {
    machine.Put(NPUSIM_PORT_INFO, i);
    const auto info = machine.Take<npusim_port_info>(NPUSIM_PORT_INFO | NPUSIM_PORT_REPLY);
    EXPECT_EQ(info.cube_cores, 24u - i);
    EXPECT_EQ(info.vector_cores, 48u);
    EXPECT_EQ(info.clock_hz, 50'000'000u);
  }
  machine.Put(NPUSIM_PORT_INFO, 2);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_INFO).status, -ENODEV);
  machine.Put(NPUSIM_PORT_INFO, 0xffff);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_INFO).status, -ENODEV);
}

TEST(PortEngine, TaskIsToldAtTheTimesAtWhichTheModelRanIt) {
  Machine machine;
  machine.Hello();
  machine.now = 5000;
  machine.Submit(0, Cube(1, 1800, 77));
  EXPECT_TRUE(machine.Quiet());
  machine.Until(10'000'000);
  const auto started = machine.Take<npusim_port_task>(NPUSIM_PORT_STARTED);
  const auto ended = machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED);
  EXPECT_EQ(started.cookie, 77u);
  EXPECT_EQ(ended.cookie, 77u);
  EXPECT_EQ(started.ns, 5300u);  // 300 ns of dispatch
  EXPECT_EQ(ended.ns, 6300u);    // 1800 cycles at 1800 MHz
  EXPECT_EQ(ended.header.status, 0);
  EXPECT_TRUE(machine.Quiet());
}

TEST(PortEngine, TellsOnlyWhatWasAskedFor) {
  Machine machine;
  machine.Hello();
  machine.Submit(0, Cube(1, 1800, 1), 0);
  machine.Submit(0, Cube(2, 1800, 2), NPUSIM_PORT_TELL_START);
  machine.Submit(0, Cube(3, 1800, 0), NPUSIM_PORT_TELL_END);
  machine.Until(10'000'000);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_STARTED).cookie, 2u);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, 0u);
  EXPECT_TRUE(machine.Quiet());
  EXPECT_EQ(machine.Totals(0).ended, 3u);
}

TEST(PortEngine, RefusedTaskIsTold) {
  Machine machine;
  machine.Hello();
  npusim_task bad = Cube(1, 1800, 5);
  bad.block_dim = 0;
  machine.Submit(0, bad, 0);
  auto refusal = machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED);
  EXPECT_EQ(refusal.header.status, -EINVAL);
  EXPECT_EQ(refusal.cookie, 5u);
  machine.Submit(9, Cube(1, 1800, 6));
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED).header.status, -ENODEV);
  machine.Submit(0, Cube(1, 1800, NPUSIM_PORT_COOKIE_MAX + 1));
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED).header.status, -EINVAL);
  machine.Submit(0, Cube(1, 1800, 7), 0x80);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED).header.status, -EINVAL);
  EXPECT_EQ(machine.Totals(0).submitted, 0u);
}

// A guest must not be able to fill the emulator's memory with tasks that never run.
TEST(PortEngine, TakesABoundedNumberOfTasks) {
  Machine machine;
  machine.Hello();
  npusim_task wait = Cube(1);
  wait.kind = NPUSIM_TASK_NOTIFY_WAIT;
  for (uint32_t i = 0; i < NPUSIM_PORT_MAX_TASKS; ++i) machine.Submit(0, wait, 0);
  EXPECT_TRUE(machine.Quiet());
  machine.Submit(0, wait, 0);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED).header.status, -ENOSPC);
  machine.Submit(1, Cube(1, 1800, 3), NPUSIM_PORT_TELL_END);
  machine.Until(machine.now + 1'000'000);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, 3u);
}

TEST(PortEngine, TimeIsTheMachines) {
  Machine machine;
  machine.Hello();
  machine.now = 123456789;
  machine.Put(NPUSIM_PORT_TIME);
  EXPECT_EQ(machine.Take<npusim_port_time>(NPUSIM_PORT_TIME | NPUSIM_PORT_REPLY).ns, 123456789u);
}

TEST(PortEngine, TotalsAreTheModelsOwn) {
  Machine machine;
  machine.Hello();
  for (uint16_t i = 0; i < 10; ++i) machine.Submit(1, Cube(i), 0);
  machine.Until(1'000'000);
  const npusim_totals totals = machine.Totals(1);
  EXPECT_EQ(totals.ended, 10u);
  EXPECT_EQ(totals.cycles[0], 18000u);
  EXPECT_EQ(machine.Totals(0).ended, 0u);
  npusim_port_event event{};
  event.event = 0x416;  // busy with fp16
  machine.Put(NPUSIM_PORT_EVENT_TOTAL, 1, event);
  EXPECT_EQ(machine.Take<npusim_port_event>(NPUSIM_PORT_EVENT_TOTAL | NPUSIM_PORT_REPLY).total, 9000u);
  event.kind = 2;
  machine.Put(NPUSIM_PORT_EVENT_TOTAL, 1, event);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_EVENT_TOTAL).status, -EINVAL);
}

TEST(PortEngine, RecordCountsAreTheModelsOwn) {
  Machine machine;
  machine.Hello();
  machine.npus[1]->TraceIntoFifo();
  for (uint16_t i = 0; i < 600; ++i) machine.Submit(1, Cube(i), 0);
  machine.Until(10'000'000);
  npusim_port_records request{};
  request.channel = NPUPROF_CHANNEL_TASK_LOG;
  request.core = NPUSIM_NO_CORE;
  machine.Put(NPUSIM_PORT_RECORDS, 1, request);
  const auto reply = machine.Take<npusim_port_records>(NPUSIM_PORT_RECORDS | NPUSIM_PORT_REPLY);
  EXPECT_EQ(reply.counts.kept, 1024u) << "depth of the FIFO";
  EXPECT_EQ(reply.counts.lost, 2 * 600u - 1024u);
  request.core = 3;
  machine.Put(NPUSIM_PORT_RECORDS, 1, request);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_RECORDS).status, -EINVAL);
}

TEST(PortEngine, NotifyCrossesDevices) {
  Machine machine;
  machine.Hello();
  npusim_task task = Cube(1, 0, 1);
  task.kind = NPUSIM_TASK_NOTIFY_WAIT;
  task.sync_id = 5;
  machine.Submit(1, task, NPUSIM_PORT_TELL_END);
  machine.Submit(0, Cube(1, 1'800'000), 0);  // a millisecond
  task.kind = NPUSIM_TASK_NOTIFY_RECORD;
  task.peer = 1;
  task.cookie = 2;
  machine.Submit(0, task, NPUSIM_PORT_TELL_END);
  machine.Until(10'000'000);
  const auto first = machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED);
  const auto second = machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED);
  EXPECT_EQ(std::max(first.cookie, second.cookie), 2u);
  EXPECT_GE(std::min(first.ns, second.ns), 1'001'000u);
}

TEST(PortEngine, ResetTearsTasksOff) {
  Machine machine;
  machine.Hello();
  machine.Submit(0, Cube(1, 1'800'000, 4));
  machine.Until(50'000);
  machine.Put(NPUSIM_PORT_RESET, 0);
  machine.Take<npusim_port_task>(NPUSIM_PORT_STARTED);
  const auto aborted = machine.Take<npusim_port_task>(NPUSIM_PORT_ABORTED);
  EXPECT_EQ(aborted.header.status, -EIO);
  EXPECT_EQ(aborted.ns, 50'000u);
  EXPECT_EQ(machine.Status(NPUSIM_PORT_RESET).status, 0);
  EXPECT_EQ(machine.npus[0]->R32(REFNPU_EPOCH), 1u);
  EXPECT_EQ(machine.Stats(0).resets, 1u);
  machine.Submit(0, Cube(2, 1800, 5), NPUSIM_PORT_TELL_END);
  machine.Until(1'000'000);
  EXPECT_EQ(machine.Take<npusim_port_task>(NPUSIM_PORT_ENDED).cookie, 5u);
}

TEST(PortEngine, TwoDevicesCannotShareANumber) {
  Machine machine;
  npusim_model_config config;
  npusim_model_defaults(&config);
  const port_device_ops ops{};
  int error = 0;
  EXPECT_EQ(port_device_attach(machine.engine, 1, &config, &ops, nullptr, &error), nullptr);
  EXPECT_EQ(error, -EEXIST);
  EXPECT_EQ(port_device_attach(machine.engine, NPUSIM_PORT_DEVICES, &config, &ops, nullptr, &error), nullptr);
  EXPECT_EQ(error, -EINVAL);
  config.cube_cores = 0;
  EXPECT_EQ(port_device_attach(machine.engine, 3, &config, &ops, nullptr, &error), nullptr);
  EXPECT_EQ(error, -EINVAL);
}

}  // namespace
}  // namespace port_test
