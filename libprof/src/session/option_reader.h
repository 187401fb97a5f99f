// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "session/option_object.h"

namespace npuprof {

/// Reads one object; remembers the first thing that is wrong, and what was looked at.
class OptionReader {
 public:
  OptionReader(const nlohmann::json& object, OptionSource source) : object_(object), source_(source) {}

  bool Has(const char* key) {
    known_.insert(key);
    return object_.contains(key);
  }

  // Numbers are taken as they are written, so that one may stand with or without quotes.
  std::string Text(const char* key, const std::string& otherwise = "") {
    if (!Has(key)) return otherwise;
    const nlohmann::json& value = object_[key];
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.dump();
    Fail(key, value.dump(), "a text or an integer");
    return otherwise;
  }

  bool On(const char* key, bool otherwise) {
    const std::string text = Text(key, otherwise ? "on" : "off");
    if (text == "on") return true;
    if (text != "off" && !text.empty()) Fail(key, text, "on and off");
    return false;
  }

  uint64_t Choice(const char* key, const std::string& otherwise,
                  const std::vector<std::pair<std::string, uint64_t>>& choices) {
    const std::string text = Text(key, otherwise);
    std::string allowed;
    for (const auto& [name, bits] : choices) {
      if (text == name) return bits;
      allowed += (allowed.empty() ? "" : ", ") + name;
    }
    Fail(key, text, allowed);
    return 0;
  }

  uint64_t Number(const char* key, uint64_t otherwise, uint64_t least, uint64_t most) {
    if (!Has(key)) return otherwise;
    const std::string text = Text(key);
    if (!text.empty() && text.size() < 12 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      const uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
      if (value >= least && value <= most) return value;
    }
    Fail(key, text, fmt::format("integers from {} to {}", least, most));
    return otherwise;
  }

  void Set(const char* key, int type, const std::string& text, Settings* settings) {
    if (const Result result = settings->Set(type, text); !result.ok())
      Fail(fmt::format("{}: {}", Name(key), result.text));
  }

  // Keys that nobody asked for, with their values as they are written.
  std::map<std::string, std::string> Unknown() const {
    std::map<std::string, std::string> unknown;
    for (const auto& [key, value] : object_.items()) {
      if (!known_.count(key))
        unknown.emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return unknown;
  }

  // Every key must have been asked for by now.
  void RefuseUnknown() {
    for (const auto& [key, value] : Unknown()) {
      std::string allowed;
      for (const std::string& known : known_) allowed += (allowed.empty() ? "" : ", ") + known;
      Fail(fmt::format("{} has the unknown key '{}'; allowed are {}", OptionSourceName(source_), key,
                       allowed));
    }
  }

  void Fail(const char* key, const std::string& text, const std::string& allowed) {
    Fail(fmt::format("{} is '{}'; allowed are {}", Name(key), text, allowed));
  }
  void Fail(std::string text) {
    if (result_.ok()) result_ = Result::Fail(code::kInvalidConfig, std::move(text));
  }
  const Result& result() const { return result_; }
  std::string Name(const char* key) const { return fmt::format("{} of {}", key, OptionSourceName(source_)); }

 private:
  const nlohmann::json& object_;
  OptionSource source_;
  std::set<std::string> known_;
  Result result_ = Result::Ok();
};

/// A counter group, or Custom: and a list of events, that the text of @p key names; PipeUtilization if it is empty.
void ReadGroup(OptionReader& reader, const char* key, RecordRequest* request);

/// The switches of sample.json.
void ReadSampleConfig(OptionReader& reader, RecordRequest* request);

}  // namespace npuprof
