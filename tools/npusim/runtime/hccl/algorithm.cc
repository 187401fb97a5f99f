// SPDX-License-Identifier: Apache-2.0
#include "runtime/hccl/algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace npusim {
namespace {

constexpr Algorithm kDefault = Algorithm::kRing;
constexpr std::array<std::string_view, 9> kFurther = {"NA",  "ring", "H-D_R",    "NHR",     "NHR_V1",
                                                      "AHC", "NB",   "pipeline", "pairwise"};
// Of the published operators, those that are here have a place in Algorithms.
struct OperatorName {
  std::string_view text;
  std::optional<Collective> which;
};
constexpr std::array<OperatorName, 8> kOperators = {{{"allreduce", Collective::kAllReduce},
                                                     {"allgather", Collective::kAllGather},
                                                     {"reducescatter", Collective::kReduceScatter},
                                                     {"broadcast", Collective::kBroadcast},
                                                     {"reduce", {}},
                                                     {"scatter", {}},
                                                     {"alltoall", {}},
                                                     {"others", {}}}};

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(at)) != text.npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

// Of "level0:ring;level1:NHR" what level 0 says.
bool ReadLevels(std::string_view text, Algorithm* algorithm, std::string* why) {
  bool seen[4] = {};
  for (const std::string_view part : Split(text, ';')) {
    const bool is_level =
        part.size() > 7 && part.substr(0, 5) == "level" && part[5] >= '0' && part[5] <= '3' && part[6] == ':';
    if (!is_level || seen[part[5] - '0']) {
      *why = fmt::format("\"{}\" is not one of level0:, level1:, level2:, level3:, each once, with a name",
                         part);
      return false;
    }
    seen[part[5] - '0'] = true;
    const std::string_view name = part.substr(7);
    if (part[5] == '0') {
      if (name == "ring") {
        *algorithm = Algorithm::kRing;
      } else if (name == "fullmesh") {
        *algorithm = Algorithm::kMesh;
      } else if (name == "NA") {
        *algorithm = kDefault;
      } else {
        *why = fmt::format("\"{}\": allowed at level 0 are NA, ring and fullmesh", name);
        return false;
      }
    } else if (std::find(kFurther.begin(), kFurther.end(), name) == kFurther.end()) {
      *why = fmt::format("\"{}\": allowed at level {} are {}", name, part[5], fmt::join(kFurther, ", "));
      return false;
    }
  }
  return true;
}

}  // namespace

const char* NameOf(Algorithm algorithm) {
  return algorithm == Algorithm::kRing ? "RING" : "MESH";
}

bool ReadAlgorithms(const char* text, Algorithms* chosen, std::string* why) {
  Algorithms result;
  result.fill(kDefault);
  const std::string_view all = text == nullptr ? std::string_view() : text;
  if (all.find('=') == all.npos) {
    Algorithm one = kDefault;
    if (!all.empty() && !ReadLevels(all, &one, why)) return false;
    result.fill(one);
  } else {
    std::array<bool, kCollectiveCount> named{};
    Algorithm others = kDefault;
    for (const std::string_view item : Split(all, '/')) {
      const size_t equals = item.find('=');
      const std::string_view name = item.substr(0, equals);
      const auto op =
          std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& o) { return o.text == name; });
      if (equals == item.npos || op == kOperators.end()) {
        *why = fmt::format(
            "\"{}\" does not begin with an operator and an equals sign: allreduce, allgather, "
            "reducescatter, broadcast, reduce, scatter, alltoall, others",
            item);
        return false;
      }
      Algorithm one = kDefault;
      if (!ReadLevels(item.substr(equals + 1), &one, why)) return false;
      if (name == "others") others = one;
      if (!op->which) continue;
      result[static_cast<size_t>(*op->which)] = one;
      named[static_cast<size_t>(*op->which)] = true;
    }
    for (size_t i = 0; i < kCollectiveCount; i++)
      if (!named[i]) result[i] = others;
  }
  result[static_cast<size_t>(Collective::kBarrier)] = Algorithm::kMesh;
  *chosen = result;
  return true;
}

}  // namespace npusim
