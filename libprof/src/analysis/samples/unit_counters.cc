// SPDX-License-Identifier: Apache-2.0
// What is sampled of units of a device and has no table: use of the main memory by flow, copy engines, bandwidth levels,
// transfers between chips; and the clock of the cores.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analysis/record_reader.h"
#include "analysis/samples/jobs.h"
#include "npuprof_records.h"

namespace npuprof::analysis {
namespace {

constexpr RecordFormat kFlowFormat{64, false, 0, 0};
constexpr RecordFormat kProfileFormat{64, true, 2, NPUPROF_STARS_MAGIC};
constexpr double kMegabyte = 1 << 20;
constexpr size_t kMostFlows = 10;
constexpr int kNoDie = -1;  // of chips that have one

enum Function : unsigned {
  kSioTraffic = 0x19,
  kAccelerator = 0x1a,
  kTransfer = 0x1b,
  kLevels = 0x1c,
  kLowPower = 0x1d
};
constexpr unsigned kLinkTransfer = 0x3f, kPcieTransfer = 0x22;

void Flows(SampleRun& run, const SampleDevice& device) {
  const std::string names = run.Sample(device.info).Text("qosEvents", "");
  std::vector<std::string> titles;
  for (std::string_view rest = names; !rest.empty() && titles.size() < kMostFlows;) {
    const auto name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    titles.push_back(fmt::format("QoS {}", name));
  }
  Counters counters = run.Layer(Timeline::kQos, &device.info);
  RecordReader reader(run.File(device.info, "qos.data"), kFlowFormat, run.in.diagnostics, device.progress);
  while (const uint8_t* record = reader.Next()) {
    const int64_t wall = device.times.Ticks(Get<uint64_t>(record, 16));
    for (size_t i = 0; i < titles.size(); ++i) {
      const auto megabytes = Get<uint32_t>(record, 24 + 4 * i);
      run.Stored("QOS", {device.info.id, titles[i], megabytes * kMegabyte, wall, kNoDie});
      counters.Add(titles[i], wall, {{"value", megabytes}});
    }
  }
}

/// Of stars_soc_profile.data.
class ProfileCounters {
 public:
  ProfileCounters(const SampleRun& run, const SampleDevice& device)
      : run_(run),
        device_(device.info.id),
        simulated_(device.info.simulated),
        accelerators_(run.Layer(Timeline::kAccelerators, &device.info)),
        levels_(run.Layer(Timeline::kSocInfo, &device.info)),
        transfers_(run.Layer(Timeline::kChipTransfer, &device.info)),
        sio_(run.Layer(Timeline::kSio, &device.info)) {}

  void Accelerator(uint16_t unit, int64_t wall, const uint8_t* record) {
    // The published series has no number; the reference NPU has several engines, which would hide each other.
    const std::string series = simulated_ ? fmt::format("engine {}", unit) : "value";
    constexpr std::array<const char*, 4> kNames = {"write_bandwidth", "read_bandwidth", "write_ost",
                                                   "read_ost"};
    const auto at = [&](size_t i) { return Get<uint64_t>(record, 32 + 8 * i); };
    run_.Stored("ACC_PMU", {unit, at(1), at(0), at(3), at(2), wall, device_});
    for (size_t i = 0; i < kNames.size(); ++i)
      accelerators_.Add(kNames[i], wall, {{series, static_cast<double>(Get<uint64_t>(record, 32 + 8 * i))}});
  }

  void Levels(int64_t wall, const uint8_t* record) {
    const auto packed = Get<uint16_t>(record, 32);
    run_.Stored("SOC_BANDWIDTH_LEVEL", {packed >> 3 & 0xff, packed & 7, wall, device_});
    levels_.Add("L2 Buffer Bw Level", wall, {{"L2 Buffer Bw Level", packed >> 3 & 0xff}});
    levels_.Add("Mata Bw Level", wall, {{"Mata Bw Level", packed & 7}});
  }

  void Transfer(unsigned kind, uint16_t unit, int64_t wall, const uint8_t* record) {
    const std::string series = fmt::format("link {}", unit & 0x3f);
    const bool link = kind == kLinkTransfer;
    transfers_.Add(link ? "PA Link Rx" : "PCIE Write", wall,
                   {{series, static_cast<double>(Get<uint64_t>(record, 32))}});
    transfers_.Add(link ? "PA Link Tx" : "PCIE Read", wall,
                   {{series, static_cast<double>(Get<uint64_t>(record, 40))}});
  }

