// SPDX-License-Identifier: Apache-2.0
#include "host/session.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/validate.h"

namespace npusim {
namespace {

uint64_t PageSize() {
  static const uint64_t size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

uint64_t WholePages(uint64_t bytes) {
  return (bytes + PageSize() - 1) / PageSize() * PageSize();
}

}  // namespace

std::unique_ptr<Session> Session::Create(uint32_t device, bool stall_drain) {
  std::unique_ptr<Session> session(new Session(device, stall_drain));
  const auto area = [](uint64_t bytes) { return SharedArea::Create(WholePages(bytes)); };
  session->poll_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (session->poll_fd_ < 0) return nullptr;
  session->poll_identity_ = npuprof::FdIdentity(session->poll_fd_);
  if (!(session->control_ = area(NPUPROF_MAX_RINGS * sizeof(npuprof_ring_ctrl))) ||
      !(session->tails_ = area(NPUPROF_MAX_RINGS * sizeof(npuprof_ring_tail))) ||
      !(session->data_ = area(kMaxDataBytes))) {
    return nullptr;
  }

  npuprof_add_ring events{};
  events.channel = NPUPROF_CHANNEL_EVENTS;
  events.core = NPC_CORE_DEVICE;
  events.slots = kEventSlots;
  __u64 bytes = 0;
  if (npc_place_ring(&events, 0, 0, kMaxDataBytes, static_cast<__u32>(PageSize()), &bytes) != 0)
    return nullptr;
  session->data_bytes_ = bytes;
  // A reader that is told of every loss must be able to read of it: faults spare the event ring.
  session->AddRing(events, false);
  return session;
}

Session::~Session() {
  if (poll_identity_.Holds(poll_fd_)) close(poll_fd_);
}

npuprof_ring_ctrl* Session::Control(uint32_t ring) const {
  return reinterpret_cast<npuprof_ring_ctrl*>(control_->data()) + ring;
}

npuprof_ring_tail* Session::Tail(uint32_t ring) const {
  return reinterpret_cast<npuprof_ring_tail*>(tails_->data()) + ring;
}

Ring* Session::AddRing(const npuprof_add_ring& config, bool stalled) {
  auto ring = std::make_unique<Ring>();
  ring->config = config;
  npuprof_ring_ctrl* control = Control(config.ring);
  control->channel = config.channel;
  control->core = config.core;
  control->core_kind = config.core_kind;
  control->data_offset = config.data_offset;
  npc_ring_setup setup{};
  setup.ctrl = control;
  setup.tail = stalled ? &stalled_tail_ : Tail(config.ring);
  setup.data = data_->data() + config.data_offset;
  setup.events = rings_.empty() ? nullptr : &events().producer;
  setup.slots = config.slots;
  setup.record_size = config.record_size;
  setup.index = config.ring;
  setup.overwrite = (config.flags & NPUPROF_RING_OVERWRITE) != 0;
  npc_ring_init(&ring->producer, &setup);
  npc_wakeup_init(&ring->wakeup, config.watermark, config.latency_ns);
  rings_.push_back(std::move(ring));
  return rings_.back().get();
}

int Session::Place(npuprof_add_ring* add, Ring** ring) {
  __u64 bytes = 0;
  const int error = npc_place_ring(add, static_cast<__u32>(rings_.size()), data_bytes_, kMaxDataBytes,
                                   static_cast<__u32>(PageSize()), &bytes);
  if (error != 0) return error;
  data_bytes_ = bytes;
  *ring = AddRing(*add, stall_drain_);
  return 0;
}

int Session::Map(uint64_t offset, size_t length, void** address) {
  const uint64_t rings = rings_.size();
  switch (offset) {
    case NPUPROF_MMAP_CONTROL:
      if (length > WholePages(rings * sizeof(npuprof_ring_ctrl))) return -EINVAL;
      return control_->Map(length, false, address);
    case NPUPROF_MMAP_TAILS:
      if (length > WholePages(rings * sizeof(npuprof_ring_tail))) return -EINVAL;
      return tails_->Map(length, true, address);
    case NPUPROF_MMAP_DATA:
      if (length > data_bytes_) return -EINVAL;
      return data_->Map(length, false, address);
    default:
      return -EINVAL;
  }
}

bool Session::Owns(uint64_t address, size_t length) const {
  const auto within = [&](const SharedArea& area, uint64_t used) {
    const uint64_t begin = reinterpret_cast<uint64_t>(area.data());
    return address >= begin && address - begin <= used && length <= used - (address - begin);
  };
  return within(*data_, data_bytes_) || within(*control_, rings_.size() * sizeof(npuprof_ring_ctrl));
}

uint64_t Session::DataAddress(const Ring& ring) const {
  return reinterpret_cast<uint64_t>(ring.producer.data);
}

uint64_t Session::HeadAddress(const Ring& ring) const {
  return reinterpret_cast<uint64_t>(&Control(ring.config.ring)->head);
}

void Session::Touch(Ring& ring, uint64_t now_ns) {
  if (npc_wakeup_due(&ring.wakeup, &ring.producer, now_ns)) wake_ = true;
  latency_ns_ = std::min<uint64_t>(latency_ns_, npc_wakeup_deadline(&ring.wakeup));
}

void Session::CheckLatency(uint64_t now_ns) {
  if (now_ns < latency_ns_) return;
  latency_ns_ = NPC_TIME_NEVER;
  for (const auto& ring : rings_) Touch(*ring, now_ns);
}

void Session::SendWakeup() {
  if (!wake_) return;
  wake_ = false;
  if (!poll_identity_.Holds(poll_fd_)) return;  // the program closed it; its reader looks by the clock
  const uint64_t one = 1;
  // Fails only if the counter is full, and then the reader is being woken anyway.
  [[maybe_unused]] const ssize_t written = write(poll_fd_, &one, sizeof one);
}

void Session::CloseGaps() {
  for (const auto& ring : rings_) npc_ring_close_gaps(&ring->producer);
}

void Session::SetState(uint32_t ring_state) {
  for (const auto& ring : rings_) npc_ring_set_state(&ring->producer, ring_state);
}

void Session::Emit(const npuprof_rec_event& event, uint64_t clock, uint64_t now_ns) {
  npc_ring_write(&events().producer, &event, clock);
  npc_ring_publish(&events().producer);
  Touch(events(), now_ns);
}

}  // namespace npusim
