// SPDX-License-Identifier: Apache-2.0
// Which way data takes in collectives: HCCL_ALGO chooses, and the ring is what it is without.
#ifndef NPUSIM_RUNTIME_HCCL_ALGORITHM_H
#define NPUSIM_RUNTIME_HCCL_ALGORITHM_H

#include <array>
#include <cstdint>
#include <string>

namespace npusim {

// The collectives, in the order of their type numbers at ACL level.
enum class Collective : uint32_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kBarrier };
constexpr size_t kCollectiveCount = 5;

enum class Algorithm : uint8_t {
  kRing,  // from neighbour to neighbour, in steps
  kMesh,  // every rank reads from every other at once
};

// As it stands in the records of a collective.
const char* NameOf(Algorithm algorithm);

// By collective. A barrier moves no data and is a mesh always.
using Algorithms = std::array<Algorithm, kCollectiveCount>;

/**
 * Reads a value of HCCL_ALGO: `level0:<name>;level1:<name>`, or `<operator>=<levels>` joined by slashes, where the operator
 * `others` stands for those that are not named. Level 0 is within a server, where all simulated devices are: `ring`,
 * `fullmesh`, `NA` (the default); further levels are read and have no effect.
 * @param text  nullptr or empty: all defaults
 * @return false with the sentence in @p why; @p chosen is then unchanged
 */
bool ReadAlgorithms(const char* text, Algorithms* chosen, std::string* why);

}  // namespace npusim

#endif  // NPUSIM_RUNTIME_HCCL_ALGORITHM_H
