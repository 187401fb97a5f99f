// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analysis/text.h"
#include "analysis/timeline_writer.h"

namespace npuprof::analysis {

/// The published form: an array of trace events, one a line. A file ends with the event that makes it larger than
/// `most_bytes`, and if more come they are several, `msprof_slice_<k>_<timestamp>.json` with k from 0, each with what names
/// its processes and threads.
class JsonTimeline final : public TimelineWriter {
 public:
  /// `path`: "msprof_<timestamp>.json"
  explicit JsonTimeline(const std::filesystem::path& path, uint64_t most_bytes = 1'000'000'000);
  ~JsonTimeline() override;  ///< removes what was not committed
  JsonTimeline(const JsonTimeline&) = delete;
  JsonTimeline& operator=(const JsonTimeline&) = delete;
  void Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) override;
  void Thread(uint64_t process, uint64_t thread, std::string_view name) override;
  void Slice(const TimelineSlice& slice) override;
  void Counter(uint64_t process, std::string_view name, int64_t wall_ns,
               std::span<const TimelineArg> values) override;
  uint64_t events() const override { return events_; }
  std::vector<std::filesystem::path> files() const override;
  void Commit() override;

 private:
  TextBuffer& Begin();                      ///< an event, in the next file if this one is full
  TextBuffer& Next();                       ///< the same, in this file
  TextBuffer& Name(std::string_view kind);  ///< begins an event that names something
  void EndNames();
  void End() { file_->WriteSome(); }
  void Flow(const TimelineSlice& slice);
  void NextFile();

  std::filesystem::path path_;
  uint64_t most_bytes_;
  std::unique_ptr<OutputFile> file_;
  TextBuffer name_, metadata_;
  std::string named_;     ///< all metadata so far, as it is in a file
  uint64_t events_ = 0;   ///< without what is repeated
  uint64_t in_file_ = 0;  ///< events of the file, metadata included
  uint64_t slices_ = 0;   ///< files that are complete
  bool committed_ = false;
};

}  // namespace npuprof::analysis
