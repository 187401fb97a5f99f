// SPDX-License-Identifier: Apache-2.0
// What a collective did with its time, and what it moved over which links.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/communication.h"
#include "analysis/string_pool.h"

namespace npuprof::database {

enum Kind : size_t { kRdma, kHccs, kPcie, kSdma, kSio, kKinds };
constexpr std::array<const char*, kKinds> kKindNames = {"RDMA", "HCCS", "PCIE", "SDMA", "SIO"};

/// To four decimals, as published. 0 where nothing is divided.
double Ratio(double part, double rest);
double Rate(double megabytes, double milliseconds);

struct Traffic {
  double megabytes = 0, milliseconds = 0;
  uint64_t packets = 0, large = 0;
  std::map<double, std::pair<uint64_t, double>> sizes;  ///< how many packets of a size, and their time

  void Take(double size, double time, double large_from);
  void Take(const Traffic& other);
  double LargeRatio() const;
};

struct Pair {
  const char* transport = nullptr;
  double megabytes = 0, milliseconds = 0;
};
using Matrix = std::map<std::pair<uint32_t, uint32_t>, Pair>;  ///< by sender and receiver

/// `start_us` since 1970, the others are milliseconds.
struct Times {
  double start_us = 0, elapse = 0, transit = 0, wait = 0, synchronization = 0, idle = 0;
};

struct Summary {
  std::string label;
  uint64_t group = 0;
  Times times;
  std::array<Traffic, kKinds> traffic;
  Matrix matrix;
};

/// `tasks` are those of the collective.
Summary Summarise(const analysis::Collective& collective,
                  const std::vector<const analysis::CollectiveTask*>& tasks,
                  const analysis::StringPool& pool);

/// What the published analysis makes of several devices: of collectives with one name the one of the first device stays,
/// of the matrix the pairs of all.
struct Collected {
  std::vector<std::string> order;
  std::map<std::string, Summary> by_key;

  void Take(Summary summary);
  Summary Total() const;
};

}  // namespace npuprof::database
