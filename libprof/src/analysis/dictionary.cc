// SPDX-License-Identifier: Apache-2.0
#include "analysis/dictionary.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "analysis/metadata.h"

namespace npuprof::analysis {
namespace {

// Longer names than this are noise in a damaged file.
constexpr size_t kLongestLine = 1 << 20;

using LineFunction = std::function<bool(std::string_view)>;  // false: the line is malformed

void ReadLines(const Slices& slices, Diagnostics* diagnostics, const LineFunction& accept) {
  // A line may go on in the next slice, so the slices are read as one text.
  std::string line;
  bool overlong = false;
  const std::string* line_file = nullptr;
  uint64_t line_start = 0;
  const auto finish = [&] {
    if (overlong) {
      diagnostics->Record(*line_file, line_start, "dictionary line of more than 1 MiB");
    } else if (!line.empty() && !accept(line)) {
      diagnostics->Record(*line_file, line_start, "malformed dictionary line");
    }
    line.clear();
    overlong = false;
  };
  for (const auto& slice : slices) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(slice.path.c_str(), "rbe"), std::fclose);
    if (!file) {
      diagnostics->Failed(slice.name, "cannot be read");
      continue;
    }
    uint64_t offset = 0;
    char chunk[65536];
    size_t got = 0;
    while ((got = std::fread(chunk, 1, sizeof(chunk), file.get())) > 0) {
      for (size_t at = 0; at < got;) {
        const char* from = chunk + at;
        const auto* end = static_cast<const char*>(std::memchr(from, '\n', got - at));
        const size_t part = end ? static_cast<size_t>(end - from) : got - at;
        if (line.empty() && part > 0) {
          line_file = &slice.name;
          line_start = offset + at;
        }
        overlong |= line.size() + part > kLongestLine;
        if (!overlong) line.append(from, part);
        at += part;
        if (end) {
          finish();
          ++at;
        }
      }
      offset += got;
    }
  }
  finish();
}

uint64_t TypeKey(uint16_t level, uint32_t type) {
  return static_cast<uint64_t>(level) << 32 | type;
}

}  // namespace

void Dictionary::Load(const SliceIndex& index, Diagnostics* diagnostics) {
  for (const char* age : {"unaging", "aging"}) {
    const std::string base = std::string("host/data/") + age + ".additional.";
    ReadLines(index.Get(base + "hash_dic"), diagnostics, [&](std::string_view line) {
      const auto colon = line.find(':');
      if (colon == std::string_view::npos) return false;
      const auto hash = ParseUnsigned(line.substr(0, colon));
      if (!hash) return false;
      hashes_.Set(*hash, pool_->Add(line.substr(colon + 1)));
      return true;
    });
    ReadLines(index.Get(base + "type_info_dic"), diagnostics, [&](std::string_view line) {
      const auto bar = line.find('_');
      const auto colon = line.find(':');
      if (bar == std::string_view::npos || colon == std::string_view::npos || colon < bar) return false;
      const auto level = ParseUnsigned(line.substr(0, bar));
      const auto type = ParseUnsigned(line.substr(bar + 1, colon - bar - 1));
      if (!level || *level > UINT16_MAX || !type || *type > UINT32_MAX) return false;
      types_[TypeKey(static_cast<uint16_t>(*level), static_cast<uint32_t>(*type))] =
          pool_->Add(line.substr(colon + 1));
      return true;
    });
  }
}

uint32_t Dictionary::Name(uint64_t hash) {
  const uint32_t* text = hashes_.Find(hash);
  return text ? *text : pool_->Add(std::to_string(hash));
}

uint32_t Dictionary::Type(uint16_t level, uint32_t type) const {
  const auto it = types_.find(TypeKey(level, type));
  return it == types_.end() ? 0 : it->second;
}

}  // namespace npuprof::analysis
