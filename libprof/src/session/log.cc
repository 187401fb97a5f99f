// SPDX-License-Identifier: Apache-2.0
#include "session/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/quiet_write.h"

namespace npuprof {
namespace {

void Write(std::string_view text) {
  // One write, so that lines of several threads do not mix; not through stdio, whose buffer is the program's.
  std::string line = "npuprof: ";
  line += text;
  line += '\n';
  const QuietWrite quiet;  // nobody may read the other end any more
  const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(ignored);
}

// A line that was written before is not written again: a fault that repeats must not flood the program's output.
bool IsNew(std::string_view text) {
  constexpr size_t kRemembered = 256;
  static std::atomic<size_t> seen[kRemembered];
  const size_t hash = std::hash<std::string_view>{}(text) | 1;
  for (auto& slot : seen) {
    size_t present = 0;
    if (slot.compare_exchange_strong(present, hash)) return true;
    if (present == hash) return false;
  }
  return false;
}

std::string_view Wish() {
  const char* text = std::getenv("NPUPROF_LOG");
  return text ? text : "";
}

}  // namespace

void LogError(std::string_view text) {
  if (Wish() != "0" && IsNew(text)) Write(text);
}

void LogDetail(std::string_view text) {
  if (Wish() == "1") Write(text);
}

void CheckLogWish(std::vector<std::string>* warnings) {
  const std::string_view wish = Wish();
  if (!wish.empty() && wish != "0" && wish != "1") {
    warnings->push_back("NPUPROF_LOG is \"" + std::string(wish) +
                        "\"; allowed are 0 and 1; taken is the default, errors alone");
  }
}

}  // namespace npuprof
