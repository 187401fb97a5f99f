// SPDX-License-Identifier: Apache-2.0
#include "core/validate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "npuprof_records.h"

namespace {

bool Known(const npc_device*, npuprof_core_kind kind, uint16_t event) {
  return kind == NPUPROF_CORE_CUBE ? event < 0x500 : event < 0x80;
}

struct AddRing : testing::Test {
  npuprof_query caps{};
  npc_device device{&caps, Known};
  npuprof_add_ring add{};

  void SetUp() override {
    caps.cube_cores = 24;
    caps.vector_cores = 48;
    caps.counters = 8;
    caps.channels = (1u << NPUPROF_CHANNEL_COUNT) - 2;
    caps.min_period_ns = 10000;
    caps.max_period_ns = 1000000000;
    caps.device_flags = NPUPROF_DEVICE_OVERWRITE | NPUPROF_DEVICE_WRITTEN;
    add = TaskLog();
  }
  static npuprof_add_ring TaskLog() {
    npuprof_add_ring add{};
    add.size = sizeof add;
    add.channel = NPUPROF_CHANNEL_TASK_LOG;
    add.core = NPC_CORE_DEVICE;
    add.slots = 1024;
    return add;
  }
  static npuprof_add_ring Sample() {
    npuprof_add_ring add = TaskLog();
    add.channel = NPUPROF_CHANNEL_CORE_SAMPLE;
    add.core_kind = NPUPROF_CORE_VECTOR;
    add.core = 47;
    add.period_ns = 1000000;
    add.vector_events[0] = 0x9;
    add.vector_events[1] = 0xa;
    add.vector_event_count = 2;
    return add;
  }
  int Check() { return npc_check_add_ring(&add, &device); }
};

TEST_F(AddRing, GoodOnesPass) {
  EXPECT_EQ(Check(), 0);
  add = Sample();
  EXPECT_EQ(Check(), 0);
  add = TaskLog();
  add.channel = NPUPROF_CHANNEL_TASK_PMU;
  add.cube_events[0] = 0x416;
  add.cube_event_count = 1;
  add.vector_events[0] = 0x9;
  add.vector_event_count = 1;
  EXPECT_EQ(Check(), 0);
}

TEST_F(AddRing, ReturnedFieldsMayHoldAnything) {
  add.ring = add.record_size = add.owner_pid = 0xffffffff;
  add.data_offset = ~uint64_t{0};
  EXPECT_EQ(Check(), 0);
}

TEST_F(AddRing, ReservedFieldsMustBeZero) {
  add.reserved0 = 1;
  EXPECT_EQ(Check(), -EINVAL);
  add = TaskLog();
  add.reserved1 = 1;
  EXPECT_EQ(Check(), -EINVAL);
  for (int k = 0; k < 3; ++k) {
    add = TaskLog();
    add.reserved[k] = uint64_t{1} << 63;
    EXPECT_EQ(Check(), -EINVAL) << k;
  }
}

TEST_F(AddRing, EveryUnknownFlagIsRefused) {
  for (int bit = 3; bit < 32; ++bit) {
    add.flags = 1u << bit;
    EXPECT_EQ(Check(), -EINVAL) << bit;
  }
}

TEST_F(AddRing, PathsAndModes) {
  add.flags = NPUPROF_RING_REGISTER_PATH;
  EXPECT_EQ(Check(), 0);
  add.flags = NPUPROF_RING_DEVICE_PATH;
  EXPECT_EQ(Check(), 0);
  add.flags = NPUPROF_RING_DEVICE_PATH | NPUPROF_RING_REGISTER_PATH;
  EXPECT_EQ(Check(), -EINVAL);
  add.flags = NPUPROF_RING_OVERWRITE;
  EXPECT_EQ(Check(), 0);
  add.flags = NPUPROF_RING_OVERWRITE | NPUPROF_RING_DEVICE_PATH;
  EXPECT_EQ(Check(), -EOPNOTSUPP);
  caps.device_flags = 0;
  add.flags = NPUPROF_RING_OVERWRITE;
  EXPECT_EQ(Check(), -EOPNOTSUPP);
  add.flags = NPUPROF_RING_DEVICE_PATH;
  EXPECT_EQ(Check(), -EOPNOTSUPP);
}

TEST_F(AddRing, Channels) {
  add.channel = NPUPROF_CHANNEL_EVENTS;
  EXPECT_EQ(Check(), -EINVAL);
  add.channel = NPUPROF_CHANNEL_COUNT;
  EXPECT_EQ(Check(), -EOPNOTSUPP);
  add.channel = 0xffffffff;
  EXPECT_EQ(Check(), -EOPNOTSUPP);
  add.channel = NPUPROF_CHANNEL_TASK_LOG;
  caps.channels &= ~(1ull << NPUPROF_CHANNEL_TASK_LOG);
  EXPECT_EQ(Check(), -EOPNOTSUPP);
}

TEST_F(AddRing, Slots) {
  for (uint32_t slots : {0u, 1u, 8u, 15u, 17u, 1000u, NPUPROF_MAX_SLOTS * 2, 0xffffffffu, 0x80000000u}) {
    add.slots = slots;
    EXPECT_EQ(Check(), -EINVAL) << slots;
  }
  for (uint32_t slots : {16u, 1u << 10, NPUPROF_MAX_SLOTS}) {
    add.slots = slots;
    EXPECT_EQ(Check(), 0) << slots;
  }
}

TEST_F(AddRing, WatermarkAndLatency) {
  add.watermark = 1024;
  EXPECT_EQ(Check(), 0);
  add.watermark = 1025;
  EXPECT_EQ(Check(), -EINVAL);
  add.watermark = 1;
  add.latency_ns = NPC_LATENCY_MAX_NS;
  EXPECT_EQ(Check(), 0);
  add.latency_ns++;
  EXPECT_EQ(Check(), -EINVAL);
}

TEST_F(AddRing, CoresOfPerCoreChannels) {
  add = Sample();
  add.core = 48;
  EXPECT_EQ(Check(), -EINVAL);
  add.core = NPC_CORE_DEVICE;
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  add.vector_event_count = 0;
  add.vector_events[0] = add.vector_events[1] = 0;
  add.core_kind = NPUPROF_CORE_CUBE;
  add.core = 23;
  EXPECT_EQ(Check(), 0);
  add.core = 24;
  EXPECT_EQ(Check(), -EINVAL);
  add.core = 0;
  add.core_kind = NPUPROF_CORE_NONE;
  EXPECT_EQ(Check(), -EINVAL);
  add.core_kind = 3;
  EXPECT_EQ(Check(), -EINVAL);
}

// A record of a block has seven bits for its core, and the device's core 128 would have become core 0.
TEST_F(AddRing, BlocksOfCoresThatTheirRecordsCannotNameAreRefused) {
  caps.vector_cores = 200;
  add = Sample();
  add.channel = NPUPROF_CHANNEL_BLOCK_PMU;
  add.period_ns = 0;
  add.core = 127;
  EXPECT_EQ(Check(), 0);
  add.core = 128;
  EXPECT_EQ(Check(), -EOPNOTSUPP);
  add.core = 200;
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  add.core = 128;
  EXPECT_EQ(Check(), 0);
}

TEST_F(AddRing, DeviceChannelsBelongToNoCore) {
  add.core = 0;
  EXPECT_EQ(Check(), -EINVAL);
  add = TaskLog();
  add.core_kind = NPUPROF_CORE_CUBE;
  EXPECT_EQ(Check(), -EINVAL);
}

TEST_F(AddRing, PeriodOnlyWhereThingsAreSampled) {
  add.period_ns = 1000000;
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  for (uint64_t period : {uint64_t{0}, uint64_t{9999}, uint64_t{1000000001}, ~uint64_t{0}}) {
    add.period_ns = period;
    EXPECT_EQ(Check(), -EINVAL) << period;
  }
  for (uint64_t period : {10000u, 1000000000u}) {
    add.period_ns = period;
    EXPECT_EQ(Check(), 0) << period;
  }
}

TEST_F(AddRing, Events) {
  add = Sample();
  add.vector_events[1] = 0x9;  // twice
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  add.vector_events[2] = 0xb;  // beyond the count
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  add.vector_events[1] = 0x416;  // matrix cores only
  EXPECT_EQ(Check(), -EOPNOTSUPP);
  add = Sample();
  add.vector_event_count = 9;
  EXPECT_EQ(Check(), -EINVAL);
  add.vector_event_count = 255;
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  caps.counters = 1;
  EXPECT_EQ(Check(), -EINVAL);
}

TEST_F(AddRing, EventsOfTheOtherKindOfCore) {
  add = Sample();
  add.cube_events[0] = 0x9;
  add.cube_event_count = 1;
  EXPECT_EQ(Check(), -EINVAL);
  add.cube_event_count = 0;  // not counted, yet there
  EXPECT_EQ(Check(), -EINVAL);
}

TEST_F(AddRing, EventsWhereNothingCounts) {
  add.cube_events[0] = 0x9;
  add.cube_event_count = 1;
  EXPECT_EQ(Check(), -EINVAL);
}

TEST_F(AddRing, Options) {
  add.options = 1;
  EXPECT_EQ(Check(), -EINVAL);
  add.channel = NPUPROF_CHANNEL_LLC;
  add.period_ns = 1000000;
  EXPECT_EQ(Check(), 0);
  add.options = 2;
  EXPECT_EQ(Check(), -EINVAL);
  add = Sample();
  add.channel = NPUPROF_CHANNEL_BLOCK_PMU;
  add.period_ns = 0;
  add.options = 1;
  EXPECT_EQ(Check(), 0);
}

TEST_F(AddRing, PlacingFillsInDefaults) {
  __u64 bytes = 0;
  ASSERT_EQ(npc_place_ring(&add, 3, 8192, 1u << 20, 4096, &bytes), 0);
  EXPECT_EQ(add.ring, 3u);
  EXPECT_EQ(add.record_size, 64u);
  EXPECT_EQ(add.data_offset, 8192u);
  EXPECT_EQ(add.watermark, 512u);
  EXPECT_EQ(add.latency_ns, 100000000u);
  EXPECT_EQ(bytes, 8192u + 65536u);
  add = TaskLog();
  add.channel = NPUPROF_CHANNEL_TS_TRACK;
  add.slots = 16;
  ASSERT_EQ(npc_place_ring(&add, 4, 0, 1u << 20, 4096, &bytes), 0);
  EXPECT_EQ(bytes, 4096u);  // whole pages
}

TEST_F(AddRing, PlacingRespectsLimits) {
  __u64 bytes = 1;
  EXPECT_EQ(npc_place_ring(&add, NPUPROF_MAX_RINGS, 0, 1u << 20, 4096, &bytes), -ENOSPC);
  EXPECT_EQ(npc_place_ring(&add, 1, 0, 65535, 4096, &bytes), -ENOMEM);
  EXPECT_EQ(npc_place_ring(&add, 1, 4096, 65536, 4096, &bytes), -ENOMEM);
  EXPECT_EQ(npc_place_ring(&add, 1, 8192, 4096, 4096, &bytes), -ENOMEM);
  EXPECT_EQ(bytes, 1u);
  EXPECT_EQ(add.watermark, 0u);
  EXPECT_EQ(npc_place_ring(&add, 1, 0, 65536, 4096, &bytes), 0);
}

TEST(Channels, RecordSizesAreThoseOfTheHeader) {
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_EVENTS), 64u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_TASK_LOG), 64u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_TASK_PMU), 128u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_TS_TRACK), 40u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_BLOCK_PMU), 128u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_CORE_SAMPLE), 96u);
  for (uint32_t channel = NPUPROF_CHANNEL_HBM; channel <= NPUPROF_CHANNEL_L2; ++channel)
    EXPECT_EQ(npc_record_size(channel), 32u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_AICPU), 64u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_LINK), 32u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_PCIE), 32u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_SOC_PMU), 80u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_FLOWS), 32u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_ACCELERATORS), 32u);
  EXPECT_EQ(npc_record_size(NPUPROF_CHANNEL_COUNT), 0u);
  EXPECT_FALSE(npc_channel_per_core(0xffffffff));
  EXPECT_FALSE(npc_channel_sampled(0xffffffff));
}

