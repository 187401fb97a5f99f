// SPDX-License-Identifier: Apache-2.0
#include "drain/drain.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "drain/drain_impl.h"
#include "drain/fork_guard.h"

namespace npuprof::drain {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kShortest = milliseconds(1);
constexpr nanoseconds kBlockedRetry = milliseconds(5);
constexpr nanoseconds kWriteLook = milliseconds(50);      // at the latest, while something is written
constexpr nanoseconds kUncalledSleep = milliseconds(20);  // where nobody can wake the thread
constexpr nanoseconds kLongestSleep = std::chrono::seconds(1);

std::atomic<Drain*> g_process{nullptr};

SteadyTime Now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

void Source::ClearWake() {
  uint64_t value;
  const ssize_t n = read(WakeFd(), &value, sizeof value);
  (void)n;  // nothing to read means nothing to clear
}

CollectionState::CollectionState(std::shared_ptr<Drain::Impl> owner, MessageHandler handler)
    : storage(std::make_shared<Storage>("", 0)),
      drain(std::move(owner)),
      generation(ForkGeneration()),
      handler_(std::move(handler)) {}

std::shared_ptr<StagedFile> CollectionState::NewFile(std::string path, size_t record_size, size_t slice_bytes,
                                                     bool ages) {
  auto say = [this](Severity severity, const std::string& key, const std::string& text) {
    Say(severity, key, text);
  };
  auto file = std::make_shared<StagedFile>(&drain->station, storage, say, std::move(path), record_size,
                                           slice_bytes, ages);
  std::lock_guard lock(drain->mutex);
  new_files.push_back(file);
  return file;
}

void CollectionState::Say(Severity severity, const std::string& key, const std::string& text) {
  if (handler_ && said_.insert(key).second) handler_(severity, text);
}

Drain::Impl::Impl() : control_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), control_identity_(control_fd_) {
  GuardFd(control_fd_);
}

// False where there was no descriptor left, or the program closed it and may have given its number to a file.
bool Drain::Impl::HasControl() const {
  return control_identity_.Holds(control_fd_);
}

Drain::Impl::~Impl() {
  UnguardFd(control_fd_);
  if (HasControl()) close(control_fd_);
}

void Drain::Impl::Wake() {
  if (!HasControl()) return;
  const uint64_t one = 1;
  const ssize_t n = write(control_fd_, &one, sizeof one);
  (void)n;  // full means already awake
}

// Called with the mutex held by Open().
Status Drain::Impl::Start(const Options& options) {
  if (joinable) {
    pthread_join(thread_, nullptr);
    joinable = false;
  }
  options_ = options;
  ready = false;
  failure.clear();
  for (auto* count : {&cpu_ns_, &wakeups_, &bytes_, &peak_, &staged_, &starved_})
    count->store(0, std::memory_order_relaxed);
  // The thread must take no signal that the program wants elsewhere.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto* self = new std::shared_ptr<Impl>(shared_from_this());
  const int error = pthread_create(&thread_, nullptr, Entry, self);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    delete self;
    return Status::Fail(ErrorKind::kThread,
                        fmt::format("the drain thread could not be started: {}", std::strerror(error)),
                        error);
  }
  running = joinable = true;
  return Status::Ok();
}

void* Drain::Impl::Entry(void* self) {
  const std::unique_ptr<std::shared_ptr<Impl>> impl(static_cast<std::shared_ptr<Impl>*>(self));
  pthread_setname_np(pthread_self(), "npuprof-drain");
  (*impl)->Run();
  return nullptr;
}

// An exception that leaves a thread ends the program, and there may be no memory.
bool Drain::Impl::SetUp() {
  std::string why;
  try {
    MakeReady();
    return true;
  } catch (const std::exception& error) {
    why = error.what();
  }
  TearDown();
  std::lock_guard lock(mutex);
  failure = fmt::format(
      "the drain has no memory for {} MiB of staging ({}); NPUPROF_STAGING_MB sets how much it takes",
      options_.staging_bytes >> 20, why);
  running = false;
  ready = true;
  changed.notify_all();
  return false;
}

