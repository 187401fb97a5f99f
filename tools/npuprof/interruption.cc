// SPDX-License-Identifier: Apache-2.0
#include "npuprof/interruption.h"

#include <string.h>

namespace npuprof::cli {
namespace {

volatile std::sig_atomic_t g_signal = 0;

void Remember(int signal) {
  g_signal = signal;
}

}  // namespace

Interruption::Interruption() {
  g_signal = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Changed changed{signal, {}};
    if (sigaction(signal, nullptr, &changed.before) != 0 || changed.before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = Remember;
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
    changed_.push_back(changed);
  }
}

Interruption::~Interruption() {
  for (const Changed& changed : changed_) sigaction(changed.signal, &changed.before, nullptr);
}

int Interruption::signal() const {
  return g_signal;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace npuprof::cli
