// SPDX-License-Identifier: Apache-2.0
#include "analysis/careful_writer.h"

#include "analysis/no_room.h"

namespace npuprof::analysis {

CarefulWriter::CarefulWriter(std::unique_ptr<TimelineWriter> writer,
                             std::function<void(const std::string&)> failed)
    : writer_(std::move(writer)), failed_(std::move(failed)), wants_nesting_(writer_->wants_nesting()) {}

template <typename Action>
void CarefulWriter::Try(Action action) {
  if (!writer_) return;
  try {
    action();
  } catch (const NoRoom&) {
    throw;
  } catch (const Error& error) {
    writer_.reset();
    failed_(error.what());
  }
}

void CarefulWriter::Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) {
  Try([&] { writer_->Process(process, name, label, rank); });
}

void CarefulWriter::Thread(uint64_t process, uint64_t thread, std::string_view name) {
  Try([&] { writer_->Thread(process, thread, name); });
}

void CarefulWriter::Slice(const TimelineSlice& slice) {
  Try([&] { writer_->Slice(slice); });
}

void CarefulWriter::Counter(uint64_t process, std::string_view name, int64_t wall_ns,
                            std::span<const TimelineArg> values) {
  Try([&] { writer_->Counter(process, name, wall_ns, values); });
}

void CarefulWriter::Commit() {
  Try([&] { writer_->Commit(); });
}

}  // namespace npuprof::analysis
