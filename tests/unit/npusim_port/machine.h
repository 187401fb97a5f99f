// SPDX-License-Identifier: Apache-2.0
// A machine with NPUs whose clock the test moves, and a guest that is the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "npuprof.h"
#include "npuprof_records.h"
#include "qemu/port_engine.h"
#include "refnpu_regs.h"

namespace port_test {

inline npusim_task Cube(uint16_t id, uint64_t cycles = 1800, uint64_t cookie = 0) {
  npusim_task task{};
  task.stream = 1;
  task.task_id = id;
  task.kind = NPUSIM_TASK_CUBE;
  task.block_dim = 1;
  task.cycles = cycles;
  task.peer = NPUSIM_LOCAL;
  task.cookie = cookie;
  return task;
}

// One NPU's host: counts what comes out of it.
struct Npu {
  static constexpr uint64_t kRecords = 0x100;  // 0 means no memory

  explicit Npu(port_engine* engine, uint32_t index, uint32_t cube_cores = 24) {
    ops.irq = [](void* ctx, uint32_t vector) { ++static_cast<Npu*>(ctx)->irqs[vector]; };
    ops.dma_write = [](void* ctx, uint64_t address, const void* data, size_t size) {
      return static_cast<Npu*>(ctx)->Write(address, data, size);
    };
    ops.removed = [](void* ctx) { ++static_cast<Npu*>(ctx)->removed; };
    ops.inserted = [](void* ctx) { ++static_cast<Npu*>(ctx)->inserted; };
    npusim_model_config config;
    npusim_model_defaults(&config);
    config.cube_cores = cube_cores;
    int error = 0;
    device = port_device_attach(engine, index, &config, &ops, this, &error);
    EXPECT_EQ(error, 0);
  }
  ~Npu() { Detach(); }
  Npu(const Npu&) = delete;
  Npu& operator=(const Npu&) = delete;

  void Detach() {
    if (device) port_device_detach(device);
    device = nullptr;
  }
  bool Write(uint64_t address, const void* data, size_t size) {
    if (!mastering || address + size > memory.size()) return false;
    std::memcpy(memory.data() + address, data, size);
    return true;
  }
  uint32_t R32(uint32_t offset) { return static_cast<uint32_t>(port_device_read(device, offset, 4)); }
  uint64_t R64(uint32_t offset) { return port_device_read(device, offset, 8); }
  void W32(uint32_t offset, uint32_t value) { port_device_write(device, offset, value, 4); }
  void W64(uint32_t offset, uint64_t value) { port_device_write(device, offset, value, 8); }

  // Records every task in FIFO 0 and interrupts for each.
  void TraceIntoFifo() {
    W32(REFNPU_FIFO(REFNPU_FIFO_LOG, REFNPU_FIFO_WATERMARK), 1);
    W32(REFNPU_FIFO(REFNPU_FIFO_LOG, REFNPU_FIFO_CTRL), REFNPU_FIFO_ENABLE);
    W32(REFNPU_INT_ENABLE, REFNPU_INT_FIFO);
    W32(REFNPU_TRACE_ENABLE, REFNPU_TRACE_LOG);
    W32(REFNPU_TRACE_WINDOW, 1);
  }
  // Writes task log records to memory from kRecords on and their number to 0x8000.
  void TraceIntoMemory(uint32_t slots) {
    W32(REFNPU_QUEUE(0, REFNPU_QUEUE_CHANNEL), NPUPROF_CHANNEL_TASK_LOG | 0xffff0000u);
    W64(REFNPU_QUEUE(0, REFNPU_QUEUE_BASE), kRecords);
    W32(REFNPU_QUEUE(0, REFNPU_QUEUE_SLOTS), slots);
    W64(REFNPU_QUEUE(0, REFNPU_QUEUE_HEAD_ADDRESS), 0x8000);
    W64(REFNPU_QUEUE(0, REFNPU_QUEUE_CREDIT), slots);
    W32(REFNPU_QUEUE(0, REFNPU_QUEUE_CTRL), REFNPU_QUEUE_ENABLE);
    W32(REFNPU_TRACE_ENABLE, REFNPU_TRACE_LOG);
    W32(REFNPU_TRACE_WINDOW, 1);
  }
  uint64_t Head() const {
    uint64_t head;
    std::memcpy(&head, memory.data() + 0x8000, sizeof head);
    return head;
  }

