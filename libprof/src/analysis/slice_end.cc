// SPDX-License-Identifier: Apache-2.0
#include "analysis/slice_end.h"

#include <algorithm>
#include <cstddef>

namespace npuprof::analysis {
namespace {

constexpr uint64_t kSector = 4096;  // what is written past the page cache comes in these

bool AllZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

SliceEnd TextEnd(std::string_view contents) {
  SliceEnd end;
  const size_t nul = std::min(contents.find('\0'), contents.size());
  const size_t newline = contents.substr(0, nul).rfind('\n');
  end.bytes = newline == std::string_view::npos ? 0 : newline + 1;
  end.records = static_cast<uint64_t>(
      std::count(contents.begin(), contents.begin() + static_cast<std::ptrdiff_t>(end.bytes), '\n'));
  end.torn = nul - end.bytes;
  end.unused = contents.size() - nul;
  return end;
}

}  // namespace

SliceEnd FindEnd(std::string_view contents, uint32_t record_bytes) {
  if (record_bytes == 0) return TextEnd(contents);
  SliceEnd end;
  const uint64_t whole = contents.size() / record_bytes;
  const auto record = [&](uint64_t i) { return contents.substr(i * record_bytes, record_bytes); };
  while (end.records < whole && !AllZero(record(end.records))) ++end.records;
  uint64_t used = end.records * record_bytes;
  if (end.records == whole) {
    const std::string_view rest = contents.substr(used);
    (AllZero(rest) ? end.unused : end.torn) = rest.size();
  } else {
    end.unused = contents.size() - used;
    // The record before may go on in a sector that was not written.
    const uint64_t border = (used - (used > 0)) / kSector * kSector;
    if (end.records > 0 && border > used - record_bytes && AllZero(contents.substr(border, used - border))) {
      --end.records;
      used -= record_bytes;
      end.torn = record_bytes;
    }
  }
  end.bytes = used;
  return end;
}

}  // namespace npuprof::analysis
