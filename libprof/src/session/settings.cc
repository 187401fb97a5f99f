// SPDX-License-Identifier: Apache-2.0
#include "session/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "trace/directory.h"

namespace npuprof {
namespace {

enum class Form {
  kUnsupported,  ///< not on this chip
  kFrequency,    ///< digits, 1 to max
  kStorage,      ///< <n>MB, or nothing
  kWord,         ///< one of the words
  kWords,        ///< comma list of the words, or nothing
  kText,         ///< anything but nothing
  kPath,
};

struct Rule {
  int type;
  const char* name;
  Form form;
  uint32_t max = 0;
  const char* words = "";
};

// As A2 (platform_version 5) has them.
constexpr Rule kRules[] = {
    {ACL_PROF_STORAGE_LIMIT, "ACL_PROF_STORAGE_LIMIT", Form::kStorage},
    {ACL_PROF_SYS_HARDWARE_MEM_FREQ, "ACL_PROF_SYS_HARDWARE_MEM_FREQ", Form::kFrequency, 100},
    {ACL_PROF_LLC_MODE, "ACL_PROF_LLC_MODE", Form::kWord, 0, "read,write"},
    {ACL_PROF_SYS_IO_FREQ, "ACL_PROF_SYS_IO_FREQ", Form::kFrequency, 100},
    {ACL_PROF_SYS_INTERCONNECTION_FREQ, "ACL_PROF_SYS_INTERCONNECTION_FREQ", Form::kFrequency, 50},
    {ACL_PROF_DVPP_FREQ, "ACL_PROF_DVPP_FREQ", Form::kFrequency, 100},
    {ACL_PROF_HOST_SYS, "ACL_PROF_HOST_SYS", Form::kWords, 0, "cpu,mem,disk,network,osrt,numa"},
    {ACL_PROF_HOST_SYS_USAGE, "ACL_PROF_HOST_SYS_USAGE", Form::kWords, 0, "cpu,mem"},
    {ACL_PROF_HOST_SYS_USAGE_FREQ, "ACL_PROF_HOST_SYS_USAGE_FREQ", Form::kFrequency, 50},
    {ACL_PROF_LOW_POWER_FREQ, "ACL_PROF_LOW_POWER_FREQ", Form::kUnsupported},
    {ACL_PROF_SYS_MEM_SERVICEFLOW, "ACL_PROF_SYS_MEM_SERVICEFLOW", Form::kText},
    {ACL_PROF_SYS_CPU_FREQ, "ACL_PROF_SYS_CPU_FREQ", Form::kUnsupported},
    {ACL_PROF_OPTYPE, "ACL_PROF_OPTYPE", Form::kUnsupported},
    {ACL_PROF_NTS_METRICS, "ACL_PROF_NTS_METRICS", Form::kUnsupported},
    {ACL_PROF_PATH, "ACL_PROF_PATH", Form::kPath},
};

const Rule* Find(int type) {
  const auto* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.type == type; });
  return rule == std::end(kRules) ? nullptr : rule;
}

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

uint64_t Number(std::string_view digits) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

template <typename Visit>
void ForEachItem(std::string_view list, Visit&& visit) {
  for (;;) {
    const size_t comma = list.find(',');
    visit(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

bool ListHas(std::string_view list, std::string_view wanted) {
  bool found = false;
  ForEachItem(list, [&](std::string_view item) { found |= item == wanted; });
  return found;
}

bool FrequencyIsAllowed(std::string_view text, uint32_t max) {
  // Not longer than the maximum, so "050" stands for 50 where 100 is possible and "0050" for nothing.
  return AllDigits(text) && text.size() <= fmt::formatted_size("{}", max) && Number(text) >= 1 &&
         Number(text) <= max;
}

constexpr uint64_t kLeastStorageMb = 200;
// The documents say both 4294967295 and 4294967296; the larger is harmless.
constexpr uint64_t kMostStorageMb = 4294967296;

bool StorageIsAllowed(std::string_view text) {
  if (text.empty()) return true;
  if (!text.ends_with("MB")) return false;
  text.remove_suffix(2);
  return AllDigits(text) && text.size() <= 10 && Number(text) >= kLeastStorageMb &&
         Number(text) <= kMostStorageMb;
}

std::string Allowed(const Rule& rule) {
  switch (rule.form) {
    case Form::kFrequency:
      return fmt::format("an integer from 1 to {}, digits only", rule.max);
    case Form::kStorage:
      return fmt::format("<n>MB with n from {} to {}, or nothing", kLeastStorageMb, kMostStorageMb);
    case Form::kWord:
      return fmt::format("one of {}", rule.words);
    case Form::kWords:
      return fmt::format("a comma list of {}, or nothing", rule.words);
    case Form::kText:
      return "any text but an empty one";
    default:
      return "";
  }
}

}  // namespace

const char* Settings::Name(int type) {
  const Rule* rule = Find(type);
  return rule ? rule->name : "unknown setting";
}

Result Settings::Set(int type, std::string_view text) {
  const Rule* rule = Find(type);
  if (!rule && type != 2) {
    return Result::Fail(
        code::kInvalidParam,
        fmt::format("setting {} does not exist; allowed are 1 and 3 to 16, one per call", type));
  }
  if (!rule || rule->form == Form::kUnsupported) {
    return Result::Fail(code::kInvalidConfig,
                        rule ? fmt::format("{} ({}) is not available on chip A2", rule->name, type)
                             : "setting 2 is not available on any chip; allowed are 1 and 3 to 16");
  }
  bool allowed = true;
  switch (rule->form) {
    case Form::kFrequency:
      allowed = FrequencyIsAllowed(text, rule->max);
      break;
    case Form::kStorage:
      allowed = StorageIsAllowed(text);
      break;
    case Form::kWord:
      allowed = !text.empty() && text.find(',') == std::string_view::npos && ListHas(rule->words, text);
      break;
    case Form::kWords:
      if (!text.empty())
        ForEachItem(text, [&](std::string_view item) { allowed &= ListHas(rule->words, item); });
      break;
    case Form::kText:
      allowed = !text.empty();
      break;
    case Form::kPath: {
      const Status status = trace::CheckOutputPath(text);
      if (!status.ok()) {
        return Result::Fail(code::kInvalidConfig, fmt::format("{}: {}", rule->name, status.text));
      }
      break;
    }
    case Form::kUnsupported:
      break;
  }
  if (!allowed) {
    return Result::Fail(code::kInvalidConfig,
                        fmt::format("{} is '{}'; allowed is {}", rule->name, text, Allowed(*rule)));
  }
  // Nothing to sample is the same as never having asked.
  if (text.empty()) {
    if (rule->form == Form::kStorage) values_.erase(type);
    return Result::Ok();
  }
  values_[type] = std::string(text);
  return Result::Ok();
}

std::optional<std::string> Settings::Text(int type) const {
  const auto known = values_.find(type);
  return known == values_.end() ? std::nullopt : std::optional<std::string>(known->second);
}

std::optional<uint32_t> Settings::Hz(int type) const {
  const auto known = values_.find(type);
  if (known == values_.end()) return std::nullopt;
  return static_cast<uint32_t>(Number(known->second));
}

bool Settings::Has(int type, std::string_view item) const {
  const auto known = values_.find(type);
  return known != values_.end() && ListHas(known->second, item);
}

uint64_t Settings::StorageLimitMb() const {
  const auto known = values_.find(ACL_PROF_STORAGE_LIMIT);
  return known == values_.end() ? 0
                                : Number(std::string_view(known->second).substr(0, known->second.size() - 2));
}

}  // namespace npuprof
