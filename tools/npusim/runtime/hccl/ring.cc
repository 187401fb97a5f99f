// SPDX-License-Identifier: Apache-2.0
// Rings: in each step a rank reads from the neighbour behind it and is read by the one ahead.
//
// From three ranks on there are two rings, one each way round, with half of the data each and a plane each, so that both
// directions of the links are busy. Among two ranks both ways are the same, and there is one ring.
//
// Neighbours go in lock step: "ready" tells the one ahead that what it reads in this step is there, "done" tells the one
// behind that it has been read. Of chunk c of an all-reduce, rank c + 2 adds its own to that of rank c + 1, and so
// on until rank c has the sum (reduce-scatter); then that travels from rank c around (all-gather):
//
//   step            rank 0 reads   rank 1 reads   rank 2 reads
//   reduce  0       1 of rank 2    2 of rank 0    0 of rank 1
//   reduce  1       0 of rank 2    1 of rank 0    2 of rank 1
//   gather  0       2 of rank 2    0 of rank 0    1 of rank 1
//   gather  1       1 of rank 2    2 of rank 0    0 of rank 1
//
// What a rank reads in a step its neighbour has not touched since the step before, and touches again when it was read.
#include <algorithm>
#include <cmath>

#include "runtime/hccl/rounds.h"

namespace npusim {
namespace {

// One way round, from where a rank stands.
struct Lane {
  uint32_t plane;
  uint32_t behind, ahead;  // ranks
  uint32_t ranks;
  uint32_t rank;
  bool backwards;

