// SPDX-License-Identifier: Apache-2.0
// The small text files of a PROF directory. Every failure is an Error that names file and key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npuprof::analysis {

/// One JSON object of metadata. The public writers spell numbers as strings or as numbers; both are read.
class Metadata {
 public:
  /// Reads `root`/`name`. Throws Error if it is missing, larger than 64 MiB or no JSON object.
  static Metadata Read(const std::filesystem::path& root, const std::string& name);
  static bool Exists(const std::filesystem::path& root, const std::string& name);

  bool Has(const char* key) const { return object_.contains(key); }
  std::string Text(const char* key) const;  ///< throws if absent or neither string nor number
  std::string Text(const char* key, const char* otherwise) const;
  uint64_t Number(const char* key) const;  ///< throws if absent or no whole number from 0 up
  const nlohmann::json& object() const { return object_; }
  const std::string& name() const { return name_; }
  /// The first object of the array `key`; throws if there is none.
  Metadata First(const char* key) const;
  [[noreturn]] void Fail(const char* key, const std::string& problem) const;

 private:
  std::string name_;
  nlohmann::json object_;
};

/// "key: value" lines; section lines in brackets are skipped.
class ClockLog {
 public:
  static ClockLog Read(const std::filesystem::path& root, const std::string& name);
  uint64_t Number(const char* key) const;  ///< throws Error if absent or no number

 private:
  std::string name_;
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// The whole file, at most `limit` bytes. Throws Error.
std::string ReadTextFile(const std::filesystem::path& root, const std::string& name, size_t limit);

/// Megahertz as decimal text to hertz, exactly: "38.4" -> 38400000. nullopt if it is no positive number.
std::optional<uint64_t> MegahertzToHertz(std::string_view text);
std::optional<uint64_t> ParseUnsigned(std::string_view text);

}  // namespace npuprof::analysis
