// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "analysis/text.h"
#include "analysis/timeline_writer.h"

namespace npuprof::analysis {

/// The published form: an array of trace events, one a line.
class JsonTimeline final : public TimelineWriter {
 public:
  explicit JsonTimeline(const std::filesystem::path& path);
  void Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) override;
  void Thread(uint64_t process, uint64_t thread, std::string_view name) override;
  void Slice(const TimelineSlice& slice) override;
  void Counter(uint64_t process, std::string_view name, int64_t wall_ns,
               std::span<const TimelineArg> values) override;
  uint64_t events() const override { return events_; }
  void Commit() override;

 private:
  TextBuffer& Begin();
  void End() { file_.WriteSome(); }
  void Flow(const TimelineSlice& slice);

  OutputFile file_;
  TextBuffer name_;
  uint64_t events_ = 0;
};

}  // namespace npuprof::analysis
