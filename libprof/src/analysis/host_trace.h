// SPDX-License-Identifier: Apache-2.0
// The host's account of the run: which task was launched for which operator, by which call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/clock.h"
#include "analysis/diagnostics.h"
#include "analysis/dictionary.h"
#include "analysis/profile.h"
#include "analysis/slices.h"
#include "analysis/spill.h"

namespace npuprof::analysis {

constexpr uint32_t kNoContext = 0xffffffff;
constexpr uint32_t kNoModel = 0xffffffff;

/// An operator as node_basic_info, tensor_info and context_id_info describe it. Texts are StringPool ids.
struct Operator {
  uint32_t name = 0;
  uint32_t type = 0;
  uint32_t task_type = 0;      ///< NodeTaskType()
  uint32_t block_num = 0;      ///< blocks of the main core kind
  uint32_t mix_block_num = 0;  ///< blocks of the other kind, 0 if not mixed
  bool hf32 = false;
  bool is_static = false;
  bool has_tensors = false;
  uint32_t input_shapes = 0, input_types = 0, input_formats = 0;
  uint32_t output_shapes = 0, output_types = 0, output_formats = 0;
  std::vector<uint32_t> contexts;
};

/// A task that the host submitted.
struct Track {
  enum Flags : uint16_t {
    kRunsOperator = 1,  ///< its type executes operators
    kFromAcl = 2,       ///< connection is an ACL call, not an operator launch
  };
  uint64_t time = 0;        ///< host cycles
  uint32_t kernel = 0;      ///< StringPool id
  uint32_t operators = 0;   ///< index of a set of operators, 0 = none
  uint32_t name = 0;        ///< of the operator if the set has one alone
  uint32_t connection = 0;  ///< Api::number, 0 = none
  uint32_t thread = 0;      ///< dense index while loading, unused afterwards
  uint32_t copy = 0;        ///< index of copies(), 0 = none
  uint16_t type = 0;        ///< runtime task type
  uint16_t flags = 0;
  uint16_t device = 0, stream = 0, task = 0, batch = 0;
};
static_assert(sizeof(Track) == 48, "one per task of the run");

struct Copy {
  uint64_t bytes = 0;
  uint16_t direction = 0;
};

/// Sums over all calls of one name, in host cycles.
struct ApiSum {
  uint64_t count = 0;
  uint64_t min = UINT64_MAX, max = 0;
  unsigned __int128 sum = 0;
  long double squares = 0;
};

/// A stretch of task ids on one stream, told apart by its number.
struct Flip {
  uint64_t time = 0;    ///< host cycles or device ticks
  uint16_t number = 0;  ///< batch that begins here
  uint16_t first_task = 0;
};
using Flips = std::map<std::pair<uint16_t, uint16_t>, std::vector<Flip>>;  ///< by device and stream

class HostTrace {
 public:
  HostTrace(StringPool* pool, SpillSpace* space, Diagnostics* diagnostics)
      : pool_(pool), space_(space), diagnostics_(diagnostics), names_(pool, space), tracks_(space) {}

  /// Reads and joins everything. A profile without a host part gives an empty trace.
  void Load(const Profile& profile, const SliceIndex& index, const std::function<void(uint64_t)>& progress);

  /// Replaces batch 0 of tasks on streams whose only flips the device saw: they were all submitted later.
  void AssignBatches(const Flips& device_flips);

  /// The track of a task: of several with the same ids the last one submitted by `wall_ns`. nullptr if none.
  /// With `any_batch` the batch is ignored: for streams whose wraps only one side recorded.
  const Track* Find(uint16_t device, uint16_t stream, uint16_t task, uint16_t batch, int64_t wall_ns,
                    bool any_batch) const;
  /// Wall time of a launch, in ns.
  int64_t Launched(const Track& track) const;
  bool has_flips(uint16_t device, uint16_t stream) const { return flips_.contains({device, stream}); }

  uint32_t IndexOf(const Track* track) const { return static_cast<uint32_t>(track - tracks_.data()); }
  const Track& track(uint32_t index) const {
    space_->Tick();
    return tracks_[index];
  }
  /// Operators that the launch of a task is for. Valid until the next call for another task.
  std::span<const Operator> Operators(const Track& track) const;
  /// Whether any launch is for a collective.
  bool has_collectives() const;
  const Copy& copy(uint32_t id) const { return copies_[id]; }
  const std::string& type_name(uint16_t runtime_type);
  /// Model that a captured stream belongs to at a time, kNoModel if none. Numbers of streams are used again.
  uint32_t Model(uint16_t device, uint16_t stream, int64_t wall_ns) const;
  Dictionary& names() { return names_; }

  /// By level and name (StringPool id).
  const std::map<std::pair<uint16_t, uint32_t>, ApiSum>& api_sums() const { return api_sums_; }
  uint32_t apis() const { return apis_; }
  size_t tracks() const { return tracks_.size(); }
  bool has_clock() const { return clock_.has_value(); }
  const HostClock& clock() const { return *clock_; }
  /// Name under which calls are counted and shown.
  uint32_t ApiName(uint16_t level, uint32_t type, uint64_t item);
  /// Registered name of a type, else its number.
  uint32_t TypeName(uint16_t level, uint32_t type);

 private:
  friend class HostJoin;
  void SetBatch(size_t from, size_t to, uint16_t batch);

  StringPool* pool_;
  SpillSpace* space_;
  Diagnostics* diagnostics_;
  Dictionary names_;
  std::optional<HostClock> clock_;
  SpillVector<Track> tracks_;  // by device, stream, task, batch, time
  Flips flips_;
  std::vector<std::vector<Operator>> operator_sets_{1};  // those of one operator without its name
  mutable Operator named_;                               // one of these with its name
  std::vector<Copy> copies_{1};
  struct Captured {
    int64_t from, until;  ///< wall clock
    uint32_t model;
  };
  std::unordered_map<uint32_t, std::vector<Captured>> models_;  // device << 16 | stream; in order
  std::map<std::pair<uint16_t, uint32_t>, ApiSum> api_sums_;
  std::unordered_map<uint16_t, std::string> type_names_;
  uint32_t apis_ = 0;
};

}  // namespace npuprof::analysis
