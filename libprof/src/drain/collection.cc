// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "drain/drain_impl.h"

namespace npuprof::drain {
namespace {

using std::chrono::milliseconds;

// After this much of a full disk Finish() gives up, however patient its caller is.
constexpr milliseconds kFullDiskPatience{1000};
// How long a caller that gave up waits for the drain thread to leave its sources.
constexpr milliseconds kLeave{500};

Status Forked() {
  return Status::Fail(ErrorKind::kForked, "this process was forked from the one that collects");
}

}  // namespace

Collection::Collection(std::shared_ptr<CollectionState> state) : state_(std::move(state)) {}

Collection::~Collection() {
  if (!finished_) (void)Finish(milliseconds(1000));
}

void Collection::KeepWithin(const std::string& root, uint64_t limit) {
  // A storage calls only while its collection lives, and that holds on to the drain.
  state_->storage = std::make_shared<Storage>(
      root, limit,
      [drain = state_->drain.get()](FileCall kind, std::function<void()> call, std::function<void()> then) {
        drain->Post(kind, std::move(call), std::move(then));
      });
}

const std::shared_ptr<Storage>& Collection::storage() const {
  return state_->storage;
}

void Collection::Add(std::shared_ptr<Source> source) {
  if (state_->generation != ForkGeneration()) return;
  {
    std::lock_guard lock(state_->drain->mutex);
    state_->new_sources.push_back(std::move(source));
  }
  state_->drain->Wake();
}

Status Collection::Remove(const std::shared_ptr<Source>& source, milliseconds patience) {
  if (state_->generation != ForkGeneration()) return Forked();
  std::unique_lock lock(state_->drain->mutex);
  if (state_->done || std::erase(state_->new_sources, source) > 0) return Status::Ok();
  state_->removed_sources.push_back(source);
  state_->drain->Wake();
  const bool gone = state_->drain->changed.wait_for(lock, patience, [&] {
    const auto& list = state_->removed_sources;
    return state_->done || std::find(list.begin(), list.end(), source) == list.end();
  });
  if (gone) return Status::Ok();
  return Status::Fail(ErrorKind::kTimeout, "the drain thread did not answer in time; a write may be hanging");
}

Status Collection::RemoveDry(const std::shared_ptr<Source>& source, milliseconds patience) {
  if (state_->generation != ForkGeneration()) return Forked();
  std::unique_lock lock(state_->drain->mutex);
  if (state_->done) return Status::Ok();
  state_->leaving_sources.push_back(source);
  state_->drain->Wake();
  const bool gone = state_->drain->changed.wait_for(lock, patience, [&] {
    const auto& list = state_->leaving_sources;
    return state_->done || std::find(list.begin(), list.end(), source) == list.end();
  });
  if (gone) return Status::Ok();
  std::erase(state_->leaving_sources, source);
  return Status::Fail(
      ErrorKind::kTimeout,
      "records wait in rings, because there is no staging memory while the disk does not answer");
}

Status Collection::Flush(milliseconds patience) {
  if (state_->generation != ForkGeneration()) return Forked();
  std::unique_lock lock(state_->drain->mutex);
  const unsigned ticket = ++state_->flushes_asked;
  state_->drain->Wake();
  const bool done = state_->drain->changed.wait_for(
      lock, patience, [&] { return state_->done || state_->flushes_done >= ticket; });
  if (!done) return Status::Fail(ErrorKind::kTimeout, "not everything could be written before the deadline");
  if (state_->file_failed) return Status::Fail(ErrorKind::kIo, "a file could not be written");
  return Status::Ok();
}

Status Collection::Finish(milliseconds patience) {
  finished_ = true;
  if (state_->generation != ForkGeneration()) return Forked();
  Drain::Impl& drain = *state_->drain;
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] {
    return std::max(milliseconds(0), patience - std::chrono::duration_cast<milliseconds>(
                                                    std::chrono::steady_clock::now() - begin));
  };
  {
    std::unique_lock lock(drain.mutex);
    if (!state_->done) {
      state_->finish_asked = true;
      // The last tenth is for cutting files to what is whole.
      state_->finish_deadline = begin + patience * 9 / 10;
      state_->give_up_at = begin + std::min(kFullDiskPatience, patience * 8 / 10);
      drain.Wake();
      if (!drain.changed.wait_for(lock, patience, [&] { return state_->done; })) {
        state_->abandoned = true;
        drain.Wake();
        drain.changed.wait_for(lock, kLeave, [&] { return state_->done || !state_->in_pass; });
        return Status::Fail(ErrorKind::kTimeout,
                            "a write did not end before the deadline; what waited for it is lost");
      }
    }
    if (state_->abandoned) return Status::Fail(ErrorKind::kTimeout, "the collection was given up earlier");
  }
  drain.JoinIfIdle(std::max(left(), milliseconds(200)));
  if (state_->file_failed)
    return Status::Fail(ErrorKind::kIo, "a file could not be written; see the messages");
  return Status::Ok();
}

