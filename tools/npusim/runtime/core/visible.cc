// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/visible.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace npusim {

std::vector<uint32_t> VisibleDevices(const char* text, uint32_t count, std::string* complaint) {
  std::vector<uint32_t> ids;
  if (text == nullptr || *text == '\0') {
    ids.resize(count);
    std::iota(ids.begin(), ids.end(), 0U);
    return ids;
  }
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    more = item.size() < rest.size();
    rest.remove_prefix(more ? item.size() + 1 : item.size());
    uint32_t id = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), id);
    if (error == std::errc() && end == item.data() + item.size() && id < count &&
        std::find(ids.begin(), ids.end(), id) == ids.end()) {
      ids.push_back(id);
      continue;
    }
    const std::string allowed = count == 0
                                    ? "none, because there is no device"
                                    : fmt::format("different ids from 0 to {}, joined by commas", count - 1);
    *complaint = fmt::format(
        "ASCEND_RT_VISIBLE_DEVICES is \"{}\"; allowed are {}; taken is what comes before \"{}\": {}", text,
        allowed, item, ids.empty() ? "no device" : fmt::format("{}", fmt::join(ids, ",")));
    break;
  }
  return ids;
}

}  // namespace npusim
