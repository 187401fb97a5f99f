// SPDX-License-Identifier: Apache-2.0
#include "session/module_memory.h"

#include "host/clock.h"

namespace npuprof {

ModuleMemorySource::ModuleMemorySource(const device::DeviceFile& device, trace::RecordFile& file,
                                       std::chrono::nanoseconds period)
    : device_(device), file_(file), period_(period) {
  meter_.Start(static_cast<uint64_t>(period.count()));
}

drain::Progress ModuleMemorySource::Poll(const drain::Pass& pass) {
  // One last sample at the end, as sampled rings have it, however often the last visit is repeated.
  if (ended_) return {};
  ended_ = pass.final;
  if (!device_.ReadModuleMemory(&held_)) return {};
  const uint64_t cycles = host::Cycles();
  meter_.Note(host::MonotonicRawNs());
  records_.clear();
  for (const auto& [module, bytes] : held_) records_.push_back({module, 0, cycles, bytes});
  // What finds no room is not repeated later: it would no longer be of its moment.
  no_room_ += records_.size() - file_.Append(records_.data(), records_.size(), &ledger_);
  return {};
}

trace::Manifest::Ring ModuleMemorySource::Describe(uint32_t number) const {
  trace::Manifest::Ring out;
  out.ring = number;
  out.channel = kFile;
  out.kept = ledger_.accepted - ledger_.lost;
  out.lost = ledger_.lost + no_room_;
  out.records = out.kept + out.lost;
  if (ledger_.lost > 0) out.lost_by_cause["write_failed"] = ledger_.lost;
  if (no_room_ > 0) out.lost_by_cause["ring_full"] = no_room_;
  out.sampling = meter_.Result();
  return out;
}

}  // namespace npuprof
