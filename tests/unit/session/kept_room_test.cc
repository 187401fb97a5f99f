// SPDX-License-Identifier: Apache-2.0
#include "session/kept_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace npuprof {
namespace {

using std::chrono::milliseconds;

TEST(KeptRoom, IsGivenBackOnceTheManifestIsWritten) {
  KeptRoom room;
  std::atomic<bool> written{false}, early{false};
  room.mutex.lock();  // as who writes a manifest
  std::thread end([&] {
    room.GiveBack();
    early = !written;
  });
  std::this_thread::sleep_for(milliseconds(20));
  written = true;
  room.mutex.unlock();
  end.join();
  EXPECT_FALSE(early);
  EXPECT_TRUE(room.mutex.try_lock()) << "it holds on to what nobody else holds";
  room.mutex.unlock();
}

}  // namespace
}  // namespace npuprof
