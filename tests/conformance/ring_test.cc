// SPDX-License-Identifier: Apache-2.0
// ADD_RING: every refusal with its errno, and what is granted.
#include <cerrno>
#include <functional>
#include <string>

#include "profiler.h"

namespace conformance {
namespace {

struct Refusal {
  const char* name;
  int error;
  std::function<npuprof_add_ring(const npuprof_query&)> request;
};

npuprof_add_ring Log() {
  return DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
}
npuprof_add_ring Sample() {
  return SampleRing(NPUPROF_CORE_CUBE, 0, 10 * kMs, 64, {0x416});
}

template <class Change>
auto With(npuprof_add_ring ring, const Change& change) {
  return [=](const npuprof_query& query) {
    npuprof_add_ring changed = ring;
    change(changed, query);
    return changed;
  };
}
#define LOG(what)                                                      \
  With(Log(), [](npuprof_add_ring& ring, const npuprof_query& query) { \
    (void)query;                                                       \
    what;                                                              \
  })
#define PMU(what)                                                            \
  With(PmuRing(64), [](npuprof_add_ring& ring, const npuprof_query& query) { \
    (void)query;                                                             \
    what;                                                                    \
  })
#define SAMPLE(what)                                                      \
  With(Sample(), [](npuprof_add_ring& ring, const npuprof_query& query) { \
    (void)query;                                                          \
    what;                                                                 \
  })
#define BLOCK(what)                                                                                  \
  With(BlockRing(NPUPROF_CORE_CUBE, 0, 64), [](npuprof_add_ring& ring, const npuprof_query& query) { \
    (void)query;                                                                                     \
    what;                                                                                            \
  })

const Refusal kRefusals[] = {
    {"UnknownFlag", -EINVAL, LOG(ring.flags = 8)},
    {"HighestFlag", -EINVAL, LOG(ring.flags = 1u << 31)},
    {"BothPaths", -EINVAL, LOG(ring.flags = NPUPROF_RING_REGISTER_PATH | NPUPROF_RING_DEVICE_PATH)},
    {"OverwriteByDevice", -EOPNOTSUPP, LOG(ring.flags = NPUPROF_RING_OVERWRITE | NPUPROF_RING_DEVICE_PATH)},
    {"EventsByHand", -EINVAL, LOG(ring.channel = NPUPROF_CHANNEL_EVENTS)},
    {"NextChannel", -EOPNOTSUPP, LOG(ring.channel = NPUPROF_CHANNEL_COUNT)},
    {"HighestChannel", -EOPNOTSUPP, LOG(ring.channel = 0xffffffff)},
    {"CoreOfADeviceRing", -EINVAL, LOG(ring.core = 0)},
    {"KindOfADeviceRing", -EINVAL, LOG(ring.core_kind = NPUPROF_CORE_CUBE)},
    {"NoSlots", -EINVAL, LOG(ring.slots = 0)},
    {"TooFewSlots", -EINVAL, LOG(ring.slots = NPUPROF_MIN_SLOTS / 2)},
    {"SlotsNoPowerOfTwo", -EINVAL, LOG(ring.slots = 63)},
    {"TooManySlots", -EINVAL, LOG(ring.slots = 2 * NPUPROF_MAX_SLOTS)},
    {"AllSlots", -EINVAL, LOG(ring.slots = 0xffffffff)},
    {"WatermarkBeyondSlots", -EINVAL, LOG(ring.watermark = 65)},
    {"LatencyTooLong", -EINVAL, LOG(ring.latency_ns = 60 * kSecond + 1)},
    {"LatencyHuge", -EINVAL, LOG(ring.latency_ns = ~uint64_t{0})},
    {"PeriodOfTasks", -EINVAL, LOG(ring.period_ns = kMs)},
    {"OptionsOfTasks", -EINVAL, LOG(ring.options = 1)},
    {"CubeEventsOfTheLog", -EINVAL, LOG((ring.cube_events[0] = 0x416, ring.cube_event_count = 1))},
    {"VectorEventsOfTheLog", -EINVAL, LOG((ring.vector_events[0] = 0x8, ring.vector_event_count = 1))},
    {"Reserved0", -EINVAL, LOG(ring.reserved0 = 1)},
    {"FirstReserved", -EINVAL, LOG(ring.reserved[0] = 1)},
    {"Reserved1", -EINVAL, LOG(ring.reserved1 = 1)},
    {"LastReserved", -EINVAL, LOG(ring.reserved[2] = 1)},

    {"NineEvents", -EINVAL, PMU(ring.cube_event_count = 9)},
    {"ManyEvents", -EINVAL, PMU(ring.vector_event_count = 255)},
    {"EventTwice", -EINVAL, PMU(ring.cube_events[1] = ring.cube_events[0])},
    {"EntryBehindTheCount", -EINVAL, PMU(ring.vector_events[2] = 0x10)},
    {"UnknownCubeEvent", -EOPNOTSUPP, PMU(ring.cube_events[0] = 0xfffe)},
    {"UnknownVectorEvent", -EOPNOTSUPP, PMU(ring.vector_events[1] = 0xfffe)},

    {"NoPeriod", -EINVAL, SAMPLE(ring.period_ns = 0)},
    {"PeriodTooShort", -EINVAL, SAMPLE(ring.period_ns = query.min_period_ns - 1)},
    {"PeriodTooLong", -EINVAL, SAMPLE(ring.period_ns = query.max_period_ns + 1)},
    {"PeriodHuge", -EINVAL, SAMPLE(ring.period_ns = ~uint64_t{0})},
    {"NoKind", -EINVAL, SAMPLE(ring.core_kind = NPUPROF_CORE_NONE)},
    {"UnknownKind", -EINVAL, SAMPLE(ring.core_kind = 3)},
    {"CoreBeyondTheLast", -EINVAL, SAMPLE(ring.core = query.cube_cores)},
    {"DeviceAsCore", -EINVAL, SAMPLE(ring.core = 0xffff)},
    {"VectorEventsOfACubeCore", -EINVAL, SAMPLE((ring.vector_events[0] = 0x8, ring.vector_event_count = 1))},
    {"OptionsOfSamples", -EINVAL, SAMPLE(ring.options = 1)},

    {"UnknownBlockOption", -EINVAL, BLOCK(ring.options = 2)},
    {"PeriodOfBlocks", -EINVAL, BLOCK(ring.period_ns = kMs)},
    {"UnknownCacheOption", -EINVAL,
     With(UnitRing(NPUPROF_CHANNEL_LLC, 10 * kMs, 64),
          [](npuprof_add_ring& ring, const npuprof_query&) { ring.options = 2; })},
    {"EventsOfAUnit", -EINVAL,
     With(UnitRing(NPUPROF_CHANNEL_HBM, 10 * kMs, 64),
          [](npuprof_add_ring& ring, const npuprof_query&) {
            ring.cube_events[0] = 0x416;
            ring.cube_event_count = 1;
          })},
};

struct Refused : testing::TestWithParam<Refusal> {};
INSTANTIATE_TEST_SUITE_P(AddRing, Refused, testing::ValuesIn(kRefusals),
                         [](const auto& refusal) { return refusal.param.name; });

TEST_P(Refused, SaysWhyAndChangesNothing) {
  Profiler profiler;
  npuprof_add_ring ring = GetParam().request(profiler.Query());
  npuprof_add_ring before = ring;
  before.size = sizeof before;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &ring), GetParam().error);
  EXPECT_EQ(std::memcmp(&ring, &before, sizeof ring), 0);
  // The session took no harm, and what was refused is claimed by nobody.
  Profiler other;
  EXPECT_EQ(other.Add(PmuRing(64)), 1);
  EXPECT_EQ(other.Add(Sample()), 2);
  other.Close();
  EXPECT_EQ(profiler.Add(Log()), 1);
  profiler.Start();
  profiler.Stop();
}

