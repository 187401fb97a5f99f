// SPDX-License-Identifier: Apache-2.0
#include "session/subscription.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <unordered_map>

#include "base/quiet_write.h"
#include "session/log.h"

namespace npuprof {
namespace {

// So many fit into what a pipe takes at once, whole.
constexpr size_t kAtOnce = 4096 / sizeof(op_item::Item);
// What comes for one pipe while another is full waits so long at most.
constexpr int kPollMs = 10;

struct Registry {
  OwnedMutex mutex;
  std::unordered_map<const aclprofSubscribeConfig*, std::unique_ptr<aclprofSubscribeConfig>> living;
};

Registry& Living() {
  static Registry& registry = *new Registry;
  return registry;
}

Result NotLiving(const void* config) {
  return Result::Fail(code::kInvalidParam,
                      fmt::format("subscription configuration {} is not one made by "
                                  "aclprofCreateSubscribeConfig, or was destroyed already",
                                  config));
}

uint64_t Micros(uint64_t ticks, uint64_t hz) {
  return hz == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * 1'000'000 / hz);
}

}  // namespace

OwnedMutex& SubscribeConfigLock() {
  return Living().mutex;
}

Result CreateSubscribeConfig(int8_t times, int metrics, void* fd, aclprofSubscribeConfig** out) {
  *out = nullptr;
  if (!fd) return Result::Null("the descriptor of the subscription");
  if (times != 0 && times != 1)
    return Result::Fail(code::kInvalidParam, fmt::format("timeInfoSwitch is {}; allowed are 0 and 1", times));
  auto made = std::make_unique<aclprofSubscribeConfig>();
  *made = {times == 1, metrics, static_cast<int*>(fd)};
  aclprofSubscribeConfig* const config = made.get();
  Registry& registry = Living();
  {
    std::lock_guard<OwnedMutex> lock(registry.mutex);
    registry.living.emplace(config, std::move(made));
  }
  *out = config;
  return Result::Ok();
}

Result DestroySubscribeConfig(const aclprofSubscribeConfig* config) {
  if (!config) return Result::Null("the subscription configuration to destroy");
  Registry& registry = Living();
  std::lock_guard<OwnedMutex> lock(registry.mutex);
  return registry.living.erase(config) ? Result::Ok() : NotLiving(config);
}

Result CopySubscribeConfig(const aclprofSubscribeConfig* config, aclprofSubscribeConfig* copy) {
  if (!config) return Result::Null("the subscription configuration");
  Registry& registry = Living();
  std::lock_guard<OwnedMutex> lock(registry.mutex);
  const auto known = registry.living.find(config);
  if (known == registry.living.end()) return NotLiving(config);
  *copy = *known->second;
  return Result::Ok();
}

Subscription::Subscription(std::string directory, std::chrono::milliseconds patience)
    : directory_(std::move(directory)),
      patience_(patience),
      joiner_([this](const OpJoiner::Operator& op) { Take(op); }) {
  // Signals are the program's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { Write(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Subscription::~Subscription() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  more_.notify_all();
  thread_.join();
}

void Subscription::Add(uint32_t model, uint32_t device, const aclprofSubscribeConfig& config) {
  std::lock_guard<std::mutex> lock(mutex_);
  models_[model] = {device, config};
}

std::map<uint32_t, Subscription::Model> Subscription::models() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return models_;
}

uint64_t Subscription::Remove(uint32_t model) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return lost_;
  int* fd = found->second.config.fd;
  models_.erase(found);
  sent_.wait_for(lock, patience_, [&] { return !sending_.contains(fd) && !waiting_.contains(fd); });
  const auto any = [this](auto fits) {
    return std::ranges::any_of(models_, [&](const auto& entry) { return fits(entry.second.config.fd); });
  };
  if (!any([fd](const int* other) { return other == fd; })) {
    if (const auto left = waiting_.find(fd); left != waiting_.end()) {
      lost_ += left->second.size();
      waiting_items_ -= left->second.size();
      waiting_.erase(left);
    }
    // The writer looks at the descriptor for the length of a poll at most.
    sent_.wait(lock, [&] { return !sending_.contains(fd); });
    // Another subscription may have the same pipe, told by a number of its own.
    if (*fd >= 0 && !any([fd](const int* other) { return *other == *fd; })) {
      close(*fd);
      *fd = -1;
    }
  }
  return lost_;
}

