// SPDX-License-Identifier: Apache-2.0
// What goes in and out of a device: over the link between chips, to the host and through network ports.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "analysis/record_reader.h"
#include "analysis/samples/jobs.h"
#include "analysis/samples/line_reader.h"

namespace npuprof::analysis {
namespace {

constexpr double kMegabyte = 1 << 20;

struct Spread {
  double least = std::numeric_limits<double>::max(), most = 0, sum = 0;
  uint64_t count = 0;
  void Take(double low, double high, double mean) {
    least = std::min(least, low);
    most = std::max(most, high);
    sum += mean;
    ++count;
  }
};

constexpr RecordFormat kPcieFormat{96, false, 0, 0};
constexpr size_t kPcieFirst = 12;  // place of the first triple
constexpr size_t kPcieLatency = 3;

// Rates in bytes per second, latencies in nanoseconds; the least, the most and the mean of each.
void StorePcie(const SampleRun& run, int device, int64_t wall, const uint8_t* record) {
  const auto at = [&](size_t mode, size_t i) {
    const double unit = mode == kPcieLatency ? 1 : 1e6;
    return Get<uint32_t>(record, kPcieFirst + 12 * mode + 4 * i) * unit;
  };
  run.Stored("PCIE", {device,   wall,     at(0, 0), at(0, 1), at(0, 2), at(1, 0), at(1, 1), at(1, 2),
                      at(2, 0), at(2, 1), at(2, 2), at(3, 0), at(3, 1), at(3, 2), at(4, 0), at(4, 1),
                      at(4, 2), at(5, 0), at(5, 1), at(5, 2), at(6, 0), at(6, 1), at(6, 2)});
}

struct PortColumns {
  enum : size_t {
    kTime,
    kBandwidth,
    kRxPacketRate,
    kRxByteRate,
    kRxPackets,
    kRxBytes,
    kRxErrors,
    kRxDropped,
    kTxPacketRate,
    kTxByteRate,
    kTxPackets,
    kTxBytes,
    kTxErrors,
    kTxDropped,
    kPort,
    kCount
  };
};

double Percent(double part, double whole) {
  return whole > 0 ? part * 100 / whole : 0;
}

/// One direction of a line of nic.data or roce.data.
struct Flow {
  double efficiency, packet_rate, error_rate, dropped_rate;
};

Flow ReadFlow(const std::vector<uint64_t>& line, size_t first) {
  const auto at = [&](size_t column) { return static_cast<double>(line[first + column]); };
  // A port tells its speed in megabits.
  return {Percent(at(1) * 8, static_cast<double>(line[PortColumns::kBandwidth]) * 1e6), at(0),
          Percent(at(4), at(2)), Percent(at(5), at(2))};
}

struct Port {
  int64_t last = 0;
  uint64_t bandwidth = 0, samples = 0;
  std::array<double, 2> efficiencies{}, packet_rates{};
  std::array<Flow, 2> latest{};
};

void PortTable(SampleRun& run, const char* name, const char* kind, const char* stored,
               Timeline::Layer layer) {
  SampleTable& table =
      run.Table(name, {"Device_id", "Timestamp(us)", "Bandwidth(MB/s)", "Rx Bandwidth efficiency(%)",
                       "rxPacket/s", "rxError rate(%)", "rxDropped rate(%)", "Tx Bandwidth efficiency(%)",
                       "txPacket/s", "txError rate(%)", "txDropped rate(%)", "funcId"});
  run.EachDevice({kind}, [&](const SampleDevice& device) {
    std::map<uint64_t, Port> ports;
    Counters counters = run.Layer(layer, &device.info);
    LineReader reader(run.File(device.info, kind), run.in.diagnostics, device.progress);
    std::string_view text;
    while (reader.Next(&text)) {
      if (IsHeading(text)) continue;
      const auto line = Numbers(text);
      // Some collectors add a column with the type of the port.
      if (line.size() != PortColumns::kCount && line.size() != PortColumns::kCount + 1) {
        reader.Broken(fmt::format("a line that is not {} numbers", size_t{PortColumns::kCount}));
        continue;
      }
      Port& port = ports[line[PortColumns::kPort]];
      const int64_t wall = device.times.Nanoseconds(line[PortColumns::kTime]);
      port.last = std::max(port.last, wall);
      port.bandwidth = line[PortColumns::kBandwidth];
      ++port.samples;
      using P = PortColumns;
      run.Stored(stored, {device.info.id, wall, static_cast<double>(line[P::kBandwidth]) * kMegabyte,
                          line[P::kRxPacketRate], line[P::kRxByteRate], line[P::kRxPackets],
                          line[P::kRxBytes], line[P::kRxErrors], line[P::kRxDropped], line[P::kTxPacketRate],
                          line[P::kTxByteRate], line[P::kTxPackets], line[P::kTxBytes], line[P::kTxErrors],
                          line[P::kTxDropped], line[P::kPort]});
      constexpr std::array<const char*, 2> kNames = {"Rx", "Tx"};
      for (size_t i = 0; i < kNames.size(); ++i) {
        const Flow flow = ReadFlow(line, i == 0 ? PortColumns::kRxPacketRate : PortColumns::kTxPacketRate);
        port.latest[i] = flow;
        port.efficiencies[i] += flow.efficiency;
        port.packet_rates[i] += flow.packet_rate;
        const std::string side = kNames[i];
        counters.Add(fmt::format("Port {}/{}", line[PortColumns::kPort], side), wall,
                     {{side + " Bandwidth Efficiency", flow.efficiency},
                      {side + " Packets", flow.packet_rate},
                      {side + " Error Rate", flow.error_rate},
                      {side + " Dropped Rate", flow.dropped_rate}});
      }
    }
    for (const auto& [number, port] : ports) {
      const auto& [rx, tx] = port.latest;
      table.Row({device.id(), Micros(port.last) + '\t', Decimal(static_cast<double>(port.bandwidth)),
                 Mean(port.efficiencies[0], port.samples), Mean(port.packet_rates[0], port.samples),
                 Decimal(rx.error_rate), Decimal(rx.dropped_rate), Mean(port.efficiencies[1], port.samples),
                 Mean(port.packet_rates[1], port.samples), Decimal(tx.error_rate), Decimal(tx.dropped_rate),
                 std::to_string(number)});
    }
  });
}

}  // namespace

void NicTable(SampleRun& run) {
  PortTable(run, "nic", "nic.data", "NIC", Timeline::kNic);
}

void RoceTable(SampleRun& run) {
  PortTable(run, "roce", "roce.data", "ROCE", Timeline::kRoce);
}

void HccsTable(SampleRun& run) {
  SampleTable& table = run.Table("hccs", {"Device_id", "Mode", "Max", "Min", "Average"});
  run.EachDevice({"hccs.data"}, [&](const SampleDevice& device) {
    constexpr std::array<const char*, 2> kNames = {"Tx", "Rx"};
    std::array<Spread, 2> spreads;
    std::vector<uint64_t> before;
    Counters counters = run.Layer(Timeline::kHccs, &device.info);
    LineReader reader(run.File(device.info, "hccs.data"), run.in.diagnostics, device.progress);
    std::string_view text;
    while (reader.Next(&text)) {
      if (IsHeading(text)) continue;
      auto line = Numbers(text);
      if (line.size() != 3) {
        reader.Broken("a line that is not a time and two sums");
        continue;
      }
      if (!before.empty() && (line[0] <= before[0] || line[1] < before[1] || line[2] < before[2])) {
        reader.Broken("time or a sum does not rise");
        continue;
      }
      if (!before.empty()) {
        const int64_t wall = device.times.Nanoseconds(line[0]);
        const double seconds = static_cast<double>(line[0] - before[0]) / 1e9;
        run.Stored("HCCS", {device.info.id, wall, static_cast<double>(line[1] - before[1]) / seconds,
                            static_cast<double>(line[2] - before[2]) / seconds});
        for (size_t i = 0; i < kNames.size(); ++i) {
          const double rate = static_cast<double>(line[i + 1] - before[i + 1]) / kMegabyte / seconds;
          spreads[i].Take(rate, rate, rate);
          counters.Add(kNames[i], wall, {{fmt::format("{}(MB/s)", kNames[i]), rate}});
        }
      }
      before = std::move(line);
    }
    if (spreads[0].count == 0) return;
    for (size_t i = 0; i < kNames.size(); ++i) {
      table.Row({device.id(), fmt::format("{} (MB/s)", kNames[i]), Decimal(spreads[i].most),
                 Decimal(spreads[i].least), Mean(spreads[i].sum, spreads[i].count)});
    }
  });
}

void PcieTable(SampleRun& run) {
  SampleTable& table = run.Table("pcie", {"Device_id", "Mode", "Min", "Max", "Avg"});
  run.EachDevice({"pcie.data"}, [&](const SampleDevice& device) {
    constexpr std::array<const char*, 7> kModes = {
        "Tx_p_avg(MB/s)", "Tx_np_avg(MB/s)", "Tx_cpl_avg(MB/s)", "Tx_latency_avg(us)",
        "Rx_p_avg(MB/s)", "Rx_np_avg(MB/s)", "Rx_cpl_avg(MB/s)"};
    std::array<Spread, kModes.size()> spreads;
    Counters counters = run.Layer(Timeline::kPcie, &device.info);
    RecordReader reader(run.File(device.info, "pcie.data"), kPcieFormat, run.in.diagnostics, device.progress);
    while (const uint8_t* record = reader.Next()) {
      std::array<double, kModes.size()> means{};
      bool ordered = true;
      std::array<std::array<double, 3>, kModes.size()> values{};
      for (size_t mode = 0; mode < kModes.size(); ++mode) {
        // Rates are bytes per microsecond, latencies nanoseconds.
        const double unit = mode == kPcieLatency ? 1e-3 : 1e6 / kMegabyte;
        for (size_t i = 0; i < 3; ++i)
          values[mode][i] = Get<uint32_t>(record, kPcieFirst + 12 * mode + 4 * i) * unit;
        ordered = ordered && values[mode][0] <= values[mode][1];
        means[mode] = values[mode][2];
      }
      if (!ordered) {
        reader.Broken("a least rate that is more than the most");
        continue;
      }
      for (size_t mode = 0; mode < kModes.size(); ++mode)
        spreads[mode].Take(values[mode][0], values[mode][1], values[mode][2]);
      const int64_t wall = device.times.Nanoseconds(Get<uint64_t>(record, 0));
      StorePcie(run, device.info.id, wall, record);
      counters.Add("PCIe_post", wall, {{"Rx", means[4]}, {"Tx", means[0]}});
      counters.Add("PCIe_nonpost", wall, {{"Rx", means[5]}, {"Tx", means[1]}});
      counters.Add("PCIe_cpl", wall, {{"Rx", means[6]}, {"Tx", means[2]}});
      counters.Add("PCIe_nonpost_latency", wall, {{"Rx", 0}, {"Tx", means[3]}});
    }
    if (spreads[0].count == 0) return;
    for (size_t mode = 0; mode < kModes.size(); ++mode) {
      table.Row({device.id(), kModes[mode], Decimal(spreads[mode].least), Decimal(spreads[mode].most),
                 Mean(spreads[mode].sum, spreads[mode].count)});
    }
  });
}

}  // namespace npuprof::analysis
