// SPDX-License-Identifier: Apache-2.0
// Every request with random arguments, in every order, on several sessions at once. Nothing is asserted but that
// each answer is one of the documented ones; that the kernel survived it in silence is what the lab looks for.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr uint64_t kSeed = 20260101;
constexpr int kSteps = 10'000;

class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed) {
    for (int& fd : fds_) fd = Backend::Get().Open(Pick(2));
    buffer_ = static_cast<unsigned char*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(buffer_ + 2 * kPage, kPage);  // structures may lie at the edge
  }
  ~Chaos() {
    Unmap();
    for (int fd : fds_) close(fd);
    munmap(buffer_, 2 * kPage);
  }

  void Step() {
    const unsigned choice = Pick(100);
    if (choice < 60) {
      Request();
    } else if (choice < 75) {
      Map();
    } else if (choice < 82) {
      ScribbleTails();
    } else if (choice < 88) {
      pollfd fd{Any(), static_cast<short>(random_()), 0};
      poll(&fd, 1, 0);
    } else if (choice < 92) {
      Unmap();
    } else if (choice < 97) {
      int& fd = fds_[Pick(kSessions)];
      close(fd);
      fd = Backend::Get().Open(Pick(2));
    } else {
      char bytes[64];
      if (read(Any(), bytes, sizeof bytes) >= 0 || write(Any(), bytes, sizeof bytes) >= 0) ++odd_;
    }
  }

  const std::map<int, uint64_t>& answers() const { return answers_; }
  /// Those of STOP alone.
  const std::map<int, uint64_t>& stops() const { return stops_; }
  /// Rings that were added, by channel.
  const std::map<uint32_t, uint64_t>& rings() const { return rings_; }
  uint64_t odd() const { return odd_; }

 private:
  static constexpr unsigned kSessions = 4;
  static constexpr uint64_t kLongestTimeout = 600 * kSecond;  // longer ones are refused

  unsigned Pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  int Any() { return fds_[Pick(kSessions)]; }

  // Values that are mostly near something that matters.
  uint64_t Value() {
    static constexpr uint64_t kInteresting[] = {
        0,     1,          2,          3,       15,       16,        63,    64,         1024,      4096,
        65535, 0x7fffffff, 0xffffffff, 1000000, 20000000, 100000000, ~0ull, 1ull << 63, 1ull << 32};
    const unsigned choice = Pick(10);
    if (choice < 7) return kInteresting[Pick(std::size(kInteresting))];
    return choice < 9 ? random_() % 4096 : random_();
  }

  // For any channel there is, and one that there is not.
  npuprof_add_ring AddRing() {
    const uint32_t channel = 1 + Pick(NPUPROF_CHANNEL_COUNT);
    const uint32_t slots = 16u << Pick(8);
    const uint32_t flags = Pick(8);
    const auto kind = static_cast<uint16_t>(1 + Pick(2));
    switch (channel) {
      case NPUPROF_CHANNEL_TASK_LOG:
      case NPUPROF_CHANNEL_TS_TRACK:
      case NPUPROF_CHANNEL_AICPU:
      case NPUPROF_CHANNEL_SOC_PMU:
        return DeviceRing(channel, slots, flags);
      case NPUPROF_CHANNEL_TASK_PMU:
        return PmuRing(slots, flags);
      case NPUPROF_CHANNEL_BLOCK_PMU:
        return BlockRing(kind, static_cast<uint16_t>(Pick(30)), slots, flags);
      case NPUPROF_CHANNEL_CORE_SAMPLE:
        return SampleRing(kind, static_cast<uint16_t>(Pick(50)), (1 + Pick(50)) * kMs, slots, {0x8, 0x416},
                          flags);
      default:
        return UnitRing(channel, (1 + Pick(50)) * kMs, slots, flags);
    }
  }

  void Request() {
    unsigned long request = kRequests[Pick(std::size(kRequests))];
    const unsigned kind = Pick(20);
    if (kind == 0) request = random_();
    if (kind == 1) request = (request & ~0xfful) | Pick(256);
    // Something plausible first, then a few words of noise over it.
    union {
      unsigned char bytes[512];
      uint32_t words[128];
      npuprof_add_ring add;
      npuprof_control control;
    } any{};
    uint32_t size = 0;
    switch (request) {
      case NPUPROF_IOC_QUERY:
        size = sizeof(npuprof_query);
        break;
      case NPUPROF_IOC_ADD_RING:
        any.add = AddRing();
        size = sizeof(npuprof_add_ring);
        break;
      case NPUPROF_IOC_STATS:
        size = sizeof(npuprof_stats);
        break;
      case NPUPROF_IOC_CLOCK:
        size = sizeof(npuprof_clock);
        break;
      default:
        size = sizeof(npuprof_control);
        if (request == NPUPROF_IOC_STOP && Pick(2)) {
          any.control.flags = NPUPROF_STOP_WAIT;
          any.control.timeout_ns = Pick(5) * kMs;
        }
    }
    any.words[0] = size;
    if (Pick(3) == 0) {
      for (unsigned k = Pick(4); k > 0; --k) {
        const unsigned word = Pick(size / 4);
        any.words[word] = static_cast<uint32_t>(Value());
      }
    }
    if (Pick(12) == 0) any.words[0] = static_cast<uint32_t>(Value());
    // The test itself must not wait long. A timeout that is refused may be what it is.
    if (_IOC_NR(request) == _IOC_NR(NPUPROF_IOC_STOP) && any.control.timeout_ns <= kLongestTimeout)
      any.control.timeout_ns %= 5 * kMs;
    // Anywhere in two pages, sometimes so that its end is not there.
    const size_t room = 2 * kPage - sizeof any.bytes;
    unsigned char* at = buffer_ + random_() % room;
    if (Pick(10) == 0) at = buffer_ + 2 * kPage - 1 - Pick(300);
    const size_t fits = std::min<size_t>(sizeof any.bytes, static_cast<size_t>(buffer_ + 2 * kPage - at));
    std::memcpy(at, any.bytes, fits);
    void* argument = Pick(30) == 0 ? reinterpret_cast<void*>(Value()) : at;
    const int answer = Backend::Get().Ioctl(Any(), request, argument);
    ++answers_[answer];
    if (_IOC_NR(request) == _IOC_NR(NPUPROF_IOC_STOP)) ++stops_[answer];
    if (answer == 0 && request == NPUPROF_IOC_ADD_RING) ++rings_[any.add.channel];
  }

  void Map() {
    static constexpr uint64_t kAreas[] = {NPUPROF_MMAP_CONTROL, NPUPROF_MMAP_TAILS, NPUPROF_MMAP_DATA};
    uint64_t offset = kAreas[Pick(3)];
    if (Pick(8) == 0) offset += kPage * Pick(100);
    if (Pick(20) == 0) offset = Value() & ~(kPage - 1);
    const size_t length = (1 + Pick(Pick(4) == 0 ? 4096 : 4)) * kPage;
    const int protection = Pick(4) == 0 ? static_cast<int>(Pick(8)) : PROT_READ | (Pick(2) ? PROT_WRITE : 0);
    const int flags = Pick(10) == 0 ? MAP_PRIVATE : MAP_SHARED;
    void* memory = mmap(nullptr, length, protection, flags, Any(), static_cast<off_t>(offset));
    if (memory == MAP_FAILED) {
      ++answers_[-errno];
      return;
    }
    if (Pick(6) == 0) mprotect(memory, length, static_cast<int>(Pick(8)));
    auto& list = offset == NPUPROF_MMAP_TAILS && (protection & PROT_WRITE) ? tails_ : maps_;
    // Sometimes a page in the middle goes; what then lies there is somebody else's.
    if (length > 2 * kPage && Pick(4) == 0) {
      munmap(static_cast<char*>(memory) + kPage, kPage);
      maps_.push_back({static_cast<char*>(memory) + 2 * kPage, length - 2 * kPage});
      list.push_back({memory, kPage});
    } else {
      list.push_back({memory, length});
    }
    if (maps_.size() + tails_.size() > 40) Unmap();
  }

  void ScribbleTails() {
    if (tails_.empty()) return;
    const auto& [memory, length] = tails_[Pick(static_cast<unsigned>(tails_.size()))];
    auto* words = static_cast<uint64_t*>(memory);
    for (int k = 0; k < 8; ++k) {
      if (mprotect(memory, kPage, PROT_READ | PROT_WRITE) != 0) return;
      __atomic_store_n(&words[Pick(kPage / 8)], Value(), __ATOMIC_RELEASE);
    }
  }

  void Unmap() {
    for (auto* list : {&maps_, &tails_}) {
      for (const auto& [memory, length] : *list) munmap(memory, length);
      list->clear();
    }
  }

  std::mt19937_64 random_;
  int fds_[kSessions];
  unsigned char* buffer_;
  std::vector<std::pair<void*, size_t>> maps_, tails_;
  std::map<int, uint64_t> answers_, stops_;
  std::map<uint32_t, uint64_t> rings_;
  uint64_t odd_ = 0;
};