void Subscription::Take(const OpJoiner::Operator& op) {
  op_item::Item item{};
  item.model = op.model;
  item.thread = op.thread;
  item.device = op.device;
  item.operator_number = op_item::NumberOf(op.name, op.type);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto model = models_.find(op.model);
  if (model == models_.end() || model->second.device != op.device) return;
  if (model->second.config.times) {
    item.start = Micros(op.start, op.clock_hz);
    item.end = Micros(op.end, op.clock_hz);
    item.duration = Micros(op.end - op.start, op.clock_hz);
    item.execution = item.duration;
  }
  int* const pipe = model->second.config.fd;
  if (waiting_items_ >= kMostWaiting && !MakeRoom(pipe)) {
    ++lost_;
    return;
  }
  op_item::Sign(&item);
  waiting_[pipe].push_back(item);
  ++waiting_items_;
  more_.notify_one();
}

// The pipe for which most waits gives up its newest item, unless it is @p pipe itself: one that nobody reads must not take
// the room of all.
bool Subscription::MakeRoom(const int* pipe) {
  const auto most =
      std::ranges::max_element(waiting_, {}, [](const auto& entry) { return entry.second.size(); });
  if (most == waiting_.end() || most->first == pipe || most->second.size() <= kAtOnce) return false;
  most->second.pop_back();
  --waiting_items_;
  ++lost_;
  return true;
}

void Subscription::Write() {
  pthread_setname_np(pthread_self(), "npuprof-pipe");
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return end_ || !waiting_.empty(); });
    if (end_) return;
    std::vector<Batch> batches;
    for (const auto& [pipe, items] : waiting_) {
      const auto count = static_cast<ptrdiff_t>(std::min(items.size(), kAtOnce));
      batches.push_back({pipe, *pipe, {items.begin(), items.begin() + count}});
      sending_.insert(pipe);
    }
    lock.unlock();
    Send(&batches);
    lock.lock();
    for (const Batch& batch : batches) {
      if (batch.lost) lost_ += batch.items.size();
      const auto found = batch.gone ? waiting_.find(batch.pipe) : waiting_.end();
      if (found == waiting_.end()) continue;
      const size_t count = std::min(batch.items.size(), found->second.size());
      found->second.erase(found->second.begin(), found->second.begin() + static_cast<ptrdiff_t>(count));
      waiting_items_ -= count;
      if (found->second.empty()) waiting_.erase(found);
    }
    sending_.clear();
    sent_.notify_all();
  }
}

void Subscription::Send(std::vector<Batch>* batches) {
  std::vector<pollfd> pipes;
  for (const Batch& batch : *batches) pipes.push_back({batch.fd, POLLOUT, 0});
  // One that is closed (a negative number) is ready for that at once.
  const bool any_closed = std::ranges::any_of(pipes, [](const pollfd& pipe) { return pipe.fd < 0; });
  if (poll(pipes.data(), pipes.size(), any_closed ? 0 : kPollMs) < 0) return;
  for (size_t i = 0; i < pipes.size(); ++i) {
    // Two entries may be one pipe under two numbers, and what went for the first took the room that both saw.
    if (i > 0 && poll(&pipes[i], 1, 0) < 0) return;
    const bool closed = pipes[i].fd < 0 || (pipes[i].revents & POLLNVAL) != 0;
    if (closed || pipes[i].revents != 0) Send(&(*batches)[i], closed);
  }
}

void Subscription::Send(Batch* batch, bool closed) {
  const QuietWrite quiet;
  const size_t bytes = batch->items.size() * sizeof(op_item::Item);
  const ssize_t written = closed ? -1 : write(batch->fd, batch->items.data(), bytes);
  if (!closed && written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  batch->gone = true;
  if (written == static_cast<ssize_t>(bytes)) return;
  LogError("a subscription's pipe takes no operators any more: nobody reads it, or it is closed");
  batch->lost = true;
}

}  // namespace npuprof