  port_device_ops ops{};
  port_device* device = nullptr;
  std::map<uint32_t, int> irqs;
  std::vector<char> memory = std::vector<char>(0x10000);
  bool mastering = true;
  int removed = 0, inserted = 0;
};

class Machine {
 public:
  explicit Machine(uint32_t devices = 2) {
    ops_.now = [](void* ctx) { return static_cast<Machine*>(ctx)->now; };
    ops_.wake_at = [](void* ctx, uint64_t ns) { static_cast<Machine*>(ctx)->wake = ns; };
    ops_.send = [](void* ctx, const void* data, size_t size) {
      return static_cast<Machine*>(ctx)->Send(data, size);
    };
    ops_.resume = [](void* ctx) { ++static_cast<Machine*>(ctx)->resumed; };
    engine = port_engine_create(&ops_, this);
    for (uint32_t i = 0; i < devices; ++i) npus.push_back(std::make_unique<Npu>(engine, i, 24 - i));
  }
  ~Machine() {
    npus.clear();
    port_engine_destroy(engine);
  }

  // Time passes as an emulator lets it: the engine runs when it asked to.
  void Until(uint64_t ns) {
    while (wake <= ns) {
      now = std::max(now, wake);
      port_engine_run(engine);
    }
    now = ns;
  }

  size_t Write(const void* data, size_t size) { return port_engine_receive(engine, data, size); }
  template <class Message>
  void Put(uint16_t type, uint16_t device, Message message, uint32_t sequence = 0) {
    auto* header = reinterpret_cast<npusim_port_header*>(&message);
    header->size = sizeof message;
    header->type = type;
    header->device = device;
    header->sequence = sequence ? sequence : ++sequence_;
    ASSERT_EQ(Write(&message, sizeof message), sizeof message);
  }
  void Put(uint16_t type, uint16_t device = 0) { Put(type, device, npusim_port_header{}); }
  void Submit(uint16_t device, const npusim_task& task,
              uint32_t flags = NPUSIM_PORT_TELL_START | NPUSIM_PORT_TELL_END) {
    npusim_port_submit message{};
    message.flags = flags;
    message.task = task;
    Put(NPUSIM_PORT_SUBMIT, device, message);
  }
  void Hello() {
    port_engine_open(engine);
    npusim_port_hello hello{};
    hello.version = NPUSIM_PORT_VERSION;
    Put(NPUSIM_PORT_HELLO, 0, hello);
    EXPECT_EQ(Take<npusim_port_hello>(NPUSIM_PORT_HELLO | NPUSIM_PORT_REPLY).header.status, 0);
  }

  size_t Unread() const { return received_.size() - read_; }
  bool Quiet() const { return Unread() == 0; }
  void Forget() { read_ = received_.size(); }
  // The next message that the guest has not read. It must be of this type.
  template <class Message>
  Message Take(uint16_t type) {
    Message message{};
    npusim_port_header header{};
    std::memcpy(&header, received_.data() + read_, std::min(sizeof header, Unread()));
    EXPECT_EQ(header.type, type);
    EXPECT_EQ(header.size, sizeof message);
    const size_t size = std::min({sizeof message, size_t{header.size}, Unread()});
    std::memcpy(&message, received_.data() + read_, size);
    read_ += size;
    return message;
  }
  npusim_port_header Status(uint16_t type) { return Take<npusim_port_header>(type | NPUSIM_PORT_REPLY); }
  npusim_port_stats Stats(uint16_t device) {
    Put(NPUSIM_PORT_STATS, device);
    return Take<npusim_port_stats>(NPUSIM_PORT_STATS | NPUSIM_PORT_REPLY);
  }
  npusim_totals Totals(uint16_t device) {
    Put(NPUSIM_PORT_TOTALS, device);
    return Take<npusim_port_totals>(NPUSIM_PORT_TOTALS | NPUSIM_PORT_REPLY).totals;
  }
  int Fault(uint16_t device, uint32_t kind, uint64_t value) {
    npusim_port_fault fault{};
    fault.kind = kind;
    fault.value = value;
    Put(NPUSIM_PORT_FAULT, device, fault);
    return Status(NPUSIM_PORT_FAULT).status;
  }

  uint64_t now = 1000;
  uint64_t wake = UINT64_MAX;
  size_t room = SIZE_MAX;  // of the guest
  int resumed = 0;
  port_engine* engine;
  std::vector<std::unique_ptr<Npu>> npus;

 private:
  size_t Send(const void* data, size_t size) {
    size = std::min(size, room);
    if (room != SIZE_MAX) room -= size;
    const char* bytes = static_cast<const char*>(data);
    received_.insert(received_.end(), bytes, bytes + size);
    return size;
  }

  port_engine_ops ops_{};
  uint32_t sequence_ = 0;
  std::vector<char> received_;
  size_t read_ = 0;
};

}  // namespace port_test
