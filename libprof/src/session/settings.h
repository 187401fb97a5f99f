// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "acl/acl_prof.h"
#include "session/chip_rules.h"
#include "session/result.h"

namespace npuprof {

/// Settings of aclprofSetConfig() that hold from the next start on. Not thread-safe.
class Settings {
 public:
  /// @param chip  whose settings these are, as info.json's platform_version numbers it
  explicit Settings(uint32_t chip) : chip_(chip) {}
  Settings() : Settings(chips::kA2) {}

  /// Checks @p text for @p type as the chip allows it and keeps it; a refused value changes nothing.
  /// kInvalidParam: no such type. kInvalidConfig: the chip lacks it, or the text is not allowed.
  Result Set(int type, std::string_view text);
  void Clear() { values_.clear(); }
  /// All that @p later has, over what is there.
  void Take(const Settings& later) {
    for (const auto& [type, text] : later.values_) values_[type] = text;
  }

  /// Unset, or set to "", gives nullopt.
  std::optional<std::string> Text(int type) const;
  /// The number of a frequency setting, in Hz.
  std::optional<uint32_t> Hz(int type) const;
  /// Whether the comma list of @p type has @p item.
  bool Has(int type, std::string_view item) const;
  /// Storage limit in MB, 0 for none.
  uint64_t StorageLimitMb() const;

  /// All that is set: text by name.
  std::map<std::string, std::string> All() const;

  /// A sentence if @p type may have been meant as several types joined by OR, each of which would take @p text; else "".
  static std::string Ambiguity(int type, std::string_view text);

  /// "ACL_PROF_SYS_IO_FREQ"
  static const char* Name(int type);

 private:
  uint32_t chip_;
  std::map<int, std::string> values_;
};

}  // namespace npuprof
