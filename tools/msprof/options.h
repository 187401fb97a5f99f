// SPDX-License-Identifier: Apache-2.0
// The published options, and which values each takes.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace msprof {

constexpr int kGood = 0, kFailed = 255, kUnsupported = 254;

struct Option {
  enum Kind { kText, kWord, kNumber };
  /// What becomes of it: it is obeyed; it is checked and named, because what it asks for is not collected or needs no
  /// asking; what it asks for cannot be done at all.
  enum Use { kObeyed, kNamed, kRefused };
  const char* name;
  Kind kind;
  const char* words;  ///< of kWord, separated by '|'
  int64_t low, high;  ///< of kNumber
  Use use;
  const char* about;
};

const std::vector<Option>& Options();

/// A sentence for the user.
class Misuse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Request {
 public:
  /// Throws Misuse naming option and value.
  static Request Parse(int argc, char** argv);

  bool help = false;
  std::vector<std::string> program;  ///< the free form: a program and its arguments
  bool Has(const std::string& name) const { return values_.contains(name); }
  /// Empty if it was not given.
  std::string Text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }
  bool On(const std::string& name) const { return Text(name) == "on"; }
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

/// The text of --help.
std::string Help();

}  // namespace msprof
