// SPDX-License-Identifier: Apache-2.0
// Lets every allocation that a call makes fail once: the first, the second and so on. For kernels with fault injection
// (CONFIG_FAULT_INJECTION); elsewhere such tests are skipped.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "profiler.h"

namespace selftest {

/// Lets the n-th allocation of this thread fail.
class Injection {
 public:
  Injection();
  ~Injection();
  Injection(const Injection&) = delete;

  static bool Available();
  bool Arm(int n) const;
  /// @return how many allocations are left until one fails; 0 if one has
  int Disarm() const;

 private:
  int fd_;
};

/// Keeps warnings from the console while it lives, and looks for what the lab would look for there: a kernel that checks
/// how locks nest finds fault with its own leak detector when that is out of memory and says so on a serial line.
class QuietConsole {
 public:
  QuietConsole();
  ~QuietConsole();
  QuietConsole(const QuietConsole&) = delete;

  /// Reads what has come, before it is overwritten.
  void Collect();
  /// What the kernel complained about, and some lines after each; but for what it finds fault with in its own leak detector.
  const std::string& complaints();

 private:
  void Judge();
  int fd_, more_ = 0;
  std::string levels_, report_, complaints_;
};

/// Whatever fails in between, the user's memory and all claims are at the end what they were.
struct Faults : testing::Test {
  void SetUp() override;
  void TearDown() override;

  /// Calls @p call, which returns 0 or a negative errno, until no allocation of it is left to fail. With a fault it has
  /// to say ENOMEM, or one of @p errors_, or do without.
  /// @param prepare  comes before each time
  /// @param judge    sees what the call returned and what is left
  /// @param first    the allocation to fail first
  /// @param next     the one after allocation n
  /// @return how often it failed
  int Each(
      const std::function<void()>& prepare, const std::function<int()>& call,
      const std::function<void(int result)>& judge, int first = 1,
      const std::function<int(int n)>& next = [](int n) { return n + 1; });
  /// How many allocations a call makes.
  int Allocations(const std::function<int()>& call);

  /// What else the kernel around the module says for want of memory.
  std::set<int> errors_;

  /// Five tasks on a new session, counted.
  void ExpectUsable();

 private:
  std::optional<Injection> injection_;
  std::optional<QuietConsole> console_;
  std::string mlock_, claims_;
  rlimit memlock_{};
  uint64_t free_pages_ = 0;
};

}  // namespace selftest