void Drain::Impl::MakeReady() {
  pool_ = std::make_unique<StagingPool>(options_.staging_bytes);
  const bool direct = options_.path == Options::Choice::kDirect;
  const auto wake = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Wake();
  };
  disk_ = std::make_unique<DiskThread>(wake, options_.before_file_call);
  std::string why;
  if (options_.path != Options::Choice::kPwritev) {
    writer_ = MakeUringWriter(direct ? pool_->base() : nullptr, pool_->bytes(), &why);
  }
  const bool uring = writer_ != nullptr;
  if (!uring) writer_ = MakePwritevWriter(disk_.get());
  if (!disk_->works()) {
    why += why.empty() ? "" : "; ";
    why += "no thread that waits for the disk could be made, so a slow one holds up the drain";
  }
  if (options_.wrap_writer) writer_ = options_.wrap_writer(std::move(writer_));
  station = Station{};
  station.pool = pool_.get();
  station.writer = writer_.get();
  station.disk = disk_.get();
  station.direct = direct;
  last_flush_ = SteadyTime{};
  std::lock_guard lock(mutex);
  path = direct ? Path::kDirect : uring ? Path::kUring : Path::kPwritev;
  reason = options_.path == Options::Choice::kAuto ? "automatic" : "as NPUPROF_DRAIN or the caller asked";
  if (direct && !uring) reason += "; through pwritev";
  if (!why.empty()) reason += "; " + why;
  ready = true;
  changed.notify_all();
}

void Drain::Impl::TearDown() {
  // A write that never ended may still read the staging memory.
  if (writer_ != nullptr && writer_->in_flight() > 0) {
    pool_->Abandon();
    (void)writer_.release();
    (void)disk_.release();
  }
  writer_.reset();
  disk_.reset();
  pool_.reset();
  orphans_.clear();
  station.pool = nullptr;
  station.writer = nullptr;
  station.disk = nullptr;
}

void Drain::Impl::Run() {
  if (!SetUp()) return;
  for (;;) {
    try {
      if (!TakeUp()) return;
      Pass();
    } catch (const std::bad_alloc&) {
      // Records wait in their rings, which count what they cannot keep; the program goes on.
      short_of_memory_ = true;
      EndPass();
      const timespec rest{0, 10'000'000};
      nanosleep(&rest, nullptr);
    }
  }
}

void Drain::Impl::Pass() {
  if (short_of_memory_) {
    for (const auto& collection : active_) {
      collection->Say(Severity::kWarning, "memory",
                      "the program ran out of memory while records were drained; they waited in their rings");
    }
    short_of_memory_ = false;
  }
  const SteadyTime now = Now();
  station.starved = false;
  Reap(now);
  for (const auto& collection : active_) Visit(*collection, now);
  TakeNewFiles();
  Write(now);
  for (const auto& collection : active_) Advance(*collection, now);
  EndPass();
  if (now >= next_look_) {
    last_thread_.Check();
    next_look_ = now + kLongestSleep;
  }
  writer_->Kick();
  Sleep(now);
}

// Takes up what other threads asked for. False if the thread is to end.
bool Drain::Impl::TakeUp() {
  std::unique_lock lock(mutex);
  std::erase_if(collections, [&](const auto& c) {
    if (!c->abandoned && !c->done) return false;
    if (c->abandoned) {
      for (auto* list : {&c->files, &c->new_files}) {
        for (const auto& file : *list) {
          file->Disown();
          file->GiveUp();
          if (!file->idle()) orphans_.push_back(file);
        }
      }
      c->sources.clear();
      c->done = true;
    }
    return true;
  });
  std::erase_if(orphans_, [](const auto& file) { return file->idle(); });
  PostEndCalls(lock);
  if (collections.empty() && orphans_.empty() && disk_->idle()) {
    active_.clear();
    TearDown();
    running = false;
    changed.notify_all();
    return false;
  }
  active_ = collections;
  const SteadyTime now = Now();
  for (const auto& c : active_) {
    c->in_pass = true;
    for (auto& file : c->new_files) c->files.push_back(std::move(file));
    c->new_files.clear();
    for (auto& source : c->new_sources) {
      SourceEntry entry;
      entry.longest = entry.interval = std::max(source->Interval(), kShortest);
      entry.periodic = source->Periodic();
      entry.wake_fd = source->WakeFd();
      entry.due = now;
      entry.source = std::move(source);
      c->sources.push_back(std::move(entry));
    }
    c->new_sources.clear();
    for (const auto& gone : c->removed_sources) {
      std::erase_if(c->sources, [&](const SourceEntry& entry) { return entry.source == gone; });
    }
    if (!c->removed_sources.empty()) changed.notify_all();
    c->removed_sources.clear();
    const size_t unknown = std::erase_if(c->leaving_sources, [&](const auto& source) {
      for (SourceEntry& entry : c->sources) {
        if (entry.source == source) return !(entry.leaving = true);
      }
      return true;
    });
    if (unknown > 0) changed.notify_all();
    c->flush_seen = c->flushes_asked;
    c->finish_seen = c->finish_asked;
    c->deadline_seen = c->finish_deadline;
    c->give_up_seen = c->give_up_at;
    while (!c->tasks.empty()) {
      const std::shared_ptr<Task> task = c->tasks.front();
      c->tasks.pop_front();
      task->phase = Task::Phase::kRunning;
      lock.unlock();
      task->run();
      lock.lock();
      task->phase = Task::Phase::kDone;
      changed.notify_all();
    }
  }
  return true;
}