Status Collection::Run(const std::function<void()>& task, milliseconds patience) {
  if (state_->generation != ForkGeneration()) return Forked();
  auto entry = std::make_shared<Task>();
  entry->run = task;
  std::unique_lock lock(state_->drain->mutex);
  if (state_->done) {
    // No thread touches the collection any more.
    lock.unlock();
    task();
    return Status::Ok();
  }
  state_->tasks.push_back(entry);
  state_->drain->Wake();
  const auto started = [&] { return entry->phase != Task::Phase::kWaiting || state_->done; };
  if (!state_->drain->changed.wait_for(lock, patience, started) || entry->phase == Task::Phase::kWaiting) {
    std::erase(state_->tasks, entry);
    return Status::Fail(ErrorKind::kTimeout,
                        "the drain thread did not answer in time; a write may be hanging");
  }
  // Once begun it refers to the caller's variables, so its end must be waited for.
  state_->drain->changed.wait(lock, [&] { return entry->phase == Task::Phase::kDone; });
  return Status::Ok();
}

void Collection::Call(FileCall kind, std::function<void()> call, std::function<void()> then) {
  bool done;
  {
    std::lock_guard lock(state_->drain->mutex);
    done = state_->done;
  }
  if (!done) return state_->drain->Call(state_, kind, std::move(call), std::move(then));
  // As Run(): no thread is left that would be held up.
  call();
  then();
}

Status Collection::CallAtEnd(FileCall kind, std::function<void()> call, milliseconds patience) {
  if (state_->generation != ForkGeneration()) return Forked();
  Drain::Impl& drain = *state_->drain;
  const auto ended = std::make_shared<bool>(false);
  std::unique_lock lock(drain.mutex);
  if (!drain.running) {
    // It ends only once the disk has answered everything.
    lock.unlock();
    call();
    return Status::Ok();
  }
  drain.end_calls.push_back({kind, std::move(call), ended});
  drain.Wake();
  if (drain.changed.wait_for(lock, patience, [&] { return *ended; })) return Status::Ok();
  return Status::Fail(ErrorKind::kTimeout, "the disk did not answer in time");
}

Path Collection::path() const {
  std::lock_guard lock(state_->drain->mutex);
  return state_->drain->path;
}

std::string Collection::reason() const {
  std::lock_guard lock(state_->drain->mutex);
  return state_->drain->reason;
}

Cost Collection::cost() const {
  Cost now;
  {
    std::lock_guard lock(state_->drain->mutex);
    now = state_->done ? state_->final_cost : state_->drain->TotalCost();
  }
  const Cost& base = state_->base;
  return {
      now.cpu_ns - base.cpu_ns, now.wakeups - base.wakeups,           now.bytes_written - base.bytes_written,
      now.staging_peak_bytes,   now.bytes_staged - base.bytes_staged, now.starved - base.starved};
}

}  // namespace npuprof::drain
