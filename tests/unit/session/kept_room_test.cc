// SPDX-License-Identifier: Apache-2.0
#include "session/kept_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace npuprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(KeptRoom, ManifestThatIsNeverWrittenDoesNotHoldUpTheEnd) {
  KeptRoom room;
  std::atomic<bool> ended{false};
  room.mutex.lock();  // as who writes a manifest to a disk that does not answer
  std::thread end([&] {
    room.GiveBack(false);
    ended = true;
  });
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (!ended && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(ended);
  room.mutex.unlock();
  end.join();
  room.GiveBack(true);
  EXPECT_TRUE(room.mutex.try_lock()) << "it holds on to what nobody else holds";
  room.mutex.unlock();
}

}  // namespace
}  // namespace npuprof