// Behind what the files of a collection that is given up still ask for.
void Drain::Impl::PostEndCalls(std::unique_lock<std::mutex>& lock) {
  while (!end_calls.empty()) {
    EndCall next = std::move(end_calls.front());
    end_calls.pop_front();
    lock.unlock();
    disk_->Post(next.kind, std::move(next.call), [this, ended = std::move(next.ended)] {
      std::lock_guard ending(mutex);
      *ended = true;
      changed.notify_all();
    });
    lock.lock();
  }
}

// Sources make files while they are visited; a flush or finish in this very pass is about those too.
void Drain::Impl::TakeNewFiles() {
  std::lock_guard lock(mutex);
  for (const auto& c : active_) {
    for (auto& file : c->new_files) c->files.push_back(std::move(file));
    c->new_files.clear();
  }
}

void Drain::Impl::Visit(CollectionState& c, SteadyTime now) {
  if (c.finish_seen && c.step == CollectionState::Step::kOpen) c.step = CollectionState::Step::kDraining;
  const bool final = c.step == CollectionState::Step::kDraining;
  if (c.step > CollectionState::Step::kDraining) return;
  const bool flushing = c.flush_seen != c.flushes_done && c.flush_goal == 0;
  for (SourceEntry& entry : c.sources) {
    const bool asked =
        final || entry.leaving || (flushing && !entry.periodic) || (entry.last.blocked && reaped_);
    if (!asked && !entry.ready && now < entry.due) continue;
    if (entry.ready) entry.source->ClearWake();
    entry.ready = false;
    entry.last = entry.source->Poll({now, final});
    Schedule(entry, now);
  }
  LetGo(c);
}

// Of sources that are to go, those that were just visited and are dry.
void Drain::Impl::LetGo(CollectionState& c) {
  const auto gone = [](const SourceEntry& entry) {
    return entry.leaving && !entry.last.more && !entry.last.blocked;
  };
  if (std::none_of(c.sources.begin(), c.sources.end(), gone)) return;
  std::lock_guard lock(mutex);
  std::erase_if(c.sources, [&](const SourceEntry& entry) {
    if (!gone(entry)) return false;
    std::erase(c.leaving_sources, entry.source);
    return true;
  });
  changed.notify_all();
}

void Drain::Impl::Schedule(SourceEntry& entry, SteadyTime now) {
  if (entry.last.more) {
    entry.due = now;
  } else if (entry.last.blocked) {
    entry.due = now + kBlockedRetry;
  } else if (entry.periodic) {
    do {
      entry.due += entry.longest;
    } while (entry.due <= now);
  } else {
    if (entry.last.pressure > 50) {
      entry.interval = std::max(entry.interval / 2, kShortest);
    } else if (entry.last.pressure < 12) {
      entry.interval = std::min(entry.interval * 2, entry.longest);
    }
    entry.due = now + entry.interval;
  }
}

template <typename F>
void Drain::Impl::ForEachFile(F&& f) {
  for (const auto& collection : active_) {
    for (const auto& file : collection->files) f(*file);
  }
  for (const auto& file : orphans_) f(*file);
}

// Takes back finished writes, and with them staging memory, before sources are visited.
void Drain::Impl::Reap(SteadyTime now) {
  reaped_ = false;
  while (disk_->Reap()) reaped_ = true;
  station.called = reaped_;
  // One that ends may bring the next, and that may end at once: it has its turn in the next round.
  for (unsigned left = writer_->in_flight(); left > 0; --left) {
    WriteOp* op = writer_->Reap();
    if (op == nullptr) break;
    static_cast<StagedFile*>(op->owner)->Completed(op, now);
    reaped_ = true;
  }
}