TEST(Requests, AreFoundWhateverSizeTheCallerEncodes) {
  unsigned long number = 0;
  npc_request found{};
  ASSERT_EQ(npc_request_find(NPUPROF_IOC_STATS, &number, &found), 0);
  EXPECT_EQ(number, NPUPROF_IOC_STATS);
  EXPECT_EQ(found.known, sizeof(npuprof_stats));
  ASSERT_EQ(npc_request_find(_IOC(_IOC_READ | _IOC_WRITE, 'N', 0xc1, 1000), &number, &found), 0);
  EXPECT_EQ(number, NPUPROF_IOC_ADD_RING);
  EXPECT_EQ(npc_request_find(_IOC(_IOC_READ | _IOC_WRITE, 'N', 0xc8, 56), &number, &found), -ENOTTY);
  EXPECT_EQ(npc_request_find(_IOC(_IOC_READ | _IOC_WRITE, 'M', 0xc0, 160), &number, &found), -ENOTTY);
  EXPECT_EQ(npc_request_find(_IOC(_IOC_READ, 'N', 0xc0, 160), &number, &found), -ENOTTY);
  EXPECT_EQ(npc_request_find(0, &number, &found), -ENOTTY);
}

TEST(Sizes, ShorterCallersAreServedAndLongerOnesIfTheRestIsZero) {
  const npc_request request{sizeof(npuprof_clock), NPC_CLOCK_SIZE_MIN};
  std::vector<uint8_t> from(5000, 0);
  for (size_t k = 0; k < 48; ++k) from[k] = static_cast<uint8_t>(k + 1);
  npuprof_clock clock;
  std::memset(&clock, 0xee, sizeof clock);
  ASSERT_EQ(npc_copy_in(&clock, from.data(), 32, &request), 0);
  EXPECT_EQ(clock.reserved[0], 0u);  // what the caller does not have is zero
  EXPECT_EQ(std::memcmp(&clock, from.data(), 32), 0);
  EXPECT_EQ(npc_copy_in(&clock, from.data(), 48, &request), 0);
  EXPECT_NE(clock.reserved[1], 0u);
  EXPECT_EQ(npc_copy_in(&clock, from.data(), 4096, &request), 0);
  EXPECT_EQ(npc_copy_in(&clock, from.data(), 4097, &request), -E2BIG);
  from[4095] = 1;
  EXPECT_EQ(npc_copy_in(&clock, from.data(), 4096, &request), -E2BIG);
  EXPECT_EQ(npc_copy_in(&clock, from.data(), 4095, &request), 0);
  from[48] = 1;
  EXPECT_EQ(npc_copy_in(&clock, from.data(), 49, &request), -E2BIG);
  for (uint32_t size : {0u, 4u, 31u}) EXPECT_EQ(npc_copy_in(&clock, from.data(), size, &request), -EINVAL);
}