TEST(AddRing, FillsInDefaultsAndPlace) {
  Profiler profiler;
  npuprof_add_ring ring = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1024);
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &ring), 0);
  EXPECT_EQ(ring.ring, 1u);
  EXPECT_EQ(ring.record_size, sizeof(npuprof_rec_task_log));
  EXPECT_EQ(ring.watermark, 512u);
  EXPECT_EQ(ring.latency_ns, 100 * kMs);
  EXPECT_GT(ring.data_offset, 0u);  // behind the event ring
  EXPECT_EQ(ring.data_offset % kPage, 0u);
  npuprof_add_ring next = PmuRing(16);
  next.watermark = 16;
  next.latency_ns = 60 * kSecond;
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &next), 0);
  EXPECT_EQ(next.ring, 2u);
  EXPECT_EQ(next.record_size, sizeof(npuprof_rec_task_pmu));
  EXPECT_EQ(next.watermark, 16u);
  EXPECT_EQ(next.latency_ns, 60 * kSecond);
  EXPECT_GE(next.data_offset, ring.data_offset + 1024 * sizeof(npuprof_rec_task_log));
}

TEST(AddRing, TheControlAreaTellsTheSame) {
  Profiler profiler;
  npuprof_add_ring sample = SampleRing(NPUPROF_CORE_VECTOR, 3, 10 * kMs, 128, {0x8});
  ASSERT_EQ(profiler.Call(NPUPROF_IOC_ADD_RING, &sample), 0);
  profiler.Map();
  const npuprof_ring_ctrl& events = profiler.Ctrl(0);
  EXPECT_EQ(events.channel, uint32_t{NPUPROF_CHANNEL_EVENTS});
  EXPECT_EQ(events.record_size, sizeof(npuprof_rec_event));
  EXPECT_EQ(events.data_offset, 0u);
  EXPECT_EQ(events.state, uint32_t{NPUPROF_RING_IDLE});
  void* address = nullptr;
  ASSERT_EQ(Backend::Get().Map(profiler.handle(), NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &address), 0);
  const npuprof_ring_ctrl& ring = static_cast<const npuprof_ring_ctrl*>(address)[1];
  EXPECT_EQ(ring.channel, uint32_t{NPUPROF_CHANNEL_CORE_SAMPLE});
  EXPECT_EQ(ring.core, 3);
  EXPECT_EQ(ring.core_kind, NPUPROF_CORE_VECTOR);
  EXPECT_EQ(ring.slots, 128u);
  EXPECT_EQ(ring.record_size, sizeof(npuprof_rec_core_sample));
  EXPECT_EQ(ring.data_offset, sample.data_offset);
  EXPECT_EQ(ring.head + ring.lost_records + ring.lost_bytes + ring.epoch, 0u);
  Backend::Get().Unmap(address, kPage);
}

