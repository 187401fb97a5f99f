// SPDX-License-Identifier: Apache-2.0
#include "trace/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace npuprof::trace {
namespace {

// Bytes of the character of UTF-8 at the begin of @p text, which is not empty; 0 if there is none.
size_t CharacterAt(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, halves of pairs, and beyond the last character.
  const bool bad = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
                   (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f);
  return bad ? 0 : length;
}

constexpr std::string_view kControls = "\b\f\n\r\t";

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = CharacterAt(text);
    const char c = text[0];
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (const size_t at = kControls.find(c); at != std::string_view::npos) {
      out += {'\\', "bfnrt"[at]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + '"';
}

}  // namespace

Json::Json(std::string_view text) : kind_(Kind::kText), scalar_(Quoted(text)) {}

Json::Json(const std::map<std::string, std::string>& texts) : kind_(Kind::kObject) {
  for (const auto& [key, text] : texts) {
    items_.emplace_back(key);
    items_.emplace_back(text);
  }
}

Json::Json(std::initializer_list<Json> list) {
  const bool pairs = std::ranges::all_of(list, [](const Json& one) {
    return one.kind_ == Kind::kArray && one.items_.size() == 2 && one.items_[0].kind_ == Kind::kText;
  });
  kind_ = pairs ? Kind::kObject : Kind::kArray;
  for (const Json& one : list) {
    if (pairs) {
      items_.insert(items_.end(), one.items_.begin(), one.items_.end());
    } else {
      items_.push_back(one);
    }
  }
}

Json& Json::operator[](std::string_view key) {
  const std::string quoted = Quoted(key);
  for (size_t i = 0; i < items_.size(); i += 2) {
    if (items_[i].scalar_ == quoted) return items_[i + 1];
  }
  items_.emplace_back(key);
  items_.push_back(Object());
  return items_.back();
}

std::string Json::Write(bool indent) const {
  std::string out;
  Write(0, indent, &out);
  return out;
}

void Json::Write(unsigned depth, bool indent, std::string* out) const {
  if (kind_ == Kind::kText || kind_ == Kind::kOther) {
    *out += scalar_;
    return;
  }
  const bool object = kind_ == Kind::kObject;
  const auto line = [&](unsigned blanks) {
    if (indent) out->append(1, '\n').append(blanks, ' ');
  };
  *out += object ? '{' : '[';
  for (size_t i = 0; i < items_.size(); ++i) {
    const bool value = object && i % 2 == 1;
    if (!value) {
      if (i > 0) *out += ',';
      line(depth + 1);
    } else {
      *out += indent ? ": " : ":";
    }
    items_[i].Write(depth + 1, indent, out);
  }
  if (!items_.empty()) line(depth);
  *out += object ? '}' : ']';
}

}  // namespace npuprof::trace
