// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "analysis/timeline_writer.h"

namespace npuprof::analysis {

/// A file of the timeline that costs only itself: when it cannot be written it is given up, and the others go on. A full disk
/// is thrown on as NoRoom.
class CarefulWriter final : public TimelineWriter {
 public:
  /// `failed` is called once with the reason.
  CarefulWriter(std::unique_ptr<TimelineWriter> writer, std::function<void(const std::string&)> failed);

  void Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) override;
  void Thread(uint64_t process, uint64_t thread, std::string_view name) override;
  void Slice(const TimelineSlice& slice) override;
  void Counter(uint64_t process, std::string_view name, int64_t wall_ns,
               std::span<const TimelineArg> values) override;
  bool wants_nesting() const override { return wants_nesting_; }
  uint64_t events() const override { return writer_ ? writer_->events() : 0; }
  std::vector<std::filesystem::path> files() const override {
    return writer_ ? writer_->files() : std::vector<std::filesystem::path>();
  }
  void Commit() override;
  bool failed() const { return !writer_; }

 private:
  template <typename Action>
  void Try(Action action);

  std::unique_ptr<TimelineWriter> writer_;  ///< null when it has failed
  std::function<void(const std::string&)> failed_;
  bool wants_nesting_;
};

}  // namespace npuprof::analysis
