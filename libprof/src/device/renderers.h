// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npuprof::device {

/// Makes the units of a file (lines of text, or records) out of ring records where several of these go into one unit:
/// the file tells of a whole sample, the ring of one quantity. One thread at a time.
class Renderer {
 public:
  virtual ~Renderer() = default;
  /// Takes one record of the ring and appends the unit that it completes to @p out, or nothing. A sample of which
  /// records are missing is completed by the first record of the next one; what is missing counts as 0, and is in the
  /// sample after it, because rings hold differences.
  virtual void Take(const void* record, std::string* out) = 0;
  /// The sample that was begun last, as far as it came.
  virtual void Finish(std::string* out) = 0;
  /// Units whose values were larger than the file can hold, and were written as its largest.
  virtual uint64_t cut() const { return 0; }
};

/// Bytes per second that one port of the network of an A2 board can do: 200 Gbit/s.
inline constexpr uint64_t kNetworkMbit = 200'000;
/// Ports count bytes; files of network data also want packets, so these are the fewest that carry the bytes.
inline constexpr uint64_t kNetworkPacketBytes = 4096;

/// When a sample was taken: @p clock_hz is the rate of the ring's device clock, and the first sample covers one period.
struct SampleTimes {
  uint64_t clock_hz = 0;
  uint64_t period_ns = 0;
  uint64_t base = 0;  ///< subtracted from the clock
};

/// nic.data and roce.data, a line per port and sample.
std::unique_ptr<Renderer> RenderNetwork(const SampleTimes& times);
/// dvpp.data, a line per engine and sample.
std::unique_ptr<Renderer> RenderMedia(const SampleTimes& times);
/// hccs.data, a line per sample, after one of the beginning: its values run on, and readers take differences.
std::unique_ptr<Renderer> RenderLink(const SampleTimes& times);
/// pcie.data, a record of kPcieFileRecord bytes per sample. Its rates are bytes per microsecond, in 32 bits; less than one
/// counts in the next sample.
std::unique_ptr<Renderer> RenderPcie(const SampleTimes& times, uint32_t device);
/// stars_soc_profile.data: what went over a link within a period, a record per sample.
std::unique_ptr<Renderer> RenderLinkTransfer(const SampleTimes& times);
std::unique_ptr<Renderer> RenderPcieTransfer(const SampleTimes& times);

/// qos.data, a record of kFlowFileRecord bytes per sample: megabytes (2^20) per second that the main memory moved for
/// each of @p flows (NPUPROF_FLOW_*), at most ten, in this order. Less than one counts in the next sample.
std::unique_ptr<Renderer> RenderFlows(const SampleTimes& times, std::vector<uint32_t> flows);
/// stars_soc_profile.data, a record per copy engine and sample: the bytes that it wrote to and read from the main memory,
/// and how many transfers were under way on the average, rounded up.
std::unique_ptr<Renderer> RenderAccelerators(const SampleTimes& times);
/// stars_soc_profile.data, a record per sample: how busy the L2 buffer and the memory behind it were, in steps of
/// their peaks; @p buffer_peak in bytes per second. Less than a step counts in the next sample.
std::unique_ptr<Renderer> RenderLevels(const SampleTimes& times, uint64_t buffer_peak);

/// Of the main memory of an A2 board.
inline constexpr uint64_t kMemoryBytesPerSecond = 1'600'000'000'000;
/// What a core moves to and from the L2 buffer per cycle at most.
inline constexpr uint64_t kBufferBytesPerCycle = 64;
inline constexpr uint16_t kMemoryLevels = 7, kBufferLevels = 255;

inline constexpr unsigned kFlowFileRecord = 64;
inline constexpr unsigned kPcieFileRecord = 96;
inline constexpr unsigned kTransferFileRecord = 64;

}  // namespace npuprof::device
