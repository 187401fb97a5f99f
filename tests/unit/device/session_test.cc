// SPDX-License-Identifier: Apache-2.0
#include "device/device_session.h"

#include <gtest/gtest.h>

#include "device/converters.h"
#include "device/device_source.h"
#include "fake_device.h"
#include "support.h"

namespace npuprof::device {
namespace {

using drain::seconds;

class SessionTest : public testing::Test {
 protected:
  Status Open() { return DeviceSession::Open(std::make_unique<FakeFile>(device_), 3, &session_); }
  unsigned Add(npuprof_add_ring request) {
    unsigned ring = 0;
    EXPECT_TRUE(session_->AddRing(request, &ring).ok());
    return ring;
  }
  std::shared_ptr<trace::RecordFile> File(drain::Collection& collection, const std::string& name,
                                          size_t size) {
    return drain::MakeFile(collection, dir_.path(), name, size);
  }

  drain::TempDir dir_;
  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
  std::unique_ptr<DeviceSession> session_;
};

TEST_F(SessionTest, OtherInterfaceVersionIsRefused) {
  device_->query.abi_major = NPUPROF_ABI_MAJOR + 1;
  const Status status = Open();
  EXPECT_EQ(status.kind, ErrorKind::kUnsupported);
  EXPECT_EQ(status.text,
            fmt::format("fake NPU speaks interface {}.0 with record formats {}, this library {}.{} "
                        "with {}; take both from one build",
                        NPUPROF_ABI_MAJOR + 1, NPUPROF_RECORDS_VERSION, NPUPROF_ABI_MAJOR, NPUPROF_ABI_MINOR,
                        NPUPROF_RECORDS_VERSION));
}

TEST_F(SessionTest, RefusalsCarryTheirKindAndTheDevice) {
  ASSERT_TRUE(Open().ok());
  const std::pair<int, ErrorKind> kinds[] = {{EINVAL, ErrorKind::kInvalidArgument},
                                             {EOPNOTSUPP, ErrorKind::kUnsupported},
                                             {EBUSY, ErrorKind::kBusy},
                                             {EIO, ErrorKind::kDevice},
                                             {ENOMEM, ErrorKind::kDevice},
                                             {EOWNERDEAD, ErrorKind::kForked}};
  npuprof_control control;
  for (const auto& [error, kind] : kinds) {
    device_->refuse[NPUPROF_IOC_START] = device_->refuse[NPUPROF_IOC_ADD_RING] = error;
    const Status start = session_->Start(&control);
    EXPECT_EQ(start.kind, kind);
    EXPECT_EQ(start.error, error);
    EXPECT_EQ(start.text.find("fake NPU could not start: "), 0u) << start.text;
    const Status add = session_->AddRing(MakeRing(NPUPROF_CHANNEL_LLC, 64), nullptr);
    EXPECT_NE(add.text.find("add a ring for llc"), std::string::npos);
  }
}

TEST_F(SessionTest, RingsThatChangedSinceTheyWereGrantedAreNotMapped) {
  ASSERT_TRUE(Open().ok());
  Add(MakeRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  const std::vector<npuprof_ring_ctrl> good = device_->control;
  const std::function<void()> harm[] = {[&] { device_->control[1].slots = 128; },
                                        [&] { device_->control[1].record_size = 65; },
                                        [&] { device_->control[1].data_offset += 64; },
                                        [&] { device_->control[1].channel = 2; },
                                        [&] { device_->control[0].slots = 17; },
                                        [&] { device_->control[0].record_size = 32; },
                                        [&] { device_->control[0].slots = 0; },
                                        [&] { device_->control[0].data_offset = uint64_t{1} << 60; }};
  for (const auto& spoil : harm) {
    device_->control = good;
    spoil();
    EXPECT_EQ(session_->Map().kind, ErrorKind::kDevice);
  }
  device_->control = good;
  EXPECT_TRUE(session_->Map().ok());
}

TEST_F(SessionTest, ClockIsTheTightestOfFive) {
  ASSERT_TRUE(Open().ok());
  const uint64_t widths[] = {900, 300, 100, 500, 700};
  for (const uint64_t width : widths) {
    npuprof_clock clock = {};
    clock.host_before_ns = 1000 * width;
    clock.device_clock = width;
    clock.host_after_ns = clock.host_before_ns + width;
    device_->clocks.push_back(clock);
  }
  ClockBracket bracket;
  ASSERT_TRUE(session_->Clock(&bracket).ok());
  EXPECT_EQ(device_->clock_calls, 5u);
  EXPECT_EQ(bracket.width_ns, 100u);
  EXPECT_EQ(bracket.device, 100u);
  EXPECT_EQ(bracket.host_ns, 100'050u);
}

TEST_F(SessionTest, StopPassesItsPatienceOn) {
  ASSERT_TRUE(Open().ok());
  npuprof_control control;
  ASSERT_TRUE(session_->Stop(std::chrono::milliseconds(5), &control).ok());
  EXPECT_EQ(device_->last_stop.timeout_ns, 5'000'000u);
  EXPECT_EQ(device_->last_stop.flags, NPUPROF_STOP_WAIT);
  ASSERT_TRUE(session_->Stop({}, &control).ok());
  EXPECT_EQ(device_->last_stop.flags, 0u);
}

TEST_F(SessionTest, RingsReachTheirFilesAndEveryRecordIsAccountedFor) {
  ASSERT_TRUE(Open().ok());
  const unsigned log = Add(MakeRing(NPUPROF_CHANNEL_TASK_LOG, 1024));
  const unsigned core0 = Add(MakeCoreRing(NPUPROF_CHANNEL_BLOCK_PMU, 64, NPUPROF_CORE_CUBE, 0));
  const unsigned core1 = Add(MakeCoreRing(NPUPROF_CHANNEL_BLOCK_PMU, 64, NPUPROF_CORE_VECTOR, 1));
  const unsigned hbm = Add(MakeRing(NPUPROF_CHANNEL_HBM, 64));
  const unsigned orphan = Add(MakeRing(NPUPROF_CHANNEL_AICPU, 64));
  ASSERT_TRUE(session_->Map().ok());

  drain::Drain drain;
  auto collection = drain.Open(drain::Options{}, nullptr, nullptr);
  auto log_file = File(*collection, "stars_soc.data.3", 64);
  auto block_file = File(*collection, "ffts_profile.data.3", 128);
  DeviceContext context;
  context.clock_hz = 50'000'000;
  trace::RecordSpec spec;
  spec.directory = dir_.path();
  spec.name = "hbm.data.3";
  spec.record_size = kBandwidthFileRecord;
  spec.ring_record_size = sizeof(npuprof_rec_bandwidth);
  spec.convert = ConvertHbm;
  spec.context = &context;
  auto hbm_file = std::make_shared<trace::RecordFile>(*collection, spec);
  auto source = std::make_shared<DeviceSource>(*session_);
  source->Route(log, *log_file);
  source->Route(core0, *block_file);
  source->Route(core1, *block_file);
  source->Route(hbm, *hbm_file);

  // Before the drain looks: 1024 fit, 5 do not, and the event ring says where.
  const std::string records = drain::MakeRecords(64, 1024);
  for (size_t i = 0; i < 1029; ++i) device_->Put(log, records.data() + i % 1024 * 64);
  npuprof_rec_event gap = {};
  gap.kind = NPUPROF_EVENT_GAP;
  gap.ring = log;
  gap.cause = NPUPROF_LOSS_RING_FULL;
  gap.position = 1024;
  gap.count = 5;
  gap.first = 111;
  gap.last = 222;
  device_->Put(0, &gap);
  npuprof_rec_event epoch = {};
  epoch.kind = NPUPROF_EVENT_EPOCH;
  epoch.ring = 0xffffffffu;
  epoch.cause = NPUPROF_LOSS_RESET;
  epoch.epoch = 1;
  epoch.first = 500;
  device_->Put(0, &epoch);
  npuprof_rec_event throttle = {};
  throttle.kind = NPUPROF_EVENT_THROTTLE;
  throttle.ring = hbm;
  throttle.count = 40'000'000;
  device_->Put(0, &throttle);
  npuprof_rec_event bracket = {};
  bracket.kind = NPUPROF_EVENT_CLOCK;
  bracket.count = 7777;
  bracket.first = 8888;
  bracket.last = 9;
  device_->Put(0, &bracket);
  const std::string blocks = drain::MakeRecords(128, 20);
  for (size_t i = 0; i < 20; ++i) device_->Put(i % 2 == 0 ? core0 : core1, blocks.data() + i * 128);
  npuprof_rec_bandwidth traffic = {1000, 64 * 32, 1, 2, 0};
  device_->Put(hbm, &traffic);
  const npuprof_rec_aicpu task = {};
  for (int i = 0; i < 3; ++i) device_->Put(orphan, &task);
  collection->Add(source);

  // While it runs: more than the ring holds, paced by the wake-up.
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(drain::Eventually([&] {
      return __atomic_load_n(&device_->tails[log].tail, __ATOMIC_ACQUIRE) == device_->control[log].head;
    }));
    for (size_t i = 0; i < 1000; ++i) ASSERT_TRUE(device_->Put(log, records.data() + i * 64));
    const uint64_t one = 1;
    ASSERT_EQ(write(device_->wake, &one, sizeof one), 8);
  }
  ASSERT_TRUE(collection->Finish(seconds(30)).ok());

  std::string expected = records;
  for (int round = 0; round < 4; ++round) expected += records.substr(0, 64'000);
  EXPECT_TRUE(drain::ReadSlices(dir_.path() + "/stars_soc.data.3") == expected);
  EXPECT_EQ(drain::ReadSlices(dir_.path() + "/ffts_profile.data.3").size(), 20u * 128);
  const std::string hbm_bytes = drain::ReadSlices(dir_.path() + "/hbm.data.3");
  ASSERT_EQ(hbm_bytes.size(), 24u);
  uint64_t time = 0, count = 0;
  uint32_t event = 0, unit = 0;
  std::memcpy(&time, hbm_bytes.data(), 8);
  std::memcpy(&count, hbm_bytes.data() + 8, 8);
  std::memcpy(&event, hbm_bytes.data() + 16, 4);
  std::memcpy(&unit, hbm_bytes.data() + 20, 4);
  EXPECT_EQ(time, 20u) << "1000 ticks of 50 MHz";
  EXPECT_EQ(count, 64u) << "units of 32 bytes";
  EXPECT_EQ(event, 1u);
  EXPECT_EQ(unit, 2u);

  trace::Manifest::Device device;
  source->Describe(&device);
  EXPECT_EQ(device.id, 3u);
  EXPECT_EQ(device.backend, "sim");
  EXPECT_TRUE(device.simulated);
  ASSERT_EQ(device.rings.size(), 6u);
  for (const auto& ring : device.rings) {
    EXPECT_EQ(ring.records, ring.kept + ring.lost) << ring.channel;
    uint64_t by_cause = 0;
    for (const auto& [cause, lost] : ring.lost_by_cause) by_cause += lost;
    EXPECT_EQ(by_cause, ring.lost) << ring.channel;
  }
  EXPECT_EQ(device.rings[0].kept, 4u);
  EXPECT_EQ(device.rings[log].kept, 1024u + 4000);
  EXPECT_EQ(device.rings[log].lost_by_cause, (std::map<std::string, uint64_t>{{"ring_full", 5}}));
  EXPECT_EQ(device.rings[core0].kept, 10u);
  EXPECT_EQ(device.rings[core0].core_kind, "cube");
  EXPECT_EQ(device.rings[core1].core, 1u);
  EXPECT_EQ(device.rings[orphan].lost_by_cause, (std::map<std::string, uint64_t>{{"no_file", 3}}));
  ASSERT_EQ(device.gaps.size(), 1u);
  EXPECT_EQ(device.gaps[0].channel, "task_log");
  EXPECT_EQ(device.gaps[0].position, 1024u);
  EXPECT_EQ(device.gaps[0].count, 5u);
  EXPECT_EQ(device.gaps[0].cause, "ring_full");
  ASSERT_EQ(device.interruptions.size(), 1u);
  EXPECT_EQ(device.interruptions[0].epoch, 1u);
  EXPECT_EQ(device.interruptions[0].cause, "reset");
  EXPECT_EQ(device.interruptions[0].device, 500u);
  EXPECT_EQ(device.rings[hbm].throttled_period_ns, 40'000'000u);
  EXPECT_EQ(device.rings[log].throttled_period_ns, 0u);
  ASSERT_GE(device.clock.size(), 1u);
  EXPECT_EQ(device.clock[0].host_ns, 7777u);
}

TEST_F(SessionTest, ReadingsOfTheClockAreBoundedHoweverLongItRuns) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(session_->Map().ok());
  DeviceSource source(*session_);
  source.AddClock({1, 10, 4});
  constexpr uint64_t kSeconds = 20'000;
  drain::Pass pass;
  pass.now = std::chrono::steady_clock::now();
  uint64_t read = 0;
  for (uint64_t second = 0; second <= kSeconds; ++second) {
    device_->clock_calls = 0;
    device_->clocks = {{}};
    device_->clocks[0].host_before_ns = device_->clocks[0].host_after_ns = second * 1'000'000'000;
    device_->clocks[0].device_clock = second * 50'000'000;
    source.Poll(pass);
    read += device_->clock_calls;
    pass.now += seconds(1);
  }
  EXPECT_EQ(read, 5 * kSeconds) << "a reading is the best of five, once a second";
  trace::Manifest::Device device;
  source.Describe(&device);
  EXPECT_LE(device.clock.size(), 2001u);
  EXPECT_GE(device.clock.size(), 1000u);
  EXPECT_EQ(device.clock.front().host_ns, 1u) << "that of the start stays";
  EXPECT_EQ(device.clock[1].host_ns, 1'000'000'000u);
  EXPECT_EQ(device.clock.back().host_ns, kSeconds * 1'000'000'000) << "the newest is there";
  for (size_t i = 2; i + 1 < device.clock.size(); ++i)
    ASSERT_EQ(device.clock[i].host_ns - device.clock[i - 1].host_ns, 16'000'000'000u) << "evenly spaced";
}

}  // namespace
}  // namespace npuprof::device
