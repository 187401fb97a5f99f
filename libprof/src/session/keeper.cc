// SPDX-License-Identifier: Apache-2.0
#include "session/keeper.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace npuprof {
namespace {

using Clock = std::chrono::steady_clock;
// How often it is looked at sizes, and at what became old.
constexpr std::chrono::milliseconds kSizeLook{100};
constexpr std::chrono::seconds kKeepLook{10};
// After a turn that was left out.
constexpr std::chrono::milliseconds kNextTry{250};

}  // namespace

Keeper::~Keeper() {
  Stop();
}

std::string Keeper::Start(Duties duties) {
  Stop();
  state_ = std::make_shared<State>();
  state_->duties = std::move(duties);
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  auto* given = new std::shared_ptr<State>(state_);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, &attributes, Entry, given);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) return "";
  delete given;
  state_.reset();
  return std::strerror(error);
}

void Keeper::Stop() {
  if (!state_) return;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  state_.reset();
}

void Keeper::AbandonInChild() {
  // The thread may have held its lock when the process was forked: nothing of it is touched.
  new std::shared_ptr<State>(std::move(state_));
}

void* Keeper::Entry(void* state) {
  pthread_setname_np(pthread_self(), "npuprof-keeper");
  const std::unique_ptr<std::shared_ptr<State>> own(static_cast<std::shared_ptr<State>*>(state));
  try {
    Run(**own);
  } catch (const std::exception&) {
    // Without memory there is no next directory; this one goes on.
  }
  return nullptr;
}

void Keeper::Run(State& state) {
  const Duties& duties = state.duties;
  const Keeping& keeping = duties.keeping;
  const AgeClock ages;
  auto begun = Clock::now(), looked = Clock::time_point{};
  std::unique_lock<std::mutex> lock(state.mutex);
  while (!state.stop) {
    lock.unlock();
    const auto now = Clock::now();
    bool rotated = false, left_out = false;
    const bool late =
        keeping.rotate_seconds > 0 && now - begun >= std::chrono::seconds(keeping.rotate_seconds);
    if (late || (keeping.rotate_bytes > 0 && duties.used_bytes() >= keeping.rotate_bytes)) {
      rotated = duties.rotate();
      if (rotated) begun = Clock::now();
      left_out = !rotated;
    }
    if (keeping.removes() && (rotated || now - looked >= kKeepLook)) {
      for (const std::string& path : RemoveOld(duties.output, duties.own(), keeping, ages.Now()))
        duties.told(path);
      looked = Clock::now();
    }
    auto next = Clock::now() + std::chrono::hours(1);
    if (keeping.rotate_seconds > 0)
      next = std::min(next, begun + std::chrono::seconds(keeping.rotate_seconds));
    if (keeping.rotate_bytes > 0) next = std::min(next, Clock::now() + kSizeLook);
    if (keeping.removes()) next = std::min(next, looked + kKeepLook);
    if (left_out) next = Clock::now() + kNextTry;
    lock.lock();
    state.changed.wait_until(lock, next, [&] { return state.stop; });
  }
}

}  // namespace npuprof
