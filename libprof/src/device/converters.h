// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace npuprof::device {

/// Device clock to microseconds since device start, for files whose records carry those.
struct BandwidthContext {
  double microseconds_per_tick = 0;
};

/// Record size of hbm.data and llc.data (collection version "1.0"): u64 time in us, u64 count, u32 event, u32
/// unit.
inline constexpr unsigned kBandwidthFileRecord = 24;

/// trace::Converter from struct npuprof_rec_bandwidth; @p context is a BandwidthContext.
/// The ring counts HBM traffic in bytes, the file in units of 32 bytes (rounded to nearest).
bool ConvertHbm(const void* in, void* out, const void* context);
/// LLC counts are requests of one line in both.
bool ConvertLlc(const void* in, void* out, const void* context);

}  // namespace npuprof::device
