// SPDX-License-Identifier: Apache-2.0
#include "port.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace selftest {
namespace {

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "port to the emulated devices: %s: %s\n", what, std::strerror(errno));
  std::exit(3);
}

void ReadAll(int fd, void* data, size_t size) {
  auto* at = static_cast<unsigned char*>(data);
  while (size > 0) {
    const ssize_t got = read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) Die("read");
    at += got;
    size -= static_cast<size_t>(got);
  }
}

npusim_port_header Header(uint16_t type, size_t size, uint32_t device) {
  npusim_port_header header{};
  header.size = static_cast<uint32_t>(size);
  header.type = type;
  header.device = static_cast<uint16_t>(device);
  return header;
}

}  // namespace

Port::Port() {
  const char* path = std::getenv("NPUSIM_PORT");
  if (path == nullptr) {
    errno = ENOENT;
    Die("NPUSIM_PORT is not set");
  }
  // A process that was killed a moment ago may still be letting go of it.
  for (int attempt = 0; attempt < 100 && fd_ < 0; ++attempt) {
    fd_ = open(path, O_RDWR | O_CLOEXEC);
    if (fd_ < 0 && errno != EBUSY && errno != EMFILE) break;
    if (fd_ < 0) usleep(20'000);
  }
  if (fd_ < 0) Die(path);
  npusim_port_hello hello{};
  hello.header = Header(NPUSIM_PORT_HELLO, sizeof hello, 0);
  hello.version = NPUSIM_PORT_VERSION;
  npusim_port_hello reply{};
  errno = EPROTO;
  if (Ask(&hello.header, &reply) != 0) Die("HELLO is refused");
}

Port::~Port() {
  if (fd_ >= 0) close(fd_);
}

void Port::Send(const void* message, size_t size) {
  const auto* at = static_cast<const unsigned char*>(message);
  while (size > 0) {
    const ssize_t put = write(fd_, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) Die("write");
    at += put;
    size -= static_cast<size_t>(put);
  }
}

npusim_port_header* Port::Receive() {
  auto* header = reinterpret_cast<npusim_port_header*>(message_);
  ReadAll(fd_, header, sizeof *header);
  if (header->size < sizeof *header || header->size > sizeof message_) {
    errno = EBADMSG;
    Die("a message of impossible size");
  }
  ReadAll(fd_, header + 1, header->size - sizeof *header);
  return header;
}

template <class Reply>
int Port::Ask(npusim_port_header* request, Reply* reply) {
  std::lock_guard lock(mutex_);
  request->sequence = ++sequence_;
  Send(request, request->size);
  for (;;) {
    const npusim_port_header* header = Receive();
    // Ends of tasks that somebody before us asked for.
    if ((header->type & NPUSIM_PORT_REPLY) == 0 || header->sequence != sequence_) continue;
    if (header->status == 0) std::memcpy(reply, header, sizeof *reply);
    return header->status;
  }
}

int Port::Command(uint16_t type, uint32_t device) {
  npusim_port_header request = Header(type, sizeof request, device);
  npusim_port_header reply;
  return Ask(&request, &reply);
}

npusim_totals Port::Totals(uint32_t device) {
  npusim_port_header request = Header(NPUSIM_PORT_TOTALS, sizeof request, device);
  npusim_port_totals reply{};
  Ask(&request, &reply);
  return reply.totals;
}

npusim_port_stats Port::Stats(uint32_t device) {
  npusim_port_header request = Header(NPUSIM_PORT_STATS, sizeof request, device);
  npusim_port_stats reply{};
  Ask(&request, &reply);
  return reply;
}

npusim_port_info Port::Info(uint32_t device) {
  npusim_port_header request = Header(NPUSIM_PORT_INFO, sizeof request, device);
  npusim_port_info reply{};
  Ask(&request, &reply);
  return reply;
}

uint64_t Port::Now() {
  npusim_port_header request = Header(NPUSIM_PORT_TIME, sizeof request, 0);
  npusim_port_time reply{};
  Ask(&request, &reply);
  return reply.ns;
}

uint64_t Port::EventTotal(uint32_t kind, uint32_t event, uint32_t device) {
  npusim_port_event request{};
  request.header = Header(NPUSIM_PORT_EVENT_TOTAL, sizeof request, device);
  request.kind = kind;
  request.event = event;
  npusim_port_event reply{};
  Ask(&request.header, &reply);
  return reply.total;
}

npusim_record_counts Port::Records(uint32_t channel, uint32_t core, uint32_t device) {
  npusim_port_records request{};
  request.header = Header(NPUSIM_PORT_RECORDS, sizeof request, device);
  request.channel = channel;
  request.core = core;
  npusim_port_records reply{};
  // A count of zero would look like an answer.
  if (Ask(&request.header, &reply) != 0) {
    errno = EINVAL;
    Die("RECORDS is refused");
  }
  return reply.counts;
}

int Port::Remove(uint32_t device) {
  return Command(NPUSIM_PORT_REMOVE, device);
}

int Port::Insert(uint32_t device) {
  return Command(NPUSIM_PORT_INSERT, device);
}

int Port::Fault(npusim_port_fault_kind kind, uint64_t value, uint32_t device) {
  npusim_port_fault request{};
  request.header = Header(NPUSIM_PORT_FAULT, sizeof request, device);
  request.kind = kind;
  request.value = value;
  npusim_port_header reply;
  return Ask(&request.header, &reply);
}

void Port::Submit(const npusim_task& task, uint32_t device) {
  npusim_port_submit message{};
  message.header = Header(NPUSIM_PORT_SUBMIT, sizeof message, device);
  message.task = task;
  std::lock_guard lock(mutex_);
  Send(&message, sizeof message);
}

void Port::Submit(uint64_t count, uint64_t cycles, uint32_t blocks, uint16_t stream, uint32_t device) {
  SubmitSpread(count, 0, 0, cycles, blocks, stream, device);
}

void Port::SubmitSpread(uint64_t count, uint64_t begin_ns, uint64_t interval_ns, uint64_t cycles,
                        uint32_t blocks, uint16_t stream, uint32_t device) {
  // Some at a time: a write is a trap into the emulator.
  constexpr size_t kBatch = 16;
  npusim_port_submit messages[kBatch] = {};
  while (count > 0) {
    const size_t batch = count < kBatch ? count : kBatch;
    std::lock_guard lock(mutex_);
    for (size_t k = 0; k < batch; ++k) {
      messages[k].header = Header(NPUSIM_PORT_SUBMIT, sizeof messages[k], device);
      npusim_task& task = messages[k].task;
      task.stream = stream;
      task.task_id = next_task_++;
      task.kind = NPUSIM_TASK_CUBE;
      task.block_dim = blocks;
      task.cycles = cycles;
      task.peer = NPUSIM_LOCAL;
      task.ready_ns = begin_ns;
      begin_ns += interval_ns;
    }
    Send(messages, batch * sizeof messages[0]);
    count -= batch;
  }
}

void Port::SubmitLong(uint64_t milliseconds, uint32_t device) {
  npusim_task task{};
  task.stream = 2;
  task.task_id = next_task_++;
  task.kind = NPUSIM_TASK_AICPU;
  task.block_dim = 1;
  task.duration_ns = milliseconds * 1'000'000;
  task.peer = NPUSIM_LOCAL;
  Submit(task, device);
}

bool Port::Drain(uint32_t device) {
  for (int k = 0; k < 60'000; ++k) {
    const npusim_totals totals = Totals(device);
    if (totals.ended + totals.aborted == totals.submitted) return true;
    usleep(1000);
  }
  return false;
}

bool Port::WaitStarted(uint64_t started, uint32_t device) {
  for (int k = 0; k < 60'000; ++k) {
    if (Totals(device).started >= started) return true;
    usleep(1000);
  }
  return false;
}

}  // namespace selftest
