// SPDX-License-Identifier: Apache-2.0
// What sequences of calls in a process without a device share.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

namespace npuprof {

/// This process is a forked child, which deliberately leaves the objects of its parent's session alone; a leak checker asks.
extern bool g_is_child;

class Lifecycle : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    config_ = Config({}, ACL_PROF_MSPROFTX);
    ASSERT_NE(config_, nullptr);
  }
  void TearDown() override {
    aclprofDestroyConfig(config_);
    ApiTest::TearDown();
  }
  aclprofConfig* config_ = nullptr;
};

// Runs @p body in a child whose signals end it, and says how it ended.
template <typename Body>
int EndOfChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    g_is_child = true;
    body();
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace npuprof
