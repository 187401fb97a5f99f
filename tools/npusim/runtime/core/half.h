// SPDX-License-Identifier: Apache-2.0
// Sixteen-bit floating point, converted with round to nearest even.
#ifndef NPUSIM_RUNTIME_CORE_HALF_H
#define NPUSIM_RUNTIME_CORE_HALF_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace npusim {

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 0x1f, mantissa = h & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float tiny = std::ldexp(static_cast<float>(mantissa), -24);
  return sign != 0 ? -tiny : tiny;
}

inline uint16_t FloatToHalf(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // not a number
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds beyond 65504: infinity
  if (magnitude < 0x38800000) {                       // subnormal: multiples of 2^-24
    const auto units = std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24));
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(units));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112 << 10)));
}

inline float Bf16ToFloat(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

inline uint16_t FloatToBf16(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_CORE_HALF_H
