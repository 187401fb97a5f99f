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
constexpr int kPollMs = 100;
constexpr std::chrono::seconds kReaderPatience{5};

struct Registry {
  std::mutex mutex;
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

std::mutex& SubscribeConfigLock() {
  return Living().mutex;
}

Result CreateSubscribeConfig(int8_t times, int metrics, void* fd, aclprofSubscribeConfig** out) {
  *out = nullptr;
  if (!fd) return Result::Null("the descriptor of the subscription");
  if (times != 0 && times != 1)
    return Result::Fail(code::kInvalidParam, fmt::format("timeInfoSwitch is {}; allowed are 0 and 1", times));
  auto made = std::make_unique<aclprofSubscribeConfig>();
  *made = {times == 1, metrics, static_cast<int*>(fd)};
  *out = made.get();
  Registry& registry = Living();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.living.emplace(*out, std::move(made));
  return Result::Ok();
}

Result DestroySubscribeConfig(const aclprofSubscribeConfig* config) {
  if (!config) return Result::Null("the subscription configuration to destroy");
  Registry& registry = Living();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.living.erase(config) ? Result::Ok() : NotLiving(config);
}

Result CopySubscribeConfig(const aclprofSubscribeConfig* config, aclprofSubscribeConfig* copy) {
  if (!config) return Result::Null("the subscription configuration");
  Registry& registry = Living();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto known = registry.living.find(config);
  if (known == registry.living.end()) return NotLiving(config);
  *copy = *known->second;
  return Result::Ok();
}

Subscription::Subscription(std::string directory)
    : directory_(std::move(directory)), joiner_([this](const OpJoiner::Operator& op) { Take(op); }) {
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
  const auto of_pipe = [fd](const Waiting& one) { return one.fd == fd; };
  sent_.wait_for(lock, kReaderPatience,
                 [&] { return sending_ != fd && std::ranges::none_of(waiting_, of_pipe); });
  const auto any = [this](auto fits) {
    return std::ranges::any_of(models_, [&](const auto& entry) { return fits(entry.second.config.fd); });
  };
  if (!any([fd](const int* other) { return other == fd; })) {
    lost_ += std::erase_if(waiting_, of_pipe);
    // The writer looks at the descriptor for the length of a poll at most.
    sent_.wait(lock, [&] { return sending_ != fd; });
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
  if (waiting_.size() >= kMostWaiting) {
    ++lost_;
    return;
  }
  op_item::Sign(&item);
  waiting_.push_back({model->second.config.fd, item});
  more_.notify_one();
}

void Subscription::Write() {
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<op_item::Item> items;
  for (;;) {
    more_.wait(lock, [this] { return end_ || !waiting_.empty(); });
    if (end_) return;
    items.clear();
    sending_ = waiting_.front().fd;
    for (size_t i = 0; i < waiting_.size() && items.size() < kAtOnce && waiting_[i].fd == sending_; ++i)
      items.push_back(waiting_[i].item);
    const int fd = *sending_;
    lock.unlock();
    const bool gone = Send(fd, items);
    lock.lock();
    if (gone) {
      size_t left = items.size();
      while (left > 0 && !waiting_.empty() && waiting_.front().fd == sending_) {
        waiting_.pop_front();
        --left;
      }
    }
    sending_ = nullptr;
    sent_.notify_all();
  }
}

// True once the items are of no use here any more: sent, or nobody will ever read them.
bool Subscription::Send(int fd, const std::vector<op_item::Item>& items) {
  pollfd ready{fd, POLLOUT, 0};
  const int count = fd < 0 ? -1 : poll(&ready, 1, kPollMs);
  if (count == 0 || (count < 0 && errno == EINTR)) return false;
  const QuietWrite quiet;
  const size_t bytes = items.size() * sizeof(op_item::Item);
  const ssize_t written = count < 0 || (ready.revents & POLLNVAL) ? -1 : write(fd, items.data(), bytes);
  if (written == static_cast<ssize_t>(bytes)) return true;
  if (written < 0 && (errno == EAGAIN || errno == EINTR) && fd >= 0 && !(ready.revents & POLLNVAL))
    return false;
  LogError("a subscription's pipe takes no operators any more: nobody reads it, or it is closed");
  std::lock_guard<std::mutex> lock(mutex_);
  lost_ += items.size();
  return true;
}

}  // namespace npuprof
