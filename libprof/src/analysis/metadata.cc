// SPDX-License-Identifier: Apache-2.0
#include "analysis/metadata.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "analysis/error.h"

namespace npuprof::analysis {
namespace {

constexpr size_t kJsonLimit = 64 << 20;
constexpr size_t kLogLimit = 1 << 16;

std::string_view Trim(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::string AsText(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return {};
}

}  // namespace

std::optional<uint64_t> ParseUnsigned(std::string_view text) {
  text = Trim(text);
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> MegahertzToHertz(std::string_view text) {
  text = Trim(text);
  const auto dot = text.find('.');
  const auto whole = ParseUnsigned(text.substr(0, dot));
  if (!whole || *whole > 1'000'000) return std::nullopt;
  uint64_t hertz = *whole * 1'000'000;
  if (dot != std::string_view::npos) {
    std::string digits(text.substr(dot + 1));
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    digits.resize(6, '0');
    hertz += *ParseUnsigned(digits);
  }
  return hertz == 0 ? std::nullopt : std::optional(hertz);
}

std::string ReadTextFile(const std::filesystem::path& root, const std::string& name, size_t limit) {
  const auto path = root / name;
  std::error_code missing;
  if (std::filesystem::exists(path, missing) && !std::filesystem::is_regular_file(path, missing)) {
    throw Error(
        fmt::format("{} is no regular file", path.string()));  // a pipe would be waited for without end
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) throw Error(fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
  std::string text;
  char chunk[65536];
  size_t got = 0;
  while ((got = std::fread(chunk, 1, sizeof(chunk), file.get())) > 0) {
    text.append(chunk, got);
    if (text.size() > limit) {
      throw Error(fmt::format("{} is larger than {} bytes and no metadata file", path.string(), limit));
    }
  }
  if (std::ferror(file.get()))
    throw Error(fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
  return text;
}

bool Metadata::Exists(const std::filesystem::path& root, const std::string& name) {
  std::error_code error;
  return std::filesystem::is_regular_file(root / name, error);
}

Metadata Metadata::Read(const std::filesystem::path& root, const std::string& name) {
  Metadata out;
  out.name_ = (root / name).string();
  out.object_ = nlohmann::json::parse(ReadTextFile(root, name, kJsonLimit), nullptr, false);
  if (!out.object_.is_object()) throw Error(fmt::format("{} holds no JSON object", out.name_));
  return out;
}

void Metadata::Fail(const char* key, const std::string& problem) const {
  throw Error(fmt::format("{}: {} {}", name_, key, problem));
}

std::string Metadata::Text(const char* key) const {
  if (!Has(key)) Fail(key, "is missing");
  const auto& value = object_[key];
  if (!value.is_string() && !value.is_number()) Fail(key, "is neither text nor a number");
  return AsText(value);
}

std::string Metadata::Text(const char* key, const char* otherwise) const {
  const auto it = object_.find(key);
  return it == object_.end() || (!it->is_string() && !it->is_number()) ? otherwise : AsText(*it);
}

uint64_t Metadata::Number(const char* key) const {
  const std::string text = Text(key);
  const auto value = ParseUnsigned(text);
  if (!value) Fail(key, fmt::format("is '{}'; a whole number from 0 up is needed", text));
  return *value;
}

Metadata Metadata::First(const char* key) const {
  if (!Has(key)) Fail(key, "is missing");
  const auto& array = object_[key];
  if (!array.is_array() || array.empty() || !array[0].is_object()) Fail(key, "is no list with an object");
  Metadata out;
  out.name_ = fmt::format("{}: {}[0]", name_, key);
  out.object_ = array[0];
  return out;
}

ClockLog ClockLog::Read(const std::filesystem::path& root, const std::string& name) {
  ClockLog out;
  out.name_ = (root / name).string();
  const std::string text = ReadTextFile(root, name, kLogLimit);
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    out.entries_.emplace_back(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  }
  return out;
}

uint64_t ClockLog::Number(const char* key) const {
  for (const auto& [name, text] : entries_) {
    if (name != key) continue;
    const auto value = ParseUnsigned(text);
    if (!value)
      throw Error(fmt::format("{}: {} is '{}'; a whole number from 0 up is needed", name_, key, text));
    return *value;
  }
  throw Error(fmt::format("{}: {} is missing", name_, key));
}

}  // namespace npuprof::analysis
