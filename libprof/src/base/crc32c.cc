// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#elif defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace npuprof {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

// tables[k][b]: what byte b does to the sum when k more bytes follow it.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t sum = b;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = sum;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
    }
  }
  return tables;
}();

uint64_t Load(const unsigned char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

uint32_t Byte(uint32_t sum, unsigned char byte) {
  return (sum >> 8) ^ kTables[0][(sum ^ byte) & 0xff];
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] uint32_t ByInstruction(uint32_t sum, const unsigned char* from, size_t size) {
  uint64_t wide = sum;
  for (; size >= 8; size -= 8, from += 8) wide = _mm_crc32_u64(wide, Load(from));
  auto narrow = static_cast<uint32_t>(wide);
  for (; size > 0; --size, ++from) narrow = _mm_crc32_u8(narrow, *from);
  return narrow;
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
uint32_t ByInstruction(uint32_t sum, const unsigned char* from, size_t size) {
  for (; size >= 8; size -= 8, from += 8) sum = __crc32cd(sum, Load(from));
  for (; size > 0; --size, ++from) sum = __crc32cb(sum, *from);
  return sum;
}
#endif

}  // namespace

uint32_t Crc32cByTable(uint32_t before, const void* data, size_t size) {
  const auto* from = static_cast<const unsigned char*>(data);
  uint32_t sum = ~before;
  for (; size >= 8; size -= 8, from += 8) {
    const uint64_t word = Load(from) ^ sum;
    sum = 0;
    for (unsigned k = 0; k < 8; ++k) sum ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; size > 0; --size, ++from) sum = Byte(sum, *from);
  return ~sum;
}

uint32_t Crc32c(uint32_t before, const void* data, size_t size) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2"))
    return ~ByInstruction(~before, static_cast<const unsigned char*>(data), size);
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
  return ~ByInstruction(~before, static_cast<const unsigned char*>(data), size);
#endif
  return Crc32cByTable(before, data, size);
}

}  // namespace npuprof
