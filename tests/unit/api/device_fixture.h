// SPDX-License-Identifier: Apache-2.0
// What tests of sessions with the simulated NPUs of their own process share.
#pragma once

#include <map>

#include "fixture.h"
#include "host/npusim_host.h"
#include "model/npusim_model.h"
#include "npuprof.h"
#include "npuprof_records.h"
#include "npusim/npusim_device.h"

namespace npuprof {

constexpr uint64_t kTypes = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS;

class DeviceSession : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    ASSERT_EQ(Init(), 0);
    ASSERT_EQ(MsprofNotifySetDevice(0, 0, true), 0);
  }
  void TearDown() override {
    ApiTest::TearDown();
    MsprofNotifySetDevice(0, 0, false);
    MsprofNotifySetDevice(0, 1, false);
  }
  static void Run(uint32_t device, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      npusim_task task = {};
      task.stream = 1;
      task.task_id = static_cast<uint16_t>(i);
      task.kind = i % 2 ? NPUSIM_TASK_VECTOR : NPUSIM_TASK_CUBE;
      task.block_dim = 4;
      task.cycles = 2000;
      ASSERT_EQ(npusim::Host::Get().Submit(device, task), 0);
    }
    ASSERT_EQ(npusim::Host::Get().WaitIdle(device, 20'000'000'000), 0);
  }
  static nlohmann::json Ring(const nlohmann::json& device, const std::string& channel) {
    for (const auto& ring : device["rings"]) {
      if (ring["channel"] == channel) return ring;
    }
    return nullptr;
  }
};

}  // namespace npuprof
