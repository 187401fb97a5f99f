// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/record_file.h"

namespace npuprof::trace {

/// A dictionary of the host data: one line per entry, appended whole. Drain thread only, like RecordFile.
/// Line breaks and NUL in a string, which would tear the line, become spaces.
class DictionaryFile {
 public:
  enum class Kind {
    kHash,  ///< host/data/unaging.additional.hash_dic
    kType,  ///< host/data/unaging.additional.type_info_dic
  };
  DictionaryFile(drain::Collection& collection, const std::string& host_data, Kind kind);

  /// "<hash>:<text>". @return false if there is no room now; try again at a later visit
  bool AddHash(uint64_t hash, std::string_view text);
  /// "<level>_<type>:<name>"
  bool AddType(uint16_t level, uint32_t type, std::string_view name);

  const RecordFile& file() const { return file_; }

 private:
  bool AddLine(std::string_view key, std::string_view text);

  RecordFile file_;
  drain::Ledger ledger_;
};

}  // namespace npuprof::trace
