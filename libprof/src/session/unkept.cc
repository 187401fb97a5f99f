// SPDX-License-Identifier: Apache-2.0
#include "session/unkept.h"

#include <fmt/format.h>

#include <atomic>

namespace npuprof::unkept {
namespace {
std::atomic<uint64_t> g_count{0};
std::atomic<uint32_t> g_module{0};
}  // namespace

void Add(uint32_t module) {
  g_module.store(module, std::memory_order_relaxed);
  g_count.fetch_add(1, std::memory_order_relaxed);
}

uint64_t Count() {
  return g_count.load(std::memory_order_relaxed);
}

std::vector<std::string> Notes(uint64_t before) {
  const uint64_t count = Count() - before;
  if (count == 0) return {};
  return {
      fmt::format("{} reports through MsprofReportData were not kept, the last of module {}: that form has "
                  "no place in the "
                  "files",
                  count, g_module.load(std::memory_order_relaxed))};
}

}  // namespace npuprof::unkept
