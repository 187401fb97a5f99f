// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace npuprof {

/// While one lives, pthread_cancel() of this thread waits: it takes effect at the program's next cancellation point. Inside, it
/// would unwind our frames, which end the program at that, and leave half of what the thread was at.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() {
    int ignored;
    pthread_setcancelstate(before_, &ignored);
  }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_;
};

}  // namespace npuprof
