// SPDX-License-Identifier: Apache-2.0
#include "device/renderers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/pair_renderer.h"
#include "device/quantiser.h"
#include "device/ticks.h"
#include "npuprof_records.h"

namespace npuprof::device {
namespace {

/// Text, which begins with a line that names the columns.
class TextRenderer : public PairRenderer {
 public:
  TextRenderer(const char* header, const SampleTimes& times) : PairRenderer(times), header_(header) {}

 protected:
  void Write(const Sample& sample, std::string* out) final {
    if (header_) {
      *out += header_;
      Before(sample, out);
    }
    header_ = nullptr;
    Line(sample, out);
  }
  virtual void Line(const Sample& sample, std::string* out) = 0;
  /// What stands before the first line.
  virtual void Before(const Sample&, std::string*) {}

 private:
  const char* header_;
};

uint64_t Packets(uint64_t bytes) {
  return bytes / kNetworkPacketBytes + (bytes % kNetworkPacketBytes != 0);
}

class NetworkRenderer final : public TextRenderer {
 public:
  explicit NetworkRenderer(const SampleTimes& times)
      : TextRenderer(
            "timestamp bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped txPacket/s "
            "txByte/s txPackets txBytes txErrors txDropped funcId\n",
            times) {}

 private:
  void Line(const Sample& s, std::string* out) override {
    const uint64_t rx = s.PerSecond(0, hz()), tx = s.PerSecond(1, hz());
    fmt::format_to(std::back_inserter(*out), "{}: {} {} {} {} {} 0 0 {} {} {} {} 0 0 {}\n", Ns(s.clock),
                   kNetworkMbit, Packets(rx), rx, Packets(s.sum[0]), s.sum[0], Packets(tx), tx,
                   Packets(s.sum[1]), s.sum[1], s.unit);
  }
};

class MediaRenderer final : public TextRenderer {
 public:
  explicit MediaRenderer(const SampleTimes& times)
      : TextRenderer(
            "time dvpp_id engine_type engine_id all_time all_frame all_utilization proc_time proc_frame "
            "proc_utilization last_time last_frame\n",
            times) {}

 private:
  // The published numbers of engine types, by the number of the engine in the ring.
  static uint32_t Type(uint32_t engine) {
    constexpr std::array<uint32_t, 6> kTypes = {4, 3, 1, 2, 0, 5};  // VPC, JPEGE, JPEGD, PNGD, VDEC, VENC
    return engine < kTypes.size() ? kTypes[engine] : engine;
  }
  void Line(const Sample& s, std::string* out) override {
    const uint64_t us = MulDiv(s.clock, 1'000'000, hz());
    const uint64_t span_us = MulDiv(s.ticks, 1'000'000, hz());
    const uint64_t share =
        span_us == 0 ? 0 : std::min<uint64_t>(100, (s.now[0] * 100 + span_us / 2) / span_us);
    fmt::format_to(std::back_inserter(*out), "{}:{:06} 0 {} 0 {} {} {}% {} {} {}% {} {}\n", us / 1'000'000,
                   us % 1'000'000, Type(s.unit), s.sum[0], s.sum[1], share, s.sum[0], s.sum[1], share,
                   s.now[0], s.now[1]);
  }
};

class LinkRenderer final : public TextRenderer {
 public:
  explicit LinkRenderer(const SampleTimes& times) : TextRenderer("time tx rx\n", times) {}

 private:
  void Before(const Sample& s, std::string* out) override {
    fmt::format_to(std::back_inserter(*out), "{}: 0 0\n", Ns(s.clock - s.ticks));
  }
  void Line(const Sample& s, std::string* out) override {
    fmt::format_to(std::back_inserter(*out), "{}: {} {}\n", Ns(s.clock), s.sum[1], s.sum[0]);
  }
};

class PcieRenderer final : public PairRenderer {
 public:
  PcieRenderer(const SampleTimes& times, uint32_t device) : PairRenderer(times), device_(device) {}
  uint64_t cut() const override { return cut_; }

 private:
  struct Rates {
    uint32_t least = 0, most = 0, mean = 0;
  };
  struct Record {
    uint64_t time_ns;
    uint32_t device;
    Rates tx_posted, tx_nonposted, tx_completion, tx_latency, rx_posted, rx_nonposted, rx_completion;
  };
  static_assert(sizeof(Record) == kPcieFileRecord);

  // The file tells bytes per microsecond. What is no full one counts in the next sample.
  Rates Fit(const Sample& s, uint32_t event, bool* cut) {
    constexpr uint64_t kMicroseconds = 1'000'000;
    const uint64_t rate =
        rests_[event].Take(s.now[event], static_cast<unsigned __int128>(s.ticks) * kMicroseconds, hz());
    const uint32_t fits = static_cast<uint32_t>(std::min<uint64_t>(rate, UINT32_MAX));
    *cut |= fits != rate;
    return {fits, fits, fits};
  }
  void Write(const Sample& s, std::string* out) override {
    Record record{};
    record.time_ns = Ns(s.clock);
    record.device = device_;
    // The device is the one who asks: what it stores at the host goes out as posted writes, what it fetches from there
    // comes in as completions of its reads.
    bool cut = false;
    record.tx_posted = Fit(s, 1, &cut);
    record.rx_completion = Fit(s, 0, &cut);
    cut_ += cut;
    out->append(reinterpret_cast<const char*>(&record), sizeof record);
  }

  const uint32_t device_;
  std::array<Quantiser, kEvents> rests_;
  uint64_t cut_ = 0;
};

class TransferRenderer final : public PairRenderer {
 public:
  TransferRenderer(const SampleTimes& times, uint16_t type) : PairRenderer(times), type_(type) {}

 private:
  struct Record {
    uint16_t head, magic;
    uint32_t reserved0;
    uint64_t clock;
    uint16_t reserved1, id;
    uint32_t reserved2[3];
    uint64_t received, sent;
    uint64_t reserved3[2];
  };
  static_assert(sizeof(Record) == kTransferFileRecord);

  void Write(const Sample& s, std::string* out) override {
    constexpr uint16_t kTransfer = 0x1b;
    Record record{};
    record.head = NPUPROF_HEAD(kTransfer, type_);
    record.magic = NPUPROF_STARS_MAGIC;
    record.clock = s.clock;
    record.id = static_cast<uint16_t>(s.unit);
    record.received = s.now[0];
    record.sent = s.now[1];
    out->append(reinterpret_cast<const char*>(&record), sizeof record);
  }

  const uint16_t type_;
};

// Types of transfer records.
constexpr uint16_t kLinkType = 0x3f, kPcieType = 0x22;

}  // namespace

std::unique_ptr<Renderer> RenderNetwork(const SampleTimes& times) {
  return std::make_unique<NetworkRenderer>(times);
}
std::unique_ptr<Renderer> RenderMedia(const SampleTimes& times) {
  return std::make_unique<MediaRenderer>(times);
}
std::unique_ptr<Renderer> RenderLink(const SampleTimes& times) {
  return std::make_unique<LinkRenderer>(times);
}
std::unique_ptr<Renderer> RenderPcie(const SampleTimes& times, uint32_t device) {
  return std::make_unique<PcieRenderer>(times, device);
}
std::unique_ptr<Renderer> RenderLinkTransfer(const SampleTimes& times) {
  return std::make_unique<TransferRenderer>(times, kLinkType);
}
std::unique_ptr<Renderer> RenderPcieTransfer(const SampleTimes& times) {
  return std::make_unique<TransferRenderer>(times, kPcieType);
}

}  // namespace npuprof::device
