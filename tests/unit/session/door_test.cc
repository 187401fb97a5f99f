// SPDX-License-Identifier: Apache-2.0
#include "session/door.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace npuprof {
namespace {

namespace fs = std::filesystem;

// The process's side with a duty that can be held up, and the command's side of the same block.
class DoorTest : public testing::Test {
 protected:
  DoorTest() {
    const std::vector<int> before = Doors();
    EXPECT_EQ("", door_.Open({[this](const std::string& request) { return Serve(request); },
                              [] { return std::optional<Door::Clock::time_point>(); }},
                             true));
    for (const int fd : Doors()) {
      if (std::find(before.begin(), before.end(), fd) != before.end()) continue;
      block_ = static_cast<DoorBlock*>(
          mmap(nullptr, sizeof(DoorBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    }
  }

  static std::vector<int> Doors() {
    std::vector<int> fds;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (fs::read_symlink(entry.path(), gone).string().find(DoorBlock::kName) != std::string::npos)
        fds.push_back(std::stoi(entry.path().filename().string()));
    }
    return fds;
  }

  std::string Serve(const std::string& request) {
    const std::lock_guard lock(mutex_);
    served_.push_back(request);
    if (request == "no memory") throw std::bad_alloc();
    return "ok " + request;
  }
  std::vector<std::string> served() {
    const std::lock_guard lock(mutex_);
    return served_;
  }

  uint32_t Ask(const std::string& request) {
    std::memcpy(block_->request, request.c_str(), request.size() + 1);
    block_->asked.store(block_->taken.load() + 1);
    door_.Ring();
    return block_->asked.load();
  }
  std::string Answer(uint32_t number) {
    while (block_->answered.load() != number) std::this_thread::yield();
    return block_->answer;
  }

  // The thread of a door lives as long as the process.
  struct Lasting {
    Door door;
    std::mutex mutex;
  };
  static Lasting& Last() {
    static auto& all = *new std::vector<Lasting*>;
    all.push_back(new Lasting);
    return *all.back();
  }
  Lasting& lasting_ = Last();
  Door& door_ = lasting_.door;
  DoorBlock* block_ = nullptr;
  std::mutex& mutex_ = lasting_.mutex;
  std::vector<std::string> served_;
};

TEST_F(DoorTest, RequestsAreServedInTurnAndOnce) {
  for (int i = 0; i < 100; ++i) {
    const std::string request = "request " + std::to_string(i);
    EXPECT_EQ("ok " + request, Answer(Ask(request)));
  }
  EXPECT_EQ(100u, served().size());
}

TEST_F(DoorTest, AWithdrawnRequestIsNeverServed) {
  for (int i = 0; i < 1000; ++i) {
    std::memcpy(block_->request, "late", 5);
    const uint32_t number = block_->taken.load() + 1;
    const size_t before = served().size();
    block_->asked.store(number);
    door_.Ring();
    if (i % 2 != 0) std::this_thread::yield();
    const bool withdrawn = block_->Take(number);
    if (withdrawn) block_->answered.store(number);
    Answer(number);
    EXPECT_EQ("ok next", Answer(Ask("next")));
    EXPECT_EQ(before + (withdrawn ? 1 : 2), served().size());
  }
}

TEST_F(DoorTest, ACommandKilledWhileWithdrawingHoldsUpNobody) {
  EXPECT_EQ("ok first", Answer(Ask("first")));
  const uint32_t number = block_->taken.load() + 1;
  block_->taken.store(number);
  block_->asked.store(number);
  door_.Ring();
  Answer(number);
  EXPECT_EQ("ok second", Answer(Ask("second")));
  EXPECT_EQ((std::vector<std::string>{"first", "second"}), served());
}

TEST_F(DoorTest, WithoutMemoryTheCommandIsToldSo) {
  EXPECT_EQ("error it has no memory left for this\n", Answer(Ask("no memory")));
  EXPECT_EQ("ok then", Answer(Ask("then")));
}

}  // namespace
}  // namespace npuprof
