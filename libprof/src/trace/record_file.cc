// SPDX-License-Identifier: Apache-2.0
#include "trace/record_file.h"

#include <fmt/format.h>

#include <cstring>

#include "drain/collection_state.h"
#include "drain/staged_file.h"

namespace npuprof::trace {
namespace {

// The running counter sits in bits 6 to 9 of a record's first word; rings leave it zero.
void Stamp(std::byte* record, size_t size, size_t count, unsigned* counter) {
  for (size_t i = 0; i < count; ++i, record += size) {
    uint16_t head;
    std::memcpy(&head, record, sizeof head);
    head = static_cast<uint16_t>((head & ~0x3c0u) | ((*counter & 0xf) << 6));
    std::memcpy(record, &head, sizeof head);
    ++*counter;
  }
}

// Data without which the rest cannot be read is never removed to keep a limit. The published collector decides by name.
bool MayAge(std::string_view name) {
  for (std::string_view kept :
       {"unaging", "hash_dic", "type_info_dic", "model_load_info", "task_desc_info", "id_map_info",
        "fusion_op_info", "tensor_data_info", "step_info", "training_trace"}) {
    if (name.find(kept) != std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

RecordFile::RecordFile(drain::Collection& collection, RecordSpec spec) : spec_(std::move(spec)) {
  if (spec_.ring_record_size == 0) spec_.ring_record_size = spec_.record_size;
  file_ = collection.state()->NewFile(fmt::format("{}/{}", spec_.directory, spec_.name), spec_.record_size,
                                      spec_.slice_bytes, MayAge(spec_.name));
}

RecordFile::~RecordFile() = default;

size_t RecordFile::Append(const void* records, size_t count, drain::Ledger* ledger) {
  if (file_->failed() || file_->closed()) {
    file_->Refuse(count, ledger);
    return count;
  }
  const auto* in = static_cast<const std::byte*>(records);
  size_t taken = 0;
  while (taken < count) {
    size_t room = count - taken;
    std::byte* out = file_->Reserve(&room);
    if (room == 0) break;
    size_t kept = room;
    if (spec_.convert == nullptr) {
      std::memcpy(out, in, room * spec_.record_size);
    } else {
      kept = 0;
      for (size_t i = 0; i < room; ++i) {
        if (spec_.convert(in + i * spec_.ring_record_size, out + kept * spec_.record_size, spec_.context))
          ++kept;
      }
      if (ledger != nullptr) {
        ledger->accepted += room - kept;
        ledger->written += room - kept;
      }
    }
    if (spec_.stamp_counter) Stamp(out, spec_.record_size, kept, &counter_);
    if (kept > 0) file_->Commit(kept, ledger);
    in += room * spec_.ring_record_size;
    taken += room;
  }
  return taken;
}

bool RecordFile::AppendUnit(const void* data, size_t size, drain::Ledger* ledger) {
  if (file_->failed() || file_->closed() || size > drain::kMaxUnitBytes) {
    file_->Refuse(1, ledger);
    return true;
  }
  return file_->AppendUnit(data, size, ledger);
}

bool RecordFile::failed() const {
  return file_->failed();
}

FileReport RecordFile::Report(const std::string& root) const {
  FileReport report;
  const drain::Aged& aged = file_->aged();
  report.path = file_->path() + ".slice_0";
  if (report.path.compare(0, root.size() + 1, root + "/") == 0) report.path.erase(0, root.size() + 1);
  report.record_bytes = spec_.record_size;
  report.aged_records = aged.records;
  report.aged_slices = aged.slices;
  report.records = file_->records() - aged.records;
  report.bytes = file_->bytes() - aged.bytes;
  report.slices = file_->slices() - aged.slices;
  report.lost = file_->lost();
  report.error = file_->error();
  return report;
}

std::string HostFileName(bool aging, std::string_view kind_and_tag) {
  return fmt::format("{}.{}", aging ? "aging" : "unaging", kind_and_tag);
}

std::string DeviceFileName(std::string_view kind, uint32_t device_id) {
  return fmt::format("{}.data.{}", kind, device_id);
}

}  // namespace npuprof::trace
