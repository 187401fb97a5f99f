// SPDX-License-Identifier: Apache-2.0
#include "npuprof/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "npuprof/error.h"

namespace npuprof::cli {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

[[noreturn]] void BecomeProgram(const std::vector<std::string>& program,
                                const std::vector<std::pair<std::string, std::string>>& environment,
                                const sigset_t& old_mask, int error_fd) {
  sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  for (const auto& [name, value] : environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  if (write(error_fd, &error, sizeof error) < 0) _exit(125);
  _exit(127);
}

Outcome Decode(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status), WCOREDUMP(status) != 0};
  return {false, WEXITSTATUS(status), false};
}

}  // namespace

Outcome Run(const std::vector<std::string>& program,
            const std::vector<std::pair<std::string, std::string>>& environment) {
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0)
    throw Error(fmt::format("no pipe for the program: {}", std::strerror(errno)));

  // Blocked before the fork, so that no signal falls between fork and the wait below.
  sigset_t watched, old_mask;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : kPassedOn) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &old_mask);

  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    sigprocmask(SIG_SETMASK, &old_mask, nullptr);
    throw Error(fmt::format("cannot start '{}': {}", program[0], std::strerror(error)));
  }
  if (pid == 0) BecomeProgram(program, environment, old_mask, error_pipe[1]);
  close(error_pipe[1]);

  int status = 0;
  for (;;) {
    siginfo_t info;
    const int signal = sigwaitinfo(&watched, &info);
    if (signal == SIGCHLD) {
      if (waitpid(pid, &status, WNOHANG) == pid) break;
    } else if (signal > 0 && info.si_code <= 0) {  // sent by a process, not by the terminal
      kill(pid, signal);
    }
  }

  // A Ctrl-C that came with the program's end was meant for the program; delivered now it would hide the
  // report.
  const timespec now{};
  while (sigtimedwait(&watched, nullptr, &now) > 0) {
  }

  int exec_error = 0;
  const bool failed = read(error_pipe[0], &exec_error, sizeof exec_error) == sizeof exec_error;
  close(error_pipe[0]);
  sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  if (failed) {
    throw Error(fmt::format("cannot run '{}': {}", program[0], std::strerror(exec_error)),
                exec_error == ENOENT ? 127 : 126);
  }
  return Decode(status);
}

void EndLike(const Outcome& outcome) {
  std::fflush(nullptr);
  if (outcome.signalled) {
    // The program has left its core file, if any; a second one of npuprof would overwrite it.
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(outcome.code, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, outcome.code);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(outcome.code);
    _exit(128 + outcome.code);
  }
  std::exit(outcome.code);
}

}  // namespace npuprof::cli
