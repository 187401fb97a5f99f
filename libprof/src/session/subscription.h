// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl_prof.h"
#include "base/owned_mutex.h"
#include "session/op_item.h"
#include "session/op_joiner.h"
#include "session/result.h"

/// How a program wants to be told of a model's operators.
struct aclprofSubscribeConfig {
  bool times;
  int32_t metrics;  ///< aclprofAicoreMetrics
  int* fd;          ///< the program's; set to -1 when the library has closed what it held
};

namespace npuprof {

/// Living descriptions of subscriptions. Any thread.
Result CreateSubscribeConfig(int8_t times, int metrics, void* fd, aclprofSubscribeConfig** out);
Result DestroySubscribeConfig(const aclprofSubscribeConfig* config);
Result CopySubscribeConfig(const aclprofSubscribeConfig* config, aclprofSubscribeConfig* copy);
/// For forks; see fork_locks.h.
OwnedMutex& SubscribeConfigLock();

/// Sends the operators of subscribed models into their pipes. A thread of its own writes, so that a reader who is slow
/// holds up nothing but what is kept for it: other pipes go on. Of what is kept there is a bound, and what is beyond it is
/// counted.
class Subscription {
 public:
  static constexpr size_t kMostWaiting = 1 << 20;  ///< items for all pipes

  /// Starts the thread; throws std::system_error without one.
  /// @param patience  how long Remove() waits for a reader
  explicit Subscription(std::string directory, std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~Subscription();

  void Add(uint32_t model, uint32_t device, const aclprofSubscribeConfig& config);
  /// Sends what waits for its pipe, as long as there is patience, and closes the pipe unless another model uses it.
  /// @return items that were lost, of all models
  uint64_t Remove(uint32_t model);

  struct Model {
    uint32_t device;
    aclprofSubscribeConfig config;
  };
  std::map<uint32_t, Model> models() const;
  const std::string& directory() const {
    return directory_;
  }  ///< of the session's files, which nobody needs afterwards
  OpJoiner& tap() { return joiner_; }

 private:
  /// What goes into a pipe at once.
  struct Batch {
    int* pipe;
    int fd;
    std::vector<op_item::Item> items;
    bool gone = false;  ///< sent, or nobody will ever read it
    bool lost = false;
  };
  void Take(const OpJoiner::Operator& op);
  void Write();
  static void Send(std::vector<Batch>* batches);
  static void Send(Batch* batch, bool closed);
  bool MakeRoom(const int* pipe);

  const std::string directory_;
  const std::chrono::milliseconds patience_;
  OpJoiner joiner_;
  mutable std::mutex mutex_;  // all that follows
  std::condition_variable more_, sent_;
  std::map<uint32_t, Model> models_;
  std::map<int*, std::deque<op_item::Item>> waiting_;  // by pipe; none of them empty
  size_t waiting_items_ = 0;
  std::set<const int*> sending_;
  bool end_ = false;
  uint64_t lost_ = 0;
  std::thread thread_;
};

}  // namespace npuprof
