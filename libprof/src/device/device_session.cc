// SPDX-License-Identifier: Apache-2.0
#include "device/device_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "device/refusals.h"
#include "npuprof_layout.h"

namespace npuprof::device {
namespace {

size_t WholePages(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return static_cast<size_t>((bytes + page - 1) / page * page);
}

bool PowerOfTwo(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace

Status DeviceSession::Open(Backend backend, uint32_t id, std::unique_ptr<DeviceSession>* out) {
  std::unique_ptr<DeviceFile> file;
  if (Status status = DeviceFile::Open(backend, id, &file); !status.ok()) return status;
  return Open(std::move(file), id, out);
}

Status DeviceSession::Open(std::unique_ptr<DeviceFile> file, uint32_t id,
                           std::unique_ptr<DeviceSession>* out) {
  auto session = std::unique_ptr<DeviceSession>(new DeviceSession);
  session->file_ = std::move(file);
  session->id_ = id;
  npuprof_query& query = session->query_;
  query.size = sizeof query;
  if (Status status = session->Request(NPUPROF_IOC_QUERY, &query, "describe itself"); !status.ok())
    return status;
  if (query.abi_major != NPUPROF_ABI_MAJOR || query.record_formats != NPUPROF_RECORDS_VERSION) {
    return VersionRefused(session->file_->backend(), session->file_->description(), query);
  }
  if (query.clock_hz == 0) {
    return Status::Fail(ErrorKind::kDevice,
                        fmt::format("{} reports a clock of 0 Hz", session->file_->description()));
  }
  Ring events{};
  events.request.channel = NPUPROF_CHANNEL_EVENTS;
  events.request.core = 0xffff;
  session->rings_.push_back(events);
  *out = std::move(session);
  return Status::Ok();
}

Status DeviceSession::Request(unsigned long request, void* argument, const char* what) {
  const int result = file_->Ioctl(request, argument);
  if (result == 0) return Status::Ok();
  return Refused(file_->backend(), file_->description(), what, request, argument, -result, &query_);
}

Status DeviceSession::AddRing(npuprof_add_ring request, unsigned* ring) {
  request.size = sizeof request;
  const std::string what = fmt::format("add a ring for {}", ChannelName(request.channel));
  if (Status status = Request(NPUPROF_IOC_ADD_RING, &request, what.c_str()); !status.ok()) return status;
  if (request.ring != rings_.size() || request.record_size == 0 || !PowerOfTwo(request.slots)) {
    return Status::Fail(ErrorKind::kDevice,
                        fmt::format("{} granted ring {} of {} records of {} bytes, which no ring can be",
                                    file_->description(), request.ring, request.slots, request.record_size));
  }
  if (ring != nullptr) *ring = request.ring;
  Ring added{};
  added.request = request;
  rings_.push_back(added);
  return Status::Ok();
}

Status DeviceSession::Map() {
  void* control = nullptr;
  void* tails = nullptr;
  void* data = nullptr;
  const auto map = [&](uint64_t area, uint64_t bytes, void** address) {
    const int result = file_->Map(area, WholePages(bytes), address);
    if (result == 0) return Status::Ok();
    return Refused(file_->backend(), file_->description(), "map its rings", 0, nullptr, -result);
  };
  if (Status status = map(NPUPROF_MMAP_CONTROL, rings_.size() * sizeof(npuprof_ring_ctrl), &control);
      !status.ok()) {
    return status;
  }
  const auto* entries = static_cast<const npuprof_ring_ctrl*>(control);
  uint64_t bytes = 0;
  for (size_t i = 0; i < rings_.size(); ++i) {
    npuprof_add_ring& request = rings_[i].request;
    const npuprof_ring_ctrl& entry = entries[i];
    if (i == 0) {
      // The event ring is always there; only its entry tells how large it is.
      request.slots = entry.slots;
      request.record_size = entry.record_size;
      request.data_offset = entry.data_offset;
    }
    const bool sane = entry.slots == request.slots && entry.record_size == request.record_size &&
                      entry.data_offset == request.data_offset && entry.channel == request.channel &&
                      PowerOfTwo(request.slots) && request.slots <= NPUPROF_MAX_SLOTS &&
                      request.record_size > 0 && request.record_size <= 4096 &&
                      (i != 0 || request.record_size == sizeof(npuprof_rec_event)) &&
                      request.data_offset <= query_.max_data_bytes + (uint64_t{1} << 32);
    if (!sane) {
      return Status::Fail(ErrorKind::kDevice, fmt::format("ring {} of {} does not look like what was granted",
                                                          i, file_->description()));
    }
    bytes = std::max<uint64_t>(bytes, request.data_offset + uint64_t{request.slots} * request.record_size);
  }
  if (Status status = map(NPUPROF_MMAP_TAILS, rings_.size() * sizeof(npuprof_ring_tail), &tails);
      !status.ok()) {
    return status;
  }
  if (Status status = map(NPUPROF_MMAP_DATA, bytes, &data); !status.ok()) return status;
  for (size_t i = 0; i < rings_.size(); ++i) {
    const npuprof_add_ring& request = rings_[i].request;
    rings_[i].reader = RingReader(entries + i, static_cast<npuprof_ring_tail*>(tails) + i,
                                  static_cast<const std::byte*>(data) + request.data_offset, request.slots,
                                  request.record_size);
  }
  mapped_ = true;
  return Status::Ok();
}

Status DeviceSession::Start(npuprof_control* out) {
  *out = npuprof_control{};
  out->size = sizeof *out;
  return Request(NPUPROF_IOC_START, out, "start");
}

Status DeviceSession::Stop(std::chrono::nanoseconds timeout, npuprof_control* out) {
  *out = npuprof_control{};
  out->size = sizeof *out;
  out->flags = timeout.count() > 0 ? NPUPROF_STOP_WAIT : 0;
  out->timeout_ns = timeout.count() > 0 ? static_cast<uint64_t>(timeout.count()) : 0;
  return Request(NPUPROF_IOC_STOP, out, "stop");
}

Status DeviceSession::Flush() {
  npuprof_control control{};
  control.size = sizeof control;
  return Request(NPUPROF_IOC_FLUSH, &control, "flush");
}

Status DeviceSession::Clock(ClockBracket* out) {
  *out = ClockBracket{};
  out->width_ns = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    npuprof_clock clock{};
    clock.size = sizeof clock;
    if (Status status = Request(NPUPROF_IOC_CLOCK, &clock, "read its clock"); !status.ok()) return status;
    const uint64_t width = clock.host_after_ns - clock.host_before_ns;
    if (width < out->width_ns) *out = {clock.host_before_ns + width / 2, clock.device_clock, width};
  }
  return Status::Ok();
}

Status DeviceSession::Stats(npuprof_stats* out) {
  *out = npuprof_stats{};
  out->size = sizeof *out;
  return Request(NPUPROF_IOC_STATS, out, "give its statistics");
}

npuprof_add_ring MakeRing(uint32_t channel, uint32_t slots) {
  npuprof_add_ring ring{};
  ring.size = sizeof ring;
  ring.channel = channel;
  ring.core = 0xffff;
  ring.slots = slots;
  return ring;
}

npuprof_add_ring MakeCoreRing(uint32_t channel, uint32_t slots, uint32_t core_kind, uint32_t core) {
  npuprof_add_ring ring = MakeRing(channel, slots);
  ring.core = static_cast<uint16_t>(core);
  ring.core_kind = static_cast<uint16_t>(core_kind);
  return ring;
}

}  // namespace npuprof::device