  /// False if time does not rise.
  bool Sio(uint16_t die, int64_t wall, const uint8_t* record) {
    constexpr std::array<const char*, 8> kNames = {"req_rx", "rsp_rx", "snp_rx", "dat_rx",
                                                   "req_tx", "rsp_tx", "snp_tx", "dat_tx"};
    const auto [last, first] = last_.try_emplace(die, wall);
    if (first) return true;
    if (wall <= last->second) return false;
    const double seconds = static_cast<double>(wall - last->second) / 1e9;
    last->second = wall;
    const auto rate = [&](size_t i) { return Get<uint32_t>(record, 32 + 4 * i) / seconds; };
    run_.Stored("SIO", {device_, fmt::format("die {}", die), wall, rate(0), rate(1), rate(2), rate(3),
                        rate(4), rate(5), rate(6), rate(7)});
    for (size_t i = 0; i < kNames.size(); ++i)
      sio_.Add(kNames[i], wall,
               {{fmt::format("die {}", die), Get<uint32_t>(record, 32 + 4 * i) / kMegabyte / seconds}});
    return true;
  }

 private:
  const SampleRun& run_;
  const int device_;
  const bool simulated_;
  Counters accelerators_, levels_, transfers_, sio_;
  std::map<uint16_t, int64_t> last_;  // by die
};

void Units(SampleRun& run, const SampleDevice& device) {
  ProfileCounters counters(run, device);
  RecordReader reader(run.File(device.info, "stars_soc_profile.data"), kProfileFormat, run.in.diagnostics,
                      device.progress);
  while (const uint8_t* record = reader.Next()) {
    const auto head = Get<uint16_t>(record, 0), unit = Get<uint16_t>(record, 18);
    const int64_t wall = device.times.Ticks(Get<uint64_t>(record, 8));
    const unsigned kind = NPUPROF_HEAD_TYPE(head);
    switch (NPUPROF_HEAD_FUNC(head)) {
      case kAccelerator:
        counters.Accelerator(unit, wall, record);
        break;
      case kLevels:
        counters.Levels(wall, record);
        break;
      case kTransfer:
        if (kind == kLinkTransfer || kind == kPcieTransfer) {
          counters.Transfer(kind, unit, wall, record);
        } else {
          reader.Broken(
              fmt::format("transfer of type {}; {} and {} are known", kind, kLinkTransfer, kPcieTransfer));
        }
        break;
      case kSioTraffic:
        if (!counters.Sio(unit, wall, record))
          reader.Broken("a sample that is no later than the one before it");
        break;
      case kLowPower:
        reader.NotShown("states of low power are in no layer");
        break;
      default:
        reader.Broken(fmt::format("function type {} has no counters", NPUPROF_HEAD_FUNC(head)));
    }
  }
}

}  // namespace

void UnitCounters(SampleRun& run) {
  run.EachDevice({"qos.data"}, [&](const SampleDevice& device) { Flows(run, device); });
  run.EachDevice({"stars_soc_profile.data"}, [&](const SampleDevice& device) { Units(run, device); });
}

// A counter holds until the next event, so changes are enough, and one event each at the begin and the end of the run.
void FrequencyCounters(SampleRun& run) {
  constexpr uint32_t kMostEntries = 55, kCoreClock = 0;
  const auto& profile = run.in.profile;
  // Without a timeline, or with an empty one, there is nothing that could be seen beside it.
  if (!run.in.rows && (!run.in.timeline || run.in.timeline->events() == 0)) return;
  for (size_t i = 0; i < profile.devices().size(); ++i) {
    const DeviceInfo& info = profile.devices()[i];
    const DeviceTimes times(profile, i, run.in.diagnostics);
    std::map<int64_t, double> changes;
    Diagnostics again;  // the reader of tasks has reported what is broken
    RecordReader reader(run.File(info, "lpmFreqConv.data"), kFrequencyFormat, &again);
    while (const uint8_t* record = reader.Next()) {
      if (Get<uint32_t>(record, 4) != kCoreClock) continue;
      const uint32_t count = std::min(Get<uint32_t>(record, 0), kMostEntries);
      for (uint32_t entry = 0; entry < count; ++entry)
        changes[times.Ticks(Get<uint64_t>(record, 8 + 16 * entry))] = Get<uint32_t>(record, 16 + 16 * entry);
    }
    const auto begin = static_cast<int64_t>(profile.begin_us()) * 1000;
    double mhz = changes.empty() ? info.cube_mhz : changes.begin()->second;
    if (mhz <= 0) continue;
    Counters counters = run.Layer(Timeline::kCoreFrequency, &info);
    const auto event = [&](int64_t wall) {
      run.Stored("AICORE_FREQ", {info.id, wall, mhz, kNoDie});
      counters.Add("AI Core Freq", wall, {{"MHz", mhz}});
    };
    event(begin);
    for (const auto& [wall, value] : changes) {
      if (value == mhz || wall <= begin) continue;
      mhz = value;
      event(wall);
    }
    if (profile.end_us()) event(static_cast<int64_t>(*profile.end_us()) * 1000);
  }
}

}  // namespace npuprof::analysis