void Drain::Impl::Write(SteadyTime now) {
  // A part-filled block is written when its time has come, or when somebody else needs the memory.
  if (station.staged && (station.starved || now - last_flush_ >= options_.flush_interval)) {
    ForEachFile([&](StagedFile& file) {
      if (!file.touched_since_flush()) file.ReleaseIdle();
      file.Flush();
    });
    station.staged = false;
    last_flush_ = now;
  }
  ForEachFile([&](StagedFile& file) {
    file.Pump(now);
    if (station.starved) file.ReleaseIdle();
  });
  bytes_.store(station.bytes_written, std::memory_order_relaxed);
  staged_.store(station.bytes_staged, std::memory_order_relaxed);
  if (station.starved) starved_.fetch_add(1, std::memory_order_relaxed);
  peak_.store(pool_->peak_bytes(), std::memory_order_relaxed);
}

// Carries a flush or a finish one step further.
void Drain::Impl::Advance(CollectionState& c, SteadyTime now) {
  using Step = CollectionState::Step;
  bool dry = true;
  for (const SourceEntry& entry : c.sources) {
    if (c.step == Step::kOpen && entry.periodic) continue;
    dry = dry && !entry.last.more && !entry.last.blocked;
  }
  if (c.step == Step::kOpen && c.flush_seen != c.flushes_done) {
    if (c.flush_goal == 0 && dry) {
      for (const auto& file : c.files) file->Flush();
      c.flush_goal = c.flush_seen;
    }
    if (c.flush_goal != 0) {
      for (const auto& file : c.files) file->Pump(now);
      if (std::all_of(c.files.begin(), c.files.end(), [](const auto& f) { return f->flushed(); })) {
        std::lock_guard lock(mutex);
        c.flushes_done = c.flush_goal;
        c.flush_goal = 0;
        changed.notify_all();
      }
    }
  }
  if (c.step == Step::kDraining || c.step == Step::kWriting) {
    for (const auto& file : c.files) {
      if (now >= c.deadline_seen || (file->full() && now >= c.give_up_seen)) file->GiveUp();
    }
  }
  if (c.step == Step::kDraining && (dry || now >= c.deadline_seen)) {
    for (const auto& file : c.files) file->Close();
    c.step = Step::kWriting;
  }
  if (c.step == Step::kWriting) {
    for (const auto& file : c.files) file->Pump(now);
    const bool closed =
        std::all_of(c.files.begin(), c.files.end(), [](const auto& f) { return f->closed(); });
    if (closed && c.storage->idle() && c.calls == 0) c.step = Step::kDone;
  }
}

