// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace npuprof::analysis {

/// Names of the operators that a device ran, for records that tell stream and task but no time. Identifiers come round;
/// of records in the order of the tasks the n-th with some identifiers is of the n-th task with them.
class TaskNames {
 public:
  /// In order of start. `name` is a StringPool id.
  void Add(uint16_t stream, uint16_t task, uint32_t name) { names_[Key(stream, task)].push_back(name); }

  /// The records of one file, which is read twice.
  class Records {
   public:
    explicit Records(const TaskNames* names) : names_(names) {}
    /// For each record, before the first Next().
    void Count(uint16_t stream, uint16_t task) { ++places_[Key(stream, task)].records; }
    /// Name of the operator of the next record with these identifiers, 0 ("N/A") if it is not sure: if some of the
    /// tasks or records are missing, only a name that all the tasks have is.
    uint32_t Next(uint16_t stream, uint16_t task) {
      if (!names_) return 0;
      const auto found = names_->names_.find(Key(stream, task));
      if (found == names_->names_.end()) return 0;
      const auto& names = found->second;
      Place& place = places_[Key(stream, task)];
      if (place.records == names.size() && place.next < names.size()) return names[place.next++];
      if (!place.judged) {
        place.judged = true;
        place.equal =
            std::all_of(names.begin(), names.end(), [&](uint32_t name) { return name == names[0]; });
      }
      return place.equal ? names[0] : 0;
    }

   private:
    struct Place {
      size_t records = 0, next = 0;
      bool judged = false, equal = false;  ///< whether all tasks have the same name, judged once
    };
    const TaskNames* names_;
    std::unordered_map<uint32_t, Place> places_;
  };

 private:
  static uint32_t Key(uint16_t stream, uint16_t task) { return static_cast<uint32_t>(stream) << 16 | task; }
  std::unordered_map<uint32_t, std::vector<uint32_t>> names_;
};

}  // namespace npuprof::analysis
