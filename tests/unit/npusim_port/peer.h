// SPDX-License-Identifier: Apache-2.0
// The other machine in real time: an engine with real models behind a descriptor, on a thread of its own.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cmath>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "host/npusim_host.h"
#include "machine.h"

namespace port_test {

class Peer {
 public:
  /// @param ppm how much faster its clock runs
  explicit Peer(int fd, uint32_t devices = 2, double ppm = 0) : fd_(fd), ppm_(ppm) {
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    ops_.now = [](void* ctx) { return static_cast<Peer*>(ctx)->Now(); };
    ops_.wake_at = [](void* ctx, uint64_t ns) { static_cast<Peer*>(ctx)->wake_ = ns; };
    ops_.send = [](void* ctx, const void* data, size_t size) {
      const ssize_t sent = write(static_cast<Peer*>(ctx)->fd_, data, size);
      return sent > 0 ? static_cast<size_t>(sent) : size_t{0};
    };
    ops_.resume = [](void*) {};  // the loop offers the rest anyhow
    engine_ = port_engine_create(&ops_, this);
    for (uint32_t i = 0; i < devices; ++i) npus_.push_back(std::make_unique<Npu>(engine_, i, 24 - i));
    port_engine_open(engine_);
    thread_ = std::thread([this] { Run(); });
  }
  ~Peer() {
    Stop();
    npus_.clear();
    port_engine_destroy(engine_);
  }

  /// Goes away without a word.
  void Stop() {
    quit_ = true;
    const uint64_t one = 1;
    EXPECT_EQ(write(quit_fd_, &one, sizeof one), 8);
    if (thread_.joinable()) thread_.join();
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  uint64_t Now() const {
    const double passed = static_cast<double>(npusim::Host::NowNs() - begin_);
    return static_cast<uint64_t>(std::llround(passed * (1 + ppm_ * 1e-6)));
  }

  void Run() {
    std::vector<char> input;
    while (!quit_) {
      const uint64_t now = Now();
      const bool out = port_engine_queued(engine_) > 0;
      const uint64_t wait_ms = wake_ <= now ? 0 : std::min<uint64_t>((wake_ - now) / 1'000'000 + 1, 1000);
      pollfd fds[2] = {{fd_, static_cast<short>(out ? POLLIN | POLLOUT : POLLIN), 0}, {quit_fd_, POLLIN, 0}};
      poll(fds, 2, static_cast<int>(wait_ms));
      if (quit_) return;
      port_engine_run(engine_);
      if (fds[0].revents & POLLOUT) port_engine_writable(engine_);
      if (input.empty() && fds[0].revents & POLLIN) {
        input.resize(5000);  // not a multiple of any message
        const ssize_t got = read(fd_, input.data(), input.size());
        input.resize(got > 0 ? static_cast<size_t>(got) : 0);
      }
      const size_t taken = port_engine_receive(engine_, input.data(), input.size());
      input.erase(input.begin(), input.begin() + static_cast<long>(taken));
    }
  }

  int fd_;
  double ppm_;
  const uint64_t begin_ = npusim::Host::NowNs() - 5'000'000'000;
  int quit_fd_ = eventfd(0, EFD_CLOEXEC);
  std::atomic<bool> quit_{false};
  uint64_t wake_ = UINT64_MAX;
  port_engine_ops ops_{};
  port_engine* engine_ = nullptr;
  std::vector<std::unique_ptr<Npu>> npus_;
  std::thread thread_;
};

struct Pair {
  Pair() {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw std::runtime_error("socketpair");
    ours = fds[0];
    theirs = fds[1];
  }
  int ours, theirs;
};

/// A terminal that passes bytes on as they are: something with a path that is not a socket.
struct Pty {
  Pty() : master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) throw std::runtime_error("no pty");
    path = ptsname(master);
    slave = open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    termios raw;
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
  }
  ~Pty() { close(slave); }
  int master;  // the peer closes it
  int slave;
  std::string path;
};

}  // namespace port_test