void Drain::Impl::EndPass() {
  timespec cpu{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  const uint64_t own_ns =
      static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
  cpu_ns_.store(own_ns + disk_->cpu_ns(), std::memory_order_relaxed);
  const Cost cost = TotalCost();
  bool notify = false;
  std::lock_guard lock(mutex);
  for (const auto& c : active_) {
    c->in_pass = false;
    for (const auto& file : c->files) c->file_failed = c->file_failed || file->failed();
    if (c->step == CollectionState::Step::kDone && !c->done) {
      c->final_cost = cost;
      c->sources.clear();
      c->done = true;
    }
    notify = notify || c->done || c->abandoned;
  }
  if (notify) changed.notify_all();
}

void Drain::Impl::Sleep(SteadyTime began) {
  SteadyTime wake = Now() + kLongestSleep;
  const bool control = HasControl();
  if (!control) wake = Now() + kUncalledSleep;
  std::vector<pollfd> fds{{control ? control_fd_ : -1, POLLIN, 0}};
  std::vector<SourceEntry*> owners{nullptr};
  if (writer_->in_flight() > 0) {
    if (writer_->PollFd() >= 0) {
      fds.push_back({writer_->PollFd(), POLLIN, 0});
      owners.push_back(nullptr);
      wake = std::min(wake, Now() + kWriteLook);  // covers ops the ring had no room for
    } else if (writer_->Calls()) {
      wake = std::min(wake, Now() + kWriteLook);
    } else {
      wake = SteadyTime{};
    }
  }
  if (station.staged) wake = std::min(wake, last_flush_ + options_.flush_interval);
  for (const auto& c : active_) {
    if (c->step == CollectionState::Step::kDone) wake = SteadyTime{};
    if (c->step != CollectionState::Step::kOpen) {
      wake = std::min({wake, Now() + kBlockedRetry, c->deadline_seen});
    }
    if (c->step > CollectionState::Step::kDraining) continue;
    for (SourceEntry& entry : c->sources) {
      wake = std::min(wake, entry.due);
      if (entry.wake_fd >= 0 && !entry.last.blocked) {
        fds.push_back({entry.wake_fd, POLLIN, 0});
        owners.push_back(&entry);
      }
    }
  }
  ForEachFile([&](StagedFile& file) {
    // Of a file that is tried already, and waits for the end of that, the time is over: the end wakes the thread.
    const bool tried = file.busy() && file.retry_at() <= began;
    if ((file.stalled() || file.waiting()) && !tried) wake = std::min(wake, file.retry_at());
  });
  const nanoseconds left = std::max(nanoseconds(0), nanoseconds(wake - Now()));
  const timespec timeout{static_cast<time_t>(left.count() / 1'000'000'000), left.count() % 1'000'000'000};
  ppoll(fds.data(), fds.size(), &timeout, nullptr);
  wakeups_.fetch_add(1, std::memory_order_relaxed);
  if ((fds[0].revents & POLLIN) != 0 &&
      HasControl()) {  // closed meanwhile, it may be ready as something else
    uint64_t value;
    const ssize_t n = read(control_fd_, &value, sizeof value);
    (void)n;
  }
  for (size_t i = 1; i < fds.size(); ++i) {
    if (owners[i] == nullptr || fds[i].revents == 0) continue;
    // Whoever hung up says so for ever, and has nothing more to wake anybody for.
    if ((fds[i].revents & (POLLNVAL | POLLHUP | POLLERR)) != 0) owners[i]->wake_fd = -1;
    owners[i]->ready = true;
  }
}

Cost Drain::Impl::TotalCost() const {
  return {cpu_ns_.load(std::memory_order_relaxed), wakeups_.load(std::memory_order_relaxed),
          bytes_.load(std::memory_order_relaxed),  peak_.load(std::memory_order_relaxed),
          staged_.load(std::memory_order_relaxed), starved_.load(std::memory_order_relaxed)};
}

void Drain::Impl::Post(FileCall kind, std::function<void()> call, std::function<void()> then) {
  disk_->Post(kind, std::move(call), std::move(then));
}

void Drain::Impl::Call(const std::shared_ptr<CollectionState>& collection, FileCall kind,
                       std::function<void()> call, std::function<void()> then) {
  disk_->Post(kind, std::move(call), [this, collection, then = std::move(then)] {
    --collection->calls;
    // What is not visited any more was finished or given up, and those who asked may be gone.
    if (std::find(active_.begin(), active_.end(), collection) != active_.end()) then();
  });
  ++collection->calls;
}

void Drain::Impl::JoinIfIdle(milliseconds patience) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, patience, [&] {
    return !running || std::any_of(collections.begin(), collections.end(),
                                   [](const auto& c) { return !c->done && !c->abandoned; });
  });
  if (running || !joinable) return;
  joinable = false;
  pthread_join(thread_, nullptr);  // it has left its loop and takes no lock any more
}

Drain::Drain() : impl_(std::make_shared<Impl>()) {
  InstallForkHandlers();
}
Drain::~Drain() {
  impl_->JoinIfIdle(std::chrono::seconds(1));
}

Drain& Drain::Process() {
  g_on_fork_child = [] { g_process.store(nullptr, std::memory_order_relaxed); };
  Drain* drain = g_process.load(std::memory_order_acquire);
  if (drain != nullptr) return *drain;
  auto* fresh = new Drain;
  if (g_process.compare_exchange_strong(drain, fresh)) return *fresh;
  delete fresh;
  return *drain;
}

std::unique_ptr<Collection> Drain::Open(const Options& options, MessageHandler on_message, Status* status) {
  auto state = std::make_shared<CollectionState>(impl_, std::move(on_message));
  std::unique_lock lock(impl_->mutex);
  const bool fresh = !impl_->running;
  if (fresh) {
    Status started = impl_->Start(options);
    if (!started.ok()) {
      if (status != nullptr) *status = std::move(started);
      return nullptr;
    }
  }
  state->base = fresh ? Cost{} : impl_->TotalCost();
  impl_->collections.push_back(state);
  impl_->changed.wait(lock, [&] { return impl_->ready; });
  if (!impl_->failure.empty()) {
    std::erase(impl_->collections, state);
    if (status != nullptr) *status = Status::Fail(ErrorKind::kIo, impl_->failure, ENOMEM);
    return nullptr;
  }
  if (status != nullptr) *status = Status::Ok();
  lock.unlock();
  impl_->Wake();
  return std::make_unique<Collection>(std::move(state));
}

bool Drain::running() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->running;
}

}  // namespace npuprof::drain
