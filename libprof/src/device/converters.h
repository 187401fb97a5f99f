// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace npuprof::device {

/// What converters have to know of the device.
struct DeviceContext {
  uint64_t clock_hz = 0;  ///< of the device clock
  uint32_t device = 0;
  /// Subtracted from every device clock; see ClockBase().
  uint64_t base = 0;
  /// Device clock when collection began, the instant that dev_start.log tells.
  uint64_t start = 0;
  uint32_t cube_cores = 0;  ///< of cores that are sampled
  /// Bytes that no unit of 32 was full of yet, by channel and direction; so sums are off by less than one unit. Drain
  /// thread.
  mutable std::array<uint64_t, 64> hbm_rest{};
};

/// Readers keep clocks as doubles, which are exact below 2^53 only. Of a device whose clock is beyond half of that, or
/// which would wrap, files tell the time since this base instead, a while before @p now; 0 for all others.
uint64_t ClockBase(uint64_t now);

/// trace::Converters between equal records, for files of which a base is subtracted; @p context is a DeviceContext.
bool RebaseTaskLog(const void* in, void* out, const void* context);
bool RebaseTrack(const void* in, void* out, const void* context);
/// Of tasks and of blocks: both have their times in the same place.
bool RebasePmu(const void* in, void* out, const void* context);

/// Record size of hbm.data and llc.data (collection version "1.0"): u64 time in us since collection began, u64 count, u32
/// event, u32 unit.
inline constexpr unsigned kBandwidthFileRecord = 24;

/// trace::Converter from struct npuprof_rec_bandwidth; @p context is a DeviceContext.
/// The ring counts HBM traffic in bytes, the file in units of 32 bytes.
bool ConvertHbm(const void* in, void* out, const void* context);
/// LLC counts are requests of one line in both.
bool ConvertLlc(const void* in, void* out, const void* context);

/// trace::Converter of samples of cores, between equal records; @p context is a DeviceContext. In the file vector cores
/// have the numbers from 25 on, however many cube cores there are.
bool ConvertCoreSample(const void* in, void* out, const void* context);
inline constexpr uint32_t kMostSampledCubes = 25;
inline constexpr uint32_t kMostSampledVectors = 256 - kMostSampledCubes;

/// Record size of aicpu.data.
inline constexpr unsigned kAicpuFileRecord = 256;

/// trace::Converter from struct npuprof_rec_aicpu; @p context is a DeviceContext. The device tells when a task was
/// queued, taken, began and ended, but not what it did inside: all its time is told as computing.
bool ConvertAicpu(const void* in, void* out, const void* context);

}  // namespace npuprof::device
