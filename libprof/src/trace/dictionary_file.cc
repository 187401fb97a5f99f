// SPDX-License-Identifier: Apache-2.0
#include "trace/dictionary_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace npuprof::trace {
namespace {

// Longer strings are cut: a reader keeps every line in memory, and a unit must fit a staging block.
constexpr size_t kMaxText = 64 * 1024;

RecordSpec Spec(const std::string& host_data, DictionaryFile::Kind kind) {
  RecordSpec spec;
  spec.directory = host_data;
  spec.name = HostFileName(
      false, kind == DictionaryFile::Kind::kHash ? "additional.hash_dic" : "additional.type_info_dic");
  return spec;
}

}  // namespace

DictionaryFile::DictionaryFile(drain::Collection& collection, const std::string& host_data, Kind kind)
    : file_(collection, Spec(host_data, kind)) {}

bool DictionaryFile::AddHash(uint64_t hash, std::string_view text) {
  return AddLine(fmt::format("{}", hash), text);
}

bool DictionaryFile::AddType(uint16_t level, uint32_t type, std::string_view name) {
  return AddLine(fmt::format("{}_{}", level, type), name);
}

bool DictionaryFile::AddLine(std::string_view key, std::string_view text) {
  std::string line = fmt::format("{}:{}", key, text.substr(0, kMaxText));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  line += '\n';
  return file_.AppendUnit(line.data(), line.size(), &ledger_);
}

}  // namespace npuprof::trace
