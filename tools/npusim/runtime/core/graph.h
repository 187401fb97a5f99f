// SPDX-License-Identifier: Apache-2.0
// Graphs: tasks recorded from streams and run again as often as wanted.
//
// After the capture the contents never change. Every stream that takes part gets a stream number of its own for the graph's life, and every recorded task its
// id there; a replay submits the same numbers again. Two events tie a replay to the stream that executes it.
#ifndef NPUSIM_RUNTIME_CORE_GRAPH_H
#define NPUSIM_RUNTIME_CORE_GRAPH_H

#include <list>

#include "runtime/core/objects.h"

namespace npusim {

struct Graph : std::enable_shared_from_this<Graph> {
  static constexpr uint64_t kMagic = 0x4850415247505352;

  struct Side {
    Stream* origin = nullptr;  // the program's stream, while it captures
    uint16_t origin_id = 0;
    Stream* model = nullptr;   // where replays run
    size_t tasks = 0;          // recorded so far
    std::vector<size_t> seen;  // tasks of each side that this side's next task waits for
  };
  struct Recorded {
    size_t side;
    npusim_task task;
    Effect effect;
    uint64_t track_type;
    uint64_t kernel;
    bool is_copy;
    uint16_t copy_direction;
    int op;  // index in ops, or -1
  };

  uint64_t magic = kMagic;
  uint16_t id = 0;
  Device* device = nullptr;
  std::mutex mutex;         // all below while capturing; nothing of it changes later
  std::mutex replay_mutex;  // one replay is submitted at a time
  std::atomic<bool> capturing{true};
  uint32_t begin_event = 0, end_event = 0;
  std::vector<Side> sides;
  std::vector<Recorded> tasks;
  std::vector<RtOperator> ops;

  // Lets @p stream take part; returns false if the device has no stream number left. Needs mutex and the
  // stream's mutex.
  bool Join(Stream* stream);
  // Records a task of a side; needs mutex. Returns its id.
  uint16_t Record(size_t side, const TaskSpec& spec, const RtOperator* op);
  // Side @p side will wait for the first @p position tasks of side @p other. Needs mutex.
  void Order(size_t side, size_t other, size_t position);
};

// Operator that the calling thread is launching, so that a capture can keep its description.
const RtOperator*& LaunchingOperator();

// Destroys the graphs of a device, whose tasks have all ended.
void DropGraphs(Device* device);

// Reports every graph that exists as if it were captured now.
void DescribeLiveGraphs();

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_CORE_GRAPH_H