TEST(AddRing, EventListsShareTheCountersOfACore) {
  Profiler profiler;
  EXPECT_EQ(profiler.Add(PmuRing(64)), 1);
  npuprof_add_ring block = DeviceRing(NPUPROF_CHANNEL_BLOCK_PMU, 64);
  block.core_kind = NPUPROF_CORE_CUBE;
  block.core = 0;
  block.cube_events[0] = 0x8;  // a ninth event
  block.cube_event_count = 1;
  EXPECT_EQ(profiler.Add(block), -ENOSPC);
  block.cube_events[0] = 0x55;
  block.flags = NPUPROF_RING_REGISTER_PATH;
  EXPECT_EQ(profiler.Add(block), 2);
  block.core = 1;
  block.options = 1;
  EXPECT_EQ(profiler.Add(block), -EINVAL);  // options of all must agree
  block.options = 0;
  EXPECT_EQ(profiler.Add(block), 3);
  block.core = 2;
  block.flags = 0;  // the driver finds a way
  EXPECT_EQ(profiler.Add(block), 4);
}

TEST(AddRing, DataOfASessionHasALimit) {
  BoundedMemory bounded;
  Profiler profiler;
  const npuprof_query query = profiler.Query();
  // Ever smaller rings, core after core. A kernel may also run into what its user may lock: the same errno.
  uint64_t granted = 0;
  unsigned refused = 0;
  uint16_t core = 0;
  for (uint32_t slots = NPUPROF_MAX_SLOTS; slots >= 16 && core < query.vector_cores; slots /= 2) {
    npuprof_add_ring ring = SampleRing(NPUPROF_CORE_VECTOR, core, 1000 * kMs, slots, {0x8});
    int error;
    while (core < query.vector_cores && (error = profiler.Call(NPUPROF_IOC_ADD_RING, &ring)) == 0) {
      granted += uint64_t{ring.slots} * ring.record_size;
      ring = SampleRing(NPUPROF_CORE_VECTOR, ++core, 1000 * kMs, slots, {0x8});
    }
    if (core == query.vector_cores) break;
    ++refused;
    EXPECT_EQ(error, -ENOMEM) << slots;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(granted, 0u);
  EXPECT_LE(granted, query.max_data_bytes);
}

}  // namespace
}  // namespace conformance
