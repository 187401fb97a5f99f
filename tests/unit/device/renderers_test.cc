// SPDX-License-Identifier: Apache-2.0
#include "device/renderers.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/converters.h"
#include "npuprof_records.h"

namespace npuprof::device {
namespace {

constexpr uint64_t kHz = 50'000'000;
constexpr SampleTimes kTimes{kHz, 20'000'000};
constexpr uint64_t kPeriod = 1'000'000;  // ticks

npuprof_rec_bandwidth Record(uint64_t clock, uint32_t unit, uint32_t event, uint64_t value) {
  npuprof_rec_bandwidth record{};
  record.clock = clock;
  record.unit = unit;
  record.event = event;
  record.value = value;
  return record;
}

std::string Take(Renderer& renderer, std::initializer_list<npuprof_rec_bandwidth> records) {
  std::string out;
  for (const auto& record : records) renderer.Take(&record, &out);
  return out;
}

constexpr const char* kPortHeader =
    "timestamp bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped txPacket/s txByte/s "
    "txPackets "
    "txBytes txErrors txDropped funcId\n";

TEST(Renderers, NetworkLinesHaveRatesOfThePeriodAndSumsSinceTheBeginning) {
  const auto nic = RenderNetwork(kTimes);
  EXPECT_EQ(
      Take(*nic, {Record(5 * kPeriod, 0, 0, 4096), Record(5 * kPeriod, 0, 1, 81'920)}),
      std::string(kPortHeader) + "100000000: 200000 50 204800 1 4096 0 0 1000 4096000 20 81920 0 0 0\n");
  // Twice the period: half the rate.
  EXPECT_EQ(Take(*nic, {Record(7 * kPeriod, 0, 0, 4096), Record(7 * kPeriod, 0, 1, 0)}),
            "140000000: 200000 25 102400 2 8192 0 0 0 0 20 81920 0 0 0\n");
}

TEST(Renderers, ASampleOfWhichRecordsAreMissingIsToldWithWhatThereIs) {
  const auto link = RenderLink(kTimes);
  EXPECT_EQ(Take(*link, {Record(kPeriod, 0, 0, 7)}), "");
  EXPECT_EQ(Take(*link, {Record(2 * kPeriod, 0, 0, 5)}), "time tx rx\n0: 0 0\n20000000: 0 7\n");
  std::string out;
  link->Finish(&out);
  EXPECT_EQ(out, "40000000: 0 12\n");
  out.clear();
  link->Finish(&out);
  EXPECT_EQ(out, "") << "nothing is told twice";
}

TEST(Renderers, MediaEnginesHaveTheirPublishedNumbersAndShares) {
  const auto media = RenderMedia(kTimes);
  const std::string out = Take(*media, {Record(60 * kPeriod, 0, 0, 5'000), Record(60 * kPeriod, 0, 1, 10),
                                        Record(60 * kPeriod, 4, 0, 0), Record(60 * kPeriod, 4, 1, 0)});
  EXPECT_NE(out.find("\n1:200000 0 4 0 5000 10 25% 5000 10 25% 5000 10\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\n1:200000 0 0 0 0 0 0% 0 0 0% 0 0\n"), std::string::npos) << out;
  // Busy microseconds of two periods in one interval are no more than all of it.
  EXPECT_NE(Take(*media, {Record(61 * kPeriod, 0, 0, 40'000), Record(61 * kPeriod, 0, 1, 1)}).find("100%"),
            std::string::npos);
}

TEST(Renderers, PcieTellsWhatIsTooFastForItsFile) {
  const auto pcie = RenderPcie(kTimes, 3);
  // 20 ms: a byte per microsecond is 20000 bytes.
  const std::string out = Take(*pcie, {Record(kPeriod, 0, 0, 20'000'000), Record(kPeriod, 0, 1, 119'999)});
  ASSERT_EQ(out.size(), kPcieFileRecord);
  uint64_t time;
  uint32_t device, rates[21];
  std::memcpy(&time, out.data(), 8);
  std::memcpy(&device, out.data() + 8, 4);
  std::memcpy(rates, out.data() + 12, sizeof rates);
  EXPECT_EQ(time, 20'000'000u);
  EXPECT_EQ(device, 3u);
  for (int i = 0; i < 21; ++i) {
    const uint32_t expected = i < 3 ? 5 : i >= 18 ? 1'000 : 0;
    EXPECT_EQ(rates[i], expected) << i;
  }
  EXPECT_EQ(pcie->cut(), 0u);
  const std::string next = Take(*pcie, {Record(2 * kPeriod, 0, 0, 0), Record(2 * kPeriod, 0, 1, 1)});
  std::memcpy(rates, next.data() + 12, sizeof rates);
  EXPECT_EQ(rates[0], 1u) << "what was no full unit in the sample before";
  Take(*pcie, {Record(3 * kPeriod, 0, 0, uint64_t{20'000} << 33), Record(3 * kPeriod, 0, 1, 0)});
  EXPECT_EQ(pcie->cut(), 1u);
}

template <typename T>
T At(const std::string& text, size_t offset) {
  T value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

TEST(Renderers, FlowsHaveTheirPlacesAndNothingIsRoundedAway) {
  const auto flows = RenderFlows(kTimes, {4, 0});
  // 20 ms: one megabyte per second is 20971.52 bytes.
  std::string out;
  for (uint64_t sample = 1; sample <= 3; ++sample) {
    for (uint32_t unit = 0; unit < 5; ++unit) {
      const auto read = Record(sample * kPeriod, unit, 0, unit == 4 ? 20'000 : unit);
      const auto written = Record(sample * kPeriod, unit, 1, unit == 0 ? 2'097'152 : 0);
      flows->Take(&read, &out);
      flows->Take(&written, &out);
    }
  }
  flows->Finish(&out);
  ASSERT_EQ(out.size(), 3 * kFlowFileRecord);
  for (size_t i = 0; i < 3; ++i) {
    const size_t record = i * kFlowFileRecord;
    EXPECT_EQ(At<uint64_t>(out, record + 16), (i + 1) * kPeriod);
    EXPECT_EQ(At<uint32_t>(out, record + 24), i == 0 ? 0u : 1u) << "60000 bytes are two steps and a bit";
    EXPECT_EQ(At<uint32_t>(out, record + 28), 100u);
    for (size_t column = 2; column < 10; ++column) EXPECT_EQ(At<uint32_t>(out, record + 24 + 4 * column), 0u);
  }
  out.clear();
  flows->Finish(&out);
  EXPECT_EQ(out, "") << "nothing is told twice";
}

TEST(Renderers, CopyEnginesTellBytesAndTransfersUnderWay) {
  const auto engines = RenderAccelerators(kTimes);
  std::string out = Take(*engines, {Record(kPeriod, 2, 0, 5'000'000'000), Record(kPeriod, 2, 1, 7),
                                    Record(kPeriod, 3, 0, 40'001), Record(kPeriod, 3, 1, 1)});
  EXPECT_EQ(out, "") << "more may come of the same moment";
  // Times of an engine whose bytes were lost, at the next moment.
  out = Take(*engines, {Record(2 * kPeriod, 5, 0, 0), Record(2 * kPeriod, 5, 1, 20'000)});
  engines->Finish(&out);
  ASSERT_EQ(out.size(), 2 * kTransferFileRecord);
  EXPECT_EQ(NPUPROF_HEAD_FUNC(At<uint16_t>(out, 0)), 0x1a);
  EXPECT_EQ(At<uint16_t>(out, 2), NPUPROF_STARS_MAGIC);
  EXPECT_EQ(At<uint64_t>(out, 8), kPeriod);
  EXPECT_EQ(At<uint16_t>(out, 18), 1);
  EXPECT_EQ(At<uint64_t>(out, 32), 7u);
  EXPECT_EQ(At<uint64_t>(out, 40), 5'000'000'000u);
  EXPECT_EQ(At<uint64_t>(out, 48), 1u);
  EXPECT_EQ(At<uint64_t>(out, 56), 3u) << "a bit more than two on the average";
  EXPECT_EQ(At<uint64_t>(out, 64 + 8), 2 * kPeriod);
  EXPECT_EQ(At<uint16_t>(out, 64 + 18), 2);
  EXPECT_EQ(At<uint64_t>(out, 64 + 40), 0u);
  EXPECT_EQ(At<uint64_t>(out, 64 + 48), 1u);
}

TEST(Renderers, LevelsAreSharesOfThePeaks) {
  constexpr uint64_t kPeak = 6'400'000'000'000;  // 128 GB in 20 ms
  const auto levels = RenderLevels(kTimes, kPeak);
  struct Case {
    uint64_t hits, misses;  // lines of 128 bytes
    unsigned memory, buffer;
  };
  const Case cases[] = {
      {0, 0, 0, 0},
      {1'000'000'000, 0, 0, 255},  // all of the peak
      {0, 250'000'000, 7, 63},     // all of the memory's, a quarter of the buffer's
      {0, 1'000'000, 0, 1},        // less than a step of either, and what was left before
      {0, 40'000'000, 1, 10},
      {500'000'000, 2'000'000'000, 7, 255},  // no more than all
      {0, 0, 0, 0},
  };
  uint64_t clock = 0;
  for (const Case& c : cases) {
    clock += kPeriod;
    const std::string out = Take(*levels, {Record(clock, 0, 0, c.hits), Record(clock, 0, 1, c.misses)});
    ASSERT_EQ(out.size(), kTransferFileRecord);
    EXPECT_EQ(NPUPROF_HEAD_FUNC(At<uint16_t>(out, 0)), 0x1c);
    EXPECT_EQ(At<uint64_t>(out, 8), clock);
    EXPECT_EQ(At<uint16_t>(out, 32) & 7u, c.memory) << clock / kPeriod;
    EXPECT_EQ(At<uint16_t>(out, 32) >> 3, c.buffer) << clock / kPeriod;
  }
}

TEST(Renderers, TransfersOfBothLinksAreToldApart) {
  for (const bool pcie : {false, true}) {
    const auto transfer = pcie ? RenderPcieTransfer(kTimes) : RenderLinkTransfer(kTimes);
    const std::string out = Take(*transfer, {Record(77, 0, 0, 5'000'000'000), Record(77, 0, 1, 9)});
    ASSERT_EQ(out.size(), kTransferFileRecord);
    uint16_t head, magic;
    uint64_t clock, received, sent;
    std::memcpy(&head, out.data(), 2);
    std::memcpy(&magic, out.data() + 2, 2);
    std::memcpy(&clock, out.data() + 8, 8);
    std::memcpy(&received, out.data() + 32, 8);
    std::memcpy(&sent, out.data() + 40, 8);
    EXPECT_EQ(NPUPROF_HEAD_FUNC(head), 0x1b);
    EXPECT_EQ(NPUPROF_HEAD_TYPE(head), pcie ? 0x22 : 0x3f);
    EXPECT_EQ(magic, NPUPROF_STARS_MAGIC);
    EXPECT_EQ(clock, 77u);
    EXPECT_EQ(received, 5'000'000'000u);
    EXPECT_EQ(sent, 9u);
  }
}

TEST(Converters, MemoryUnitsAddUpToTheBytes) {
  DeviceContext context;
  context.clock_hz = kHz;
  uint64_t units = 0, bytes = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto in = Record(i, 3, 1, 17 * i % 101);
    bytes += in.value;
    uint64_t out[3];
    ASSERT_TRUE(ConvertHbm(&in, out, &context));
    units += out[1];
  }
  EXPECT_EQ(units, bytes / 32);
}

TEST(Converters, TimesAreExactForClocksThatHaveRunForYears) {
  DeviceContext context;
  context.clock_hz = kHz;
  for (uint64_t clock : {(uint64_t{1} << 53) + 51, (uint64_t{1} << 62) + 49}) {
    const auto in = Record(clock, 0, 4, 1);
    uint64_t out[3];
    ASSERT_TRUE(ConvertLlc(&in, out, &context));
    EXPECT_EQ(out[0], clock / 50) << clock;
  }
}

// Readers add these times to the instant of dev_start.log; times since the device was switched on put every sample
// late by as long as it had been on.
TEST(Converters, TimesOfMemorySamplesCountFromTheBeginningOfCollection) {
  DeviceContext context;
  context.clock_hz = kHz;
  for (const uint64_t start : {uint64_t{5000}, uint64_t{1} << 52, UINT64_MAX - 50}) {
    context.start = start;
    context.base = ClockBase(start);
    for (const auto convert : {ConvertHbm, ConvertLlc}) {
      uint64_t out[3];
      const auto in = Record(start + 1000, 0, 0, 1), before = Record(start - 1000, 0, 0, 1);
      ASSERT_TRUE(convert(&in, out, &context));
      EXPECT_EQ(out[0], 20u) << start;
      ASSERT_TRUE(convert(&before, out, &context));
      EXPECT_EQ(out[0], 0u) << start;
    }
  }
}

TEST(Converters, ClocksThatReadersWouldRoundCountFromABase) {
  EXPECT_EQ(ClockBase(0), 0u);
  EXPECT_EQ(ClockBase((uint64_t{1} << 52) - 1), 0u);
  DeviceContext context;
  context.clock_hz = kHz;
  // The second wraps while the session runs.
  for (const uint64_t now : {uint64_t{1} << 52, UINT64_MAX - 50}) {
    context.base = ClockBase(now);
    EXPECT_EQ(now - context.base, uint64_t{1} << 32);
    npuprof_rec_task_log log{}, log_out;
    log.task_id = 7;
    log.clock = now + 100;
    ASSERT_TRUE(RebaseTaskLog(&log, &log_out, &context));
    EXPECT_EQ(log_out.clock, (uint64_t{1} << 32) + 100);
    EXPECT_EQ(log_out.task_id, 7);
    npuprof_rec_task_pmu pmu{}, pmu_out;
    pmu.start = now + 1;
    pmu.end = now + 1'000;
    pmu.cycles = 3;
    ASSERT_TRUE(RebasePmu(&pmu, &pmu_out, &context));
    EXPECT_EQ(pmu_out.start, (uint64_t{1} << 32) + 1);
    EXPECT_EQ(pmu_out.end, (uint64_t{1} << 32) + 1'000);
    EXPECT_EQ(pmu_out.cycles, 3u);
    npuprof_rec_ts_track track{}, track_out;
    track.clock = now;
    track.flip.task_id = 9;
    ASSERT_TRUE(RebaseTrack(&track, &track_out, &context));
    EXPECT_EQ(track_out.clock, uint64_t{1} << 32);
    EXPECT_EQ(track_out.flip.task_id, 9);
    const auto link = RenderLink({kHz, 20'000'000, context.base});
    EXPECT_EQ(Take(*link, {Record(now + kPeriod, 0, 0, 7), Record(now + kPeriod, 0, 1, 8)}),
              "time tx rx\n85899345920: 0 0\n85919345920: 8 7\n");
  }
}

TEST(Converters, AicpuRecordsKeepTheirTicks) {
  DeviceContext context;
  context.clock_hz = kHz;
  context.device = 5;
  npuprof_rec_aicpu in{};
  in.stream_id = 7;
  in.task_id = 9;
  in.submitted = 1'000;
  in.scheduled = 1'500;
  in.start = 2'000;
  in.end = 52'000;
  unsigned char out[kAicpuFileRecord];
  ASSERT_TRUE(ConvertAicpu(&in, out, &context));
  const auto u16 = [&](size_t at) {
    uint16_t v;
    std::memcpy(&v, out + at, 2);
    return v;
  };
  const auto u32 = [&](size_t at) {
    uint32_t v;
    std::memcpy(&v, out + at, 4);
    return v;
  };
  const auto u64 = [&](size_t at) {
    uint64_t v;
    std::memcpy(&v, out + at, 8);
    return v;
  };
  EXPECT_EQ(u16(0), 0x5a5a);
  EXPECT_EQ(u16(2), 6000);
  EXPECT_EQ(u32(4), 0u);
  EXPECT_EQ(u16(24), 7);
  EXPECT_EQ(u16(26), 9);
  EXPECT_EQ(u64(40), 2'000u);
  EXPECT_EQ(u64(80), 52'000u);
  EXPECT_EQ(u64(56) - u64(48), 1'000u) << "microseconds of computing";
  EXPECT_EQ(u64(64), u64(56)) << "none of copying";
  EXPECT_EQ(u32(92), 5u);
  EXPECT_EQ(u64(96), 1'000u);
  EXPECT_EQ(u64(104), 1'500u);
  EXPECT_EQ(u64(112), 2'000u);
  EXPECT_EQ(u64(120), 52'000u);
  EXPECT_EQ(u32(132), 10u) << "microseconds from scheduling to running";
}

}  // namespace
}  // namespace npuprof::device
