// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "drain/drain.h"
#include "trace/manifest.h"

namespace npuprof {

/// Sentences of one session for its manifest. Any thread; each sentence is kept once.
class Messages {
 public:
  void Add(drain::Severity severity, const std::string& text);
  std::vector<trace::Manifest::Message> All() const;
  bool HasError() const;

 private:
  mutable std::mutex mutex_;
  std::vector<trace::Manifest::Message> list_;
};

}  // namespace npuprof