TEST(Sizes, AnswersStayWithinTheCallersStructure) {
  const npc_request request{sizeof(npuprof_clock), NPC_CLOCK_SIZE_MIN};
  npuprof_clock clock;
  std::memset(&clock, 0xaa, sizeof clock);
  std::vector<uint8_t> to(100, 0x11);
  npc_copy_out(to.data(), &clock, 32, &request);
  EXPECT_EQ(to[3], 0x11);  // the size is the caller's
  EXPECT_EQ(to[4], 0xaa);
  EXPECT_EQ(to[31], 0xaa);
  EXPECT_EQ(to[32], 0x11);
  npc_copy_out(to.data(), &clock, 100, &request);
  EXPECT_EQ(to[47], 0xaa);
  EXPECT_EQ(to[48], 0x11);
}

TEST(Control, FlagsTimeoutAndReserved) {
  npuprof_control control{};
  for (unsigned long number : {NPUPROF_IOC_START, NPUPROF_IOC_STOP, NPUPROF_IOC_FREEZE, NPUPROF_IOC_FLUSH}) {
    control = {};
    control.clock = control.monotonic_raw_ns = 5;  // returned fields
    control.straddling = 5;
    EXPECT_EQ(npc_check_control(&control, number), 0);
    control.reserved0 = 1;
    EXPECT_EQ(npc_check_control(&control, number), -EINVAL);
    control.reserved0 = 0;
    control.reserved[1] = 1;
    EXPECT_EQ(npc_check_control(&control, number), -EINVAL);
    control.reserved[1] = 0;
    control.timeout_ns = 1;  // without the flag
    EXPECT_EQ(npc_check_control(&control, number), -EINVAL);
    control.flags = NPUPROF_STOP_WAIT;
    EXPECT_EQ(npc_check_control(&control, number), number == NPUPROF_IOC_STOP ? 0 : -EINVAL);
    control.flags = 1u << 1;
    EXPECT_EQ(npc_check_control(&control, number), -EINVAL);
  }
  control = {};
  control.flags = NPUPROF_STOP_WAIT;
  control.timeout_ns = NPC_STOP_TIMEOUT_MAX_NS;
  EXPECT_EQ(npc_check_control(&control, NPUPROF_IOC_STOP), 0);
  control.timeout_ns++;
  EXPECT_EQ(npc_check_control(&control, NPUPROF_IOC_STOP), -EINVAL);
}

TEST(Plain, QueryStatsAndClockTakeNoFlags) {
  npuprof_query query{};
  npuprof_stats stats{};
  npuprof_clock clock{};
  EXPECT_EQ(npc_check_query(&query), 0);
  EXPECT_EQ(npc_check_stats(&stats), 0);
  EXPECT_EQ(npc_check_clock(&clock), 0);
  query.flags = stats.flags = clock.flags = 1;
  EXPECT_EQ(npc_check_query(&query), -EINVAL);
  EXPECT_EQ(npc_check_stats(&stats), -EINVAL);
  EXPECT_EQ(npc_check_clock(&clock), -EINVAL);
  query = {};
  stats = {};
  clock = {};
  query.reserved[3] = stats.reserved[3] = clock.reserved[1] = 1;
  EXPECT_EQ(npc_check_query(&query), -EINVAL);
  EXPECT_EQ(npc_check_stats(&stats), -EINVAL);
  EXPECT_EQ(npc_check_clock(&clock), -EINVAL);
}

}  // namespace
