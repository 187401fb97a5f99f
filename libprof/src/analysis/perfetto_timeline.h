// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/text.h"
#include "analysis/timeline_writer.h"

namespace npuprof::analysis {

/// The native form of Perfetto: a sequence of packets (perfetto/trace/trace_packet.proto). Keys and repeated texts
/// are sent once, times count from the start of the run. Slices of a stream that overlap without one holding the other get
/// tracks of their own. Arguments that say "none", or what the name of the track says, are left out.
class PerfettoTimeline final : public TimelineWriter {
 public:
  /// `origin_ns`: wall clock at the start of the run.
  PerfettoTimeline(const std::filesystem::path& path, int64_t origin_ns);
  void Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) override;
  void Thread(uint64_t process, uint64_t thread, std::string_view name) override;
  void Slice(const TimelineSlice& slice) override;
  void Counter(uint64_t process, std::string_view name, int64_t wall_ns,
               std::span<const TimelineArg> values) override;
  bool wants_nesting() const override { return true; }
  uint64_t events() const override { return events_; }
  std::vector<std::filesystem::path> files() const override { return {file_.path()}; }
  void Commit() override;

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // process and thread
  struct Lane {
    uint64_t track = 0;
    int64_t last_begin_ns = 0;
    std::vector<int64_t> open_ends_ns;  ///< the outermost first
  };
  struct Track {
    uint64_t id = 0;
    std::string name;
    std::vector<Lane> lanes;
  };
  /// Texts that are named by number from the second time on, as many occur once; or from the first.
  struct Pool {
    uint32_t field;  ///< of InternedData
    bool at_once;
    uint64_t last;
    std::unordered_map<std::string, uint64_t> ids;  ///< 0: seen and not sent
  };

  uint64_t LaneOf(Track* track, int64_t begin_ns, int64_t end_ns);
  uint64_t Describe(uint64_t parent, std::string_view name, bool counter);
  /// 0 if the text is to be written in place.
  uint64_t Intern(Pool* pool, std::string_view text);
  void AddArg(const TimelineArg& arg, std::string* event);
  void WriteClocks();
  void Event(int64_t wall_ns, const std::string& event, bool needs_state);
  void Packet(const std::string& body);

  OutputFile file_;
  std::map<Key, Track> tracks_;
  std::map<std::pair<uint64_t, std::string>, uint64_t> counters_;
  std::map<uint64_t, uint64_t> processes_;
  Track* last_ = nullptr;
  Key last_key_;
  Pool categories_, names_, keys_, texts_;
  std::string interned_;  ///< entries of InternedData that the next packet carries
  std::string event_, name_, body_, packet_;
  uint64_t next_track_ = 1;
  int64_t origin_ns_;
  uint64_t events_ = 0;
};

}  // namespace npuprof::analysis
