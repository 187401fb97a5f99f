// SPDX-License-Identifier: Apache-2.0
#include "session/messages.h"

#include <algorithm>

#include "session/log.h"

namespace npuprof {
namespace {
// A cause that repeats for ever must not fill memory.
constexpr size_t kMostMessages = 256;
}  // namespace

void Messages::Add(drain::Severity severity, const std::string& text) {
  constexpr const char* kNames[] = {"info", "warning", "error"};
  const char* name = kNames[static_cast<int>(severity)];
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& known : list_) {
      if (known.text == text) return;
    }
    if (list_.size() >= kMostMessages) return;
    list_.push_back({name, text});
  }
  if (severity == drain::Severity::kError) {
    LogError(text);
  } else {
    LogDetail(text);
  }
}

bool Messages::HasError() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(list_.begin(), list_.end(), [](const auto& known) { return known.severity == "error"; });
}

std::vector<trace::Manifest::Message> Messages::All() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return list_;
}

}  // namespace npuprof
