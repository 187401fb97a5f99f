// SPDX-License-Identifier: Apache-2.0
// What tasks do to memory. Runs on the npusim thread, in the order in which tasks end.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/core/half.h"
#include "runtime/core/objects.h"

namespace npusim {
namespace {

enum HcclType {
  kInt8,
  kInt16,
  kInt32,
  kFp16,
  kFp32,
  kInt64,
  kUint64,
  kUint8,
  kUint16,
  kUint32,
  kFp64,
  kBf16
};
enum HcclOp { kSum, kProduct, kMaximum, kMinimum };

template <typename T>
T Combine(T a, T b, int op) {
  switch (op) {
    case kSum:
      return static_cast<T>(a + b);
    case kProduct:
      return static_cast<T>(a * b);
    case kMaximum:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

// Signed integers wrap around as they do in hardware.
template <typename T>
T CombineInteger(T a, T b, int op) {
  using U = std::make_unsigned_t<T>;
  if (op == kSum) return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  if (op == kProduct)
    return static_cast<T>(static_cast<U>(static_cast<uint64_t>(static_cast<U>(a)) * static_cast<U>(b)));
  return Combine(a, b, op);
}

template <typename T, typename F>
void ForEach(void* dst, const void* src, size_t bytes, F combine) {
  auto* d = static_cast<char*>(dst);
  const auto* s = static_cast<const char*>(src);
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {  // memcpy: buffers need not be aligned
    T a, b;
    std::memcpy(&a, d + i, sizeof a);
    std::memcpy(&b, s + i, sizeof b);
    a = combine(a, b);
    std::memcpy(d + i, &a, sizeof a);
  }
}

template <typename T>
void Integers(void* dst, const void* src, size_t bytes, int op) {
  ForEach<T>(dst, src, bytes, [op](T a, T b) { return CombineInteger(a, b, op); });
}

void Reduce(void* dst, const void* src, size_t bytes, RtReduce r) {
  switch (r.data_type) {
    case kInt8:
      return Integers<int8_t>(dst, src, bytes, r.op);
    case kInt16:
      return Integers<int16_t>(dst, src, bytes, r.op);
    case kInt32:
      return Integers<int32_t>(dst, src, bytes, r.op);
    case kInt64:
      return Integers<int64_t>(dst, src, bytes, r.op);
    case kUint8:
      return Integers<uint8_t>(dst, src, bytes, r.op);
    case kUint16:
      return Integers<uint16_t>(dst, src, bytes, r.op);
    case kUint32:
      return Integers<uint32_t>(dst, src, bytes, r.op);
    case kUint64:
      return Integers<uint64_t>(dst, src, bytes, r.op);
    case kFp32:
      return ForEach<float>(dst, src, bytes, [&](float a, float b) { return Combine(a, b, r.op); });
    case kFp64:
      return ForEach<double>(dst, src, bytes, [&](double a, double b) { return Combine(a, b, r.op); });
    case kFp16:
      return ForEach<uint16_t>(dst, src, bytes, [&](uint16_t a, uint16_t b) {
        return FloatToHalf(Combine(HalfToFloat(a), HalfToFloat(b), r.op));
      });
    case kBf16:
      return ForEach<uint16_t>(dst, src, bytes, [&](uint16_t a, uint16_t b) {
        return FloatToBf16(Combine(Bf16ToFloat(a), Bf16ToFloat(b), r.op));
      });
    default:
      return;  // refused when the task was put on the stream
  }
}

}  // namespace

void Effect::Apply(uint64_t ns, int status) const {
  if (kind == kStamp) stamp->Finish(ns, status);
  if (status != 0) return;  // a task that was torn off did nothing
  if (kind == kCopy) std::memmove(dst, src, bytes);
  if (kind == kFill) std::memset(dst, value, bytes);
  if (kind == kReduce) Reduce(dst, src, bytes, reduce);
}

}  // namespace npusim