  // The rank that is @p steps behind.
  uint32_t Behind(uint32_t steps) const {
    const uint32_t forward = backwards ? steps : ranks - steps % ranks;
    return (rank + forward) % ranks;
  }
};

std::vector<Lane> LanesOf(const Rank& r) {
  const uint32_t n = r.group->size, next = (r.rank + 1) % n, previous = (r.rank + n - 1) % n;
  std::vector<Lane> lanes = {{0, previous, next, n, r.rank, false}};
  if (n > 2) lanes.push_back({1, next, previous, n, r.rank, true});
  return lanes;
}

// @p part of @p parts of a stretch of elements, as bytes.
struct Bytes {
  size_t begin, size;
};
Bytes PartOf(uint64_t first, uint64_t count, uint64_t part, uint64_t parts, size_t size) {
  const uint64_t begin = count * part / parts, end = count * (part + 1) / parts;
  return {static_cast<size_t>(first + begin) * size, static_cast<size_t>(end - begin) * size};
}

template <typename Read>
void Step(Operation& o, const Lane& lane, Read read) {
  o.Raise(lane.plane, lane.ahead, &Rank::ready);
  o.Await(lane.plane, lane.behind, &Rank::ready);
  read();
  o.Raise(lane.plane, lane.behind, &Rank::done);
  o.Await(lane.plane, lane.ahead, &Rank::done);
}

// Chunk c of the staging buffer is of all ranks; in the end it is reduced at rank c.
template <typename Chunk>
void ReduceScatterSteps(Operation& o, Rank& r, const std::vector<Lane>& lanes, Chunk chunk) {
  for (uint32_t step = 0; step + 1 < r.group->size; step++)
    for (const Lane& lane : lanes)
      Step(o, lane, [&] {
        const Bytes b = chunk(lane.Behind(step + 2), lane);
        o.ReduceFrom(lane.plane, lane.behind, r.in + b.begin, r.group->ranks[lane.behind]->in + b.begin,
                     b.size);
      });
}

// Chunk c of the staging buffer is right at rank c, in the end at all.
template <typename Chunk>
void AllGatherSteps(Operation& o, Rank& r, const std::vector<Lane>& lanes, Chunk chunk) {
  for (uint32_t step = 0; step + 1 < r.group->size; step++)
    for (const Lane& lane : lanes)
      Step(o, lane, [&] {
        const Bytes b = chunk(lane.Behind(step + 1), lane);
        o.CopyFrom(lane.plane, lane.behind, r.in + b.begin, r.group->ranks[lane.behind]->in + b.begin,
                   b.size);
      });
}

void AllReduce(Operation& o, Rank& r, const char* send, char* receive, uint64_t count, size_t size) {
  const auto lanes = LanesOf(r);
  const uint64_t ranks = r.group->size;
  const auto chunk = [&](uint64_t c, const Lane& lane) {
    const uint64_t begin = count * c / ranks, end = count * (c + 1) / ranks;
    return PartOf(begin, end - begin, lane.plane, lanes.size(), size);
  };
  o.CopyLocal(r.in, send, count * size);
  o.Fork(lanes.size());
  ReduceScatterSteps(o, r, lanes, chunk);
  AllGatherSteps(o, r, lanes, chunk);
  o.Join(lanes.size());
  o.CopyLocal(receive, r.in, count * size);
}

// Copies between the staging buffer, where the ranks' parts lie side by side, and a buffer where they lie apart.
template <typename Copy>
void Strided(uint32_t ranks, size_t bytes, size_t stride, Copy copy) {
  if (stride == bytes) return copy(0, 0, bytes * ranks);
  for (uint32_t part = 0; part < ranks; part++) copy(part * bytes, part * stride, bytes);
}

void AllGather(Operation& o, Rank& r, const char* send, char* receive, size_t stride, uint64_t count,
               size_t size) {
  const auto lanes = LanesOf(r);
  o.CopyLocal(r.in + r.rank * count * size, send, count * size);
  o.Fork(lanes.size());
  AllGatherSteps(o, r, lanes, [&](uint64_t c, const Lane& lane) {
    return PartOf(c * count, count, lane.plane, lanes.size(), size);
  });
  o.Join(lanes.size());
  Strided(r.group->size, count * size, stride,
          [&](size_t staged, size_t at, size_t bytes) { o.CopyLocal(receive + at, r.in + staged, bytes); });
}

void ReduceScatter(Operation& o, Rank& r, const char* send, char* receive, size_t stride, uint64_t count,
                   size_t size) {
  const auto lanes = LanesOf(r);
  Strided(r.group->size, count * size, stride,
          [&](size_t staged, size_t at, size_t bytes) { o.CopyLocal(r.in + staged, send + at, bytes); });
  o.Fork(lanes.size());
  ReduceScatterSteps(o, r, lanes, [&](uint64_t c, const Lane& lane) {
    return PartOf(c * count, count, lane.plane, lanes.size(), size);
  });
  o.Join(lanes.size());
  o.CopyLocal(receive, r.in + r.rank * count * size, count * size);
}

// Pieces that let @p bytes pass through a ring soonest: more of them fill the links earlier, and each costs a hand-over,
// which takes as long as a piece of kHandOver bytes.
uint64_t PiecesOf(size_t bytes, uint32_t ranks) {
  constexpr double kHandOver = 64 << 10;
  constexpr uint64_t kMost = 64;
  const double best = std::sqrt((ranks - 2) * static_cast<double>(bytes) / kHandOver);
  return std::clamp(static_cast<uint64_t>(best), uint64_t{1}, kMost);
}

// The pieces follow each other around; a rank hands one on while the next comes in, and is at most one ahead of its
// neighbour.
void Broadcast(Operation& o, Rank& r, char* buffer, uint32_t root, uint64_t count, size_t size) {
  const auto lanes = LanesOf(r);
  const uint32_t ranks = r.group->size;
  const uint64_t pieces = PiecesOf(count * size / lanes.size(), ranks);
  const bool receives = r.rank != root;
  if (!receives) o.CopyLocal(r.in, buffer, count * size);
  o.Fork(lanes.size());
  for (uint64_t piece = 0; piece < pieces; piece++)
    for (const Lane& lane : lanes) {
      if (receives) {
        const Bytes b = PartOf(0, count, lane.plane * pieces + piece, lanes.size() * pieces, size);
        o.Await(lane.plane, lane.behind, &Rank::ready);
        o.CopyFrom(lane.plane, lane.behind, r.in + b.begin, r.group->ranks[lane.behind]->in + b.begin,
                   b.size);
        o.Raise(lane.plane, lane.behind, &Rank::done);
      }
      if (lane.ahead == root) continue;
      o.Raise(lane.plane, lane.ahead, &Rank::ready);
      if (piece > 0) o.Await(lane.plane, lane.ahead, &Rank::done);
    }
  for (const Lane& lane : lanes)
    if (lane.ahead != root) o.Await(lane.plane, lane.ahead, &Rank::done);
  o.Join(lanes.size());
  if (receives) o.CopyLocal(buffer, r.in, count * size);
}

}  // namespace

const Rounds& RingRounds() {
  static constexpr Rounds kRounds = {AllReduce, AllGather, ReduceScatter, Broadcast};
  return kRounds;
}

}  // namespace npusim