struct Random : testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Random, testing::Range(0, 4));

TEST_P(Random, EveryRequestWithAnyArgumentIsAnswered) {
  BoundedMemory bounded;
  Port port;
  std::atomic<bool> stop{false};
  std::thread work([&] {
    // Something is always going on in the devices, but never more than a few tasks at once.
    while (!stop) {
      for (uint32_t device = 0; device < 2; ++device) port.Submit(20, 1800, 24, 1, device);
      for (uint32_t device = 0; device < 2; ++device) port.Drain(device);
    }
  });
  const int steps = Rounds(kSteps);
  const uint64_t seed = kSeed + static_cast<uint64_t>(GetParam());
  std::map<int, uint64_t> answers, stops;
  std::map<uint32_t, uint64_t> rings;
  {
    Chaos chaos(seed);
    for (int k = 0; k < steps; ++k) chaos.Step();
    answers = chaos.answers();
    stops = chaos.stops();
    rings = chaos.rings();
    EXPECT_EQ(chaos.odd(), 0u) << "read() or write() did something";
  }
  stop = true;
  work.join();
  const std::set<int> documented = {0,       -EINVAL, -EOPNOTSUPP, -EBUSY, -ENOSPC, -ENOMEM, -E2BIG,
                                    -EFAULT, -ENOTTY, -EACCES,     -EBADF, -EPERM,  -ERANGE, -EOVERFLOW};
  uint64_t total = 0;
  for (const auto& [answer, count] : answers) {
    EXPECT_TRUE(documented.contains(answer))
        << "seed " << seed << ": errno " << -answer << ", " << count << " times";
    total += count;
  }
  // Chaos that is refused everything tests little.
  EXPECT_GT(answers[0] * 10, total) << "seed " << seed;
  if (steps >= kSteps) {
    EXPECT_GT(stops[0], 0u) << "seed " << seed;
    EXPECT_GT(rings.size(), 10u) << "seed " << seed << ": rings of so few channels were added";
  }
  std::printf("rings by channel:");
  for (const auto& [channel, count] : rings)
    std::printf(" %u:%llu", channel, static_cast<unsigned long long>(count));
  std::printf("; answers of STOP:");
  for (const auto& [answer, count] : stops)
    std::printf(" %d:%llu", answer, static_cast<unsigned long long>(count));
  std::printf("\n");
  // After all that an honest session works.
  const npusim_totals before = port.Totals();
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  ASSERT_EQ(log, 1);
  profiler.Start();
  port.Submit(10);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(port.Totals().ended - before.ended, 10u);
  EXPECT_EQ(profiler.Head(log), 20u);
}

}  // namespace
}  // namespace selftest
