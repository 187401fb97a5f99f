// SPDX-License-Identifier: Apache-2.0
#include "session/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "trace/directory.h"

namespace npuprof {
namespace {

enum class Form {
  kFrequency,  ///< digits, 1 to what the chip can
  kStorage,    ///< <n>MB, or nothing
  kWord,       ///< one of the words
  kWords,      ///< comma list of the words, or nothing
  kText,       ///< anything but nothing
  kNames,      ///< comma list of anything, no item empty
  kEvents,     ///< PipeUtilization, or Custom: and a comma list of event numbers
  kPath,
};

struct Rule {
  int type;
  const char* name;
  Form form;
  const char* words = "";
};

constexpr Rule kRules[] = {
    {ACL_PROF_STORAGE_LIMIT, "ACL_PROF_STORAGE_LIMIT", Form::kStorage},
    {ACL_PROF_SYS_HARDWARE_MEM_FREQ, "ACL_PROF_SYS_HARDWARE_MEM_FREQ", Form::kFrequency},
    {ACL_PROF_LLC_MODE, "ACL_PROF_LLC_MODE", Form::kWord, "read,write"},
    {ACL_PROF_SYS_IO_FREQ, "ACL_PROF_SYS_IO_FREQ", Form::kFrequency},
    {ACL_PROF_SYS_INTERCONNECTION_FREQ, "ACL_PROF_SYS_INTERCONNECTION_FREQ", Form::kFrequency},
    {ACL_PROF_DVPP_FREQ, "ACL_PROF_DVPP_FREQ", Form::kFrequency},
    {ACL_PROF_HOST_SYS, "ACL_PROF_HOST_SYS", Form::kWords, "cpu,mem,disk,network,osrt,numa"},
    {ACL_PROF_HOST_SYS_USAGE, "ACL_PROF_HOST_SYS_USAGE", Form::kWords, "cpu,mem"},
    {ACL_PROF_HOST_SYS_USAGE_FREQ, "ACL_PROF_HOST_SYS_USAGE_FREQ", Form::kFrequency},
    {ACL_PROF_LOW_POWER_FREQ, "ACL_PROF_LOW_POWER_FREQ", Form::kFrequency},
    {ACL_PROF_SYS_MEM_SERVICEFLOW, "ACL_PROF_SYS_MEM_SERVICEFLOW", Form::kText},
    {ACL_PROF_SYS_CPU_FREQ, "ACL_PROF_SYS_CPU_FREQ", Form::kFrequency},
    {ACL_PROF_OPTYPE, "ACL_PROF_OPTYPE", Form::kNames},
    {ACL_PROF_NTS_METRICS, "ACL_PROF_NTS_METRICS", Form::kEvents},
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

bool NamesAreAllowed(std::string_view text) {
  bool allowed = true;
  ForEachItem(text, [&](std::string_view item) { allowed &= !item.empty(); });
  return allowed;
}

constexpr size_t kMostNtsEvents = 10;
constexpr uint64_t kMostNtsEvent = 65535;

// One event number, decimal, or hexadecimal after 0x.
bool EventIsAllowed(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() && value <= kMostNtsEvent;
}

bool EventsAreAllowed(std::string_view text) {
  constexpr std::string_view kCustom = "Custom:";
  if (text == "PipeUtilization") return true;
  if (!text.starts_with(kCustom)) return false;
  size_t count = 0;
  bool allowed = true;
  ForEachItem(text.substr(kCustom.size()), [&](std::string_view item) {
    ++count;
    allowed &= EventIsAllowed(item);
  });
  return allowed && count <= kMostNtsEvents;
}

std::string Allowed(const Rule& rule, uint32_t chip) {
  switch (rule.form) {
    case Form::kFrequency:
      return fmt::format("an integer from 1 to {}, digits only", chips::MostHz(chip, rule.type));
    case Form::kStorage:
      return fmt::format("<n>MB with n from {} to {}, or nothing", kLeastStorageMb, kMostStorageMb);
    case Form::kWord:
      return fmt::format("one of {}", rule.words);
    case Form::kWords:
      return fmt::format("a comma list of {}, or nothing", rule.words);
    case Form::kText:
      return "any text but an empty one";
    case Form::kNames:
      return "a comma list without an empty item";
    case Form::kEvents:
      return fmt::format("PipeUtilization, or Custom: and 1 to {} event numbers from 0 to {}", kMostNtsEvents,
                         kMostNtsEvent);
    default:
      return "";
  }
}

// Whether @p rule takes @p text on @p chip; a path that it does not take is explained in @p why.
bool Allows(const Rule& rule, std::string_view text, uint32_t chip, std::string* why) {
  bool allowed = true;
  switch (rule.form) {
    case Form::kFrequency:
      return FrequencyIsAllowed(text, chips::MostHz(chip, rule.type));
    case Form::kStorage:
      return StorageIsAllowed(text);
    case Form::kWord:
      return !text.empty() && text.find(',') == std::string_view::npos && ListHas(rule.words, text);
    case Form::kWords:
      if (!text.empty())
        ForEachItem(text, [&](std::string_view item) { allowed &= ListHas(rule.words, item); });
      return allowed;
    case Form::kText:
      return !text.empty();
    case Form::kPath: {
      const Status status = trace::CheckOutputPath(text);
      *why = status.text;
      return status.ok();
    }
    case Form::kNames:
      return NamesAreAllowed(text);
    case Form::kEvents:
      return EventsAreAllowed(text);
  }
  return false;
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
  if (!rule || !chips::HasSetting(chip_, type)) {
    return Result::Fail(
        code::kInvalidConfig,
        rule ? fmt::format("{} ({}) is not available on {}", rule->name, type, chips::Name(chip_))
             : "setting 2 is not available on any chip; allowed are 1 and 3 to 16");
  }
  std::string why;
  if (!Allows(*rule, text, chip_, &why)) {
    if (rule->form == Form::kPath)
      return Result::Fail(code::kInvalidConfig, fmt::format("{}: {}", rule->name, why));
    return Result::Fail(code::kInvalidConfig,
                        fmt::format("{} is '{}'; allowed is {}", rule->name, text, Allowed(*rule, chip_)));
  }
  // Nothing to sample is the same as never having asked.
  if (text.empty()) {
    if (rule->form == Form::kStorage) values_.erase(type);
    return Result::Ok();
  }
  values_[type] = std::string(text);
  return Result::Ok();
}

std::map<std::string, std::string> Settings::All() const {
  std::map<std::string, std::string> all;
  for (const auto& [type, text] : values_) all.emplace(Name(type), text);
  return all;
}

std::string Settings::Ambiguity(int type, std::string_view text) {
  std::string why;
  const auto takes = [&](const Rule& rule) {
    return rule.type != type && (rule.type & ~type) == 0 && Allows(rule, text, chips::kA2, &why);
  };
  for (const Rule& a : kRules) {
    for (const Rule& b : kRules) {
      if (a.type >= b.type || (a.type | b.type) != type || !takes(a) || !takes(b) || text.empty()) continue;
      return fmt::format(
          "aclprofSetConfig takes one setting per call: {} is {}, and not {} together with {}, whose numbers "
          "joined by OR "
          "are the same",
          type, Name(type), a.name, b.name);
    }
  }
  return "";
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
