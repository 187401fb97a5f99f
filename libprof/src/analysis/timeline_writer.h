// SPDX-License-Identifier: Apache-2.0
// What a timeline is made of, whatever the file it goes to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace npuprof::analysis {

/// A remark beside a slice, or a value of a counter.
struct TimelineArg {
  enum class Kind { kNumber, kReal, kMicros, kText };
  std::string_view key;
  Kind kind = Kind::kNumber;
  uint64_t number = 0;
  double real = 0;
  int64_t ns = 0;  ///< shown in microseconds
  std::string_view text;

  static TimelineArg Number(std::string_view key, uint64_t value) {
    return {key, Kind::kNumber, value, 0, 0, {}};
  }
  static TimelineArg Real(std::string_view key, double value) { return {key, Kind::kReal, 0, value, 0, {}}; }
  static TimelineArg Micros(std::string_view key, int64_t ns) { return {key, Kind::kMicros, 0, 0, ns, {}}; }
  static TimelineArg Text(std::string_view key, std::string_view value) {
    return {key, Kind::kText, 0, 0, 0, value};
  }
};

/// An end of an arrow between two slices.
struct TimelineFlow {
  enum class End { kStart, kFinish };
  std::string_view name;  ///< the id is appended to it
  std::string_view category;
  uint64_t id = 0;
  End end = End::kStart;
};

struct TimelineSlice {
  uint64_t process = 0, thread = 0;
  std::string_view prefix, name;  ///< shown one after the other
  int64_t begin_ns = 0, end_ns = 0;
  std::string_view category;  ///< may be empty
  std::span<const TimelineArg> args;
  const TimelineFlow* flow = nullptr;  ///< touches the slice at its begin
};

/// A file of one format. Processes and threads come before what is in them.
class TimelineWriter {
 public:
  virtual ~TimelineWriter() = default;
  virtual void Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) = 0;
  virtual void Thread(uint64_t process, uint64_t thread, std::string_view name) = 0;
  virtual void Slice(const TimelineSlice& slice) = 0;
  virtual void Counter(uint64_t process, std::string_view name, int64_t wall_ns,
                       std::span<const TimelineArg> values) = 0;
  /// Whether calls of the host have to come in the order of their begin, those that hold others before these. Others
  /// get them in the order of their records.
  virtual bool wants_nesting() const { return false; }
  /// Events so far, metadata included.
  virtual uint64_t events() const = 0;
  /// The files that a Commit() right now leaves.
  virtual std::vector<std::filesystem::path> files() const = 0;
  virtual void Commit() = 0;
};

}  // namespace npuprof::analysis
