// SPDX-License-Identifier: Apache-2.0
// Components' callbacks that call the interface, wait for whoever does, or fail.
#include <atomic>
#include <thread>

#include "lifecycle.h"

namespace npuprof {
namespace {

std::atomic<int> g_control{-1};
int32_t StopInCallback(uint32_t, void* data, uint32_t) {
  if (static_cast<MsprofCommandHandle*>(data)->type == PROF_COMMANDHANDLE_TYPE_START)
    g_control = aclprofStop(nullptr);
  return 0;
}

TEST_F(Lifecycle, AControlCallFromACallbackIsRefusedInsteadOfHanging) {
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_GE, StopInCallback), 0);
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  EXPECT_EQ(g_control, 500005);
  EXPECT_EQ(aclprofStop(config_), 0);
}

// A component that opens a device as soon as it is told to start, and one whose other thread does so while it waits.
std::atomic<int> g_notices{0};
int32_t OpenDeviceInCallback(uint32_t, void* data, uint32_t) {
  if (static_cast<MsprofCommandHandle*>(data)->type != PROF_COMMANDHANDLE_TYPE_START) return 0;
  g_notices += MsprofNotifySetDevice(0, 5, true) == 0;
  std::thread([] { g_notices += MsprofNotifySetDevice(0, 6, true) == 0; }).join();
  return 0;
}

TEST_F(Lifecycle, ADeviceThatACallbackOpensIsNoticedWithoutADeadlock) {
  // Without a runtime no device can record, but the default configuration lists what is open.
  EXPECT_EQ(EndOfChild([&] {
              alarm(60);
              if (MsprofRegisterCallback(MSPROF_MODULE_HCCL, OpenDeviceInCallback) != 0) _exit(1);
              if (Init() != 0 || aclprofStart(config_) != 0) _exit(2);
              if (g_notices != 2) _exit(3);
              if (aclprofStop(config_) != 0) _exit(4);
              if (aclprofStart(nullptr) != 0 || aclprofStop(nullptr) != 0) _exit(5);
            }),
            0);
}

// One whose other thread calls the interface and is waited for: the call is refused instead of hanging.
int32_t StopOnAnotherThread(uint32_t, void* data, uint32_t) {
  if (static_cast<MsprofCommandHandle*>(data)->type == PROF_COMMANDHANDLE_TYPE_START)
    std::thread([] { g_control = aclprofStop(nullptr); }).join();
  return 0;
}

TEST_F(Lifecycle, ACallbackThatWaitsForAThreadInsideTheInterfaceEndsInARefusal) {
  EXPECT_EQ(EndOfChild([&] {
              alarm(60);
              if (MsprofRegisterCallback(MSPROF_MODULE_HCCL, StopOnAnotherThread) != 0) _exit(1);
              if (Init() != 0 || aclprofStart(config_) != 0) _exit(2);
              if (g_control != 500005) _exit(3);
              if (aclprofStop(config_) != 0) _exit(4);
            }),
            0);
}

std::atomic<int> g_told{0};
int32_t FailAlways(uint32_t, void*, uint32_t) {
  ++g_told;
  return 1;
}

TEST_F(Lifecycle, AFailingComponentFailsNeitherStartNorStop) {
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_AICPU, FailAlways), 0);
  EXPECT_EQ(Init(), 0);
  EXPECT_EQ(aclprofStart(config_), 0);
  EXPECT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(g_told, 4) << "init, start, stop and finalize";
  EXPECT_EQ(Manifest(ProfDirectories().at(0))["complete"], true);
}

}  // namespace
}  // namespace npuprof
