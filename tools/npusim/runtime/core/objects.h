// SPDX-License-Identifier: Apache-2.0
// Objects behind the handles of rt.h.
//
// Lock order: Event, Stream, Graph, Device. Streams and contexts are never freed while the process lives, they are
// marked dead and streams reused, so a completion may touch them without counting references.
#ifndef NPUSIM_RUNTIME_CORE_OBJECTS_H
#define NPUSIM_RUNTIME_CORE_OBJECTS_H

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "host/npusim_host.h"
#include "runtime/core/rt.h"

namespace npusim {

class Device;
struct Graph;
struct Stream;

// One recording of an event: when it happened.
struct Stamp {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int status = 0;
  uint64_t ns = 0;

  void Finish(uint64_t at, int result);
  void Wait();
};

// What a task does to memory or events when it ends.
struct Effect {
  enum Kind : uint8_t { kNone, kCopy, kFill, kReduce, kStamp } kind = kNone;
  RtReduce reduce{};
  int value = 0;
  void* dst = nullptr;
  const void* src = nullptr;
  size_t bytes = 0;
  std::shared_ptr<Stamp> stamp;

  void Apply(uint64_t ns, int status) const;
};

// A task on its way to a device, and what the profiler is told about it.
struct TaskSpec {
  npusim_task task{};
  Effect effect;
  uint64_t track_type = 0;  // MSPROF_RTS_TASK_*
  uint64_t kernel = 0;
  bool is_copy = false;  // with memcpy_info
  uint16_t copy_direction = 0;
};

struct Context {
  Device* device = nullptr;
  Stream* default_stream = nullptr;
  std::atomic<bool> alive{true};
};

// How a stream takes part in a capture.
struct CaptureSide {
  Graph* graph = nullptr;
  size_t index = 0;  // among the graph's streams
};

struct Stream {
  static constexpr uint64_t kMagic = 0x4d41455254535054;
  static constexpr uint64_t kMaxPending =
      32768;  // below half the range of task ids, so ids in flight are unique

  uint64_t magic = kMagic;
  Device* device = nullptr;
  uint16_t id = 0;
  std::atomic<bool> alive{false};
  Context* context = nullptr;

  std::mutex mutex;  // submission order and the fields up to capture
  uint32_t next_task = 0;
  uint32_t flips = 0;
  CaptureSide capture;

  std::atomic<uint64_t> submitted{0};
  std::atomic<uint64_t> ended{0};
  std::atomic<int> failure{0};  // first status other than 0
  std::atomic<uint32_t> waiters{0};
  std::mutex wait_mutex;
  std::condition_variable changed;

  // Takes the next task id, announcing a new round of ids first; needs mutex.
  uint16_t NextTask();
  // Submits or records the task and tells the profiler. Returns an ACL code.
  int Put(const TaskSpec& spec);
  // The same with the contexts of one FFTS+ task, in the order in which they run. A stream that captures refuses.
  int PutParts(std::vector<npusim_task> parts, uint64_t kernel);
  // Submits with the id already in the task; needs mutex.
  int Submit(const npusim_task& task, const Effect& effect);
  // Waits until all that was submitted so far ended; false after timeout_ms (-1: none).
  bool Wait(int32_t timeout_ms);
  bool WaitUntilEnded(uint64_t count, int32_t timeout_ms);
  void TaskEnded(int status);
};

struct Event {
  static constexpr uint64_t kMagic = 0x544e455645505341;
  uint64_t magic = kMagic;
  uint32_t flags = 0;
  std::mutex mutex;
  Device* device = nullptr;  // where it was recorded first
  uint32_t sync_id = 0;
  std::shared_ptr<Stamp> stamp;  // of the latest record
  // Latest record inside a capture: stream and number of its tasks then.
  std::weak_ptr<Graph> graph;
  size_t graph_stream = 0;
  size_t graph_position = 0;
};

struct Notify {
  static constexpr uint64_t kMagic = 0x594649544f4e5053;
  uint64_t magic = kMagic;
  Device* device = nullptr;
  uint32_t sync_id = 0;
};

// Numbers for events or notifies of a device, reused as late as possible.
class SyncIds {
 public:
  bool Take(uint32_t* id);
  void Give(uint32_t id);

 private:
  std::vector<bool> used_ = std::vector<bool>(65536);
  uint32_t next_ = 0;
};

class Device {
 public:
  static constexpr uint32_t kStreams = 2048;  // larger numbers would read as flags in task records
  static constexpr size_t kMemoryBytes = size_t{64} << 30;

  Device(uint32_t driver_id, uint32_t program_number) : id(driver_id), number(program_number) {}

  const uint32_t id;      // of the driver, and in everything that is reported
  const uint32_t number;  // by which the program knows it
  std::mutex mutex;       // all that follows
  int users = 0;
  Context* primary = nullptr;
  std::vector<std::unique_ptr<Context>> contexts;
  std::array<std::unique_ptr<Stream>, kStreams> streams;
  SyncIds events;
  SyncIds notifies;
  struct Block {
    size_t bytes;
    RtModule module;
  };
  std::map<uintptr_t, Block> memory;
  size_t memory_used = 0;

  // What modules hold, by their numbers, and whether they ever held any. Without the mutex: the profiler asks while
  // somebody has it who waits for the profiler.
  static constexpr uint32_t kModules = 64;
  struct Held {
    std::atomic<uint64_t> bytes{0};
    std::atomic<bool> known{false};
  };
  std::array<Held, kModules> held;

  int Open();
  int Close();
  // A live stream of @p context, or nullptr if all numbers are taken.
  Stream* NewStream(Context* context);
  void WaitIdle();
};

class Runtime {
 public:
  static Runtime& Get();

  Device* device(int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < devices_.size() ? devices_[static_cast<size_t>(id)].get()
                                                                : nullptr;
  }
  uint32_t count() const { return static_cast<uint32_t>(devices_.size()); }
  // Why there is none.
  std::string trouble() const;
  // Device whose memory holds @p address, or nullptr.
  Device* Owner(const void* address);

 private:
  Runtime();
  std::vector<std::unique_ptr<Device>> devices_;
  std::string hidden_;  // what hides all devices, or ""
};

// A sentence on a device that is not there: what ids are allowed, or why there is none at all.
std::string NoSuchDevice(int64_t id);

// Context of the calling thread, nullptr if it has none that lives.
Context* CurrentContext();
void SetCurrentContext(Context* context);

// Resolves a handle; nullptr is the default stream. On failure *code is set and nullptr returned.
Stream* ResolveStream(void* handle, int* code);
Event* ResolveEvent(void* handle, int* code);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_CORE_OBJECTS_H
