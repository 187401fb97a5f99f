// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/no_cancel.h"

namespace npuprof {

/// While one lives, a write of this thread fails with EPIPE or EFBIG where otherwise SIGPIPE or SIGXFSZ would end the
/// program: a pipe that nobody reads, a limit on file sizes. Signals that were pending before stay pending. Nobody cancels the
/// thread meanwhile.
class QuietWrite {
 public:
  QuietWrite() {
    sigset_t pending;
    sigemptyset(&caught_);
    sigpending(&pending);
    for (int signal : {SIGPIPE, SIGXFSZ}) {
      if (!sigismember(&pending, signal)) sigaddset(&caught_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &caught_, &before_);
  }
  ~QuietWrite() {
    const timespec now{};
    while (sigtimedwait(&caught_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietWrite(const QuietWrite&) = delete;
  QuietWrite& operator=(const QuietWrite&) = delete;

 private:
  const NoCancel whole_;
  sigset_t caught_, before_;
};

}  // namespace npuprof
