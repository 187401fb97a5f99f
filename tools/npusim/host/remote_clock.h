/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_HOST_REMOTE_CLOCK_H
#define NPUSIM_HOST_REMOTE_CLOCK_H

#include <cstdint>

namespace npusim {

/**
 * Translates between the clock of NPUs elsewhere and CLOCK_MONOTONIC_RAW here. It learns from brackets: a reading of
 * the other clock between two of our own. Before the first one both clocks are taken to be equal.
 */
class RemoteClock {
 public:
  void Add(uint64_t before_ns, uint64_t remote_ns, uint64_t after_ns);

  uint64_t ToLocal(uint64_t remote_ns) const;
  uint64_t ToRemote(uint64_t local_ns) const;
  /** Half the width of the bracket in use: by so much a translation may be off near it. */
  uint64_t error_ns() const { return now_.half; }

 private:
  struct Pair {
    uint64_t local = 0;
    uint64_t remote = 0;
    uint64_t half = 0;
  };
  static constexpr uint64_t kNone = UINT64_MAX;

  Pair first_{0, 0, kNone};  // the tightest of the beginning; the rate counts from here
  Pair now_{0, 0, kNone};    // what translations start from
  double rate_ = 1;          // local nanoseconds per remote one
};

}  // namespace npusim
#endif  // NPUSIM_HOST_REMOTE_CLOCK_H
