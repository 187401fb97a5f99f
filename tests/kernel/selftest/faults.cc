// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>

#include "port.h"
#include "selftest.h"

namespace selftest {

using namespace conformance;

namespace {

constexpr const char* kFailNth = "/proc/thread-self/fail-nth";
constexpr const char* kMlock = "/sys/module/npuprof/parameters/mlock_kb";
constexpr const char* kLevels = "/proc/sys/kernel/printk";
constexpr const char* kClaims = "/sys/kernel/debug/npuprof/0/claims";

// Pages of ring memory that this user may still have, to the page.
uint64_t FreePages() {
  BoundedMemory bounded;
  Profiler probe;
  uint64_t pages = 0;
  uint16_t core = 0;
  for (uint32_t slots = 1u << 15; slots >= NPUPROF_MIN_SLOTS; slots /= 2) {
    while (core < 48 && probe.Add(SampleRing(NPUPROF_CORE_VECTOR, core, 1000 * kMs, slots, {0x8})) > 0) {
      pages += (slots * sizeof(npuprof_rec_core_sample) + kPage - 1) / kPage;
      ++core;
    }
  }
  EXPECT_LT(core, 48) << "the bound was not reached";
  return pages;
}

}  // namespace

Injection::Injection() : fd_(open(kFailNth, O_RDWR | O_CLOEXEC)) {
  // Those that may sleep too, and single pages; and without a stack for each on the console.
  for (const auto& [name, value] : {std::pair{"failslab/ignore-gfp-wait", "N"},
                                    {"failslab/verbose", "0"},
                                    {"fail_page_alloc/ignore-gfp-wait", "N"},
                                    {"fail_page_alloc/ignore-gfp-highmem", "N"},
                                    {"fail_page_alloc/min-order", "0"},
                                    {"fail_page_alloc/verbose", "0"}})
    EXPECT_EQ(WriteFile(std::string("/sys/kernel/debug/") + name, value), 0) << name;
}

Injection::~Injection() {
  close(fd_);
}

bool Injection::Available() {
  return access(kFailNth, W_OK) == 0;
}

bool Injection::Arm(int n) const {
  char text[16];
  const int length = std::snprintf(text, sizeof text, "%d", n);
  return pwrite(fd_, text, static_cast<size_t>(length), 0) == length;
}

int Injection::Disarm() const {
  char text[16] = {};
  EXPECT_GT(pread(fd_, text, sizeof text - 1, 0), 0);
  EXPECT_TRUE(Arm(0));
  return std::atoi(text);
}

QuietConsole::QuietConsole()
    : fd_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)), levels_(ReadFile(kLevels)) {
  EXPECT_GE(fd_, 0);
  lseek(fd_, 0, SEEK_END);
  EXPECT_EQ(WriteFile(kLevels, "4"), 0);
}

QuietConsole::~QuietConsole() {
  WriteFile(kLevels, levels_);
  close(fd_);
}

void QuietConsole::Collect() {
  char record[8192];
  for (;;) {
    const ssize_t got = read(fd_, record, sizeof record);
    if (got < 0 && errno == EPIPE) continue;  // overwritten: goes on with the oldest there is
    if (got <= 0) return;
    const std::string text(record, static_cast<size_t>(got));
    for (const char* sign : {"WARNING: ", "BUG: ", "INFO: ", "cut here"})
      if (text.find(sign) != std::string::npos) more_ = 40;
    if (more_ > 0) report_ += text.substr(text.find(';') + 1);
    if (more_ > 0 && --more_ == 0) Judge();
  }
}

void QuietConsole::Judge() {
  // Whatever fails, the leak detector's list of stacks has to grow at times, for which it asks for memory under its own raw lock.
  const size_t lock = report_.find("(&object->lock)");
  const bool own = report_.find("[ BUG: Invalid wait context ]") != std::string::npos &&
                   lock != std::string::npos &&
                   report_.substr(lock, 100).find("at: kmemleak_update_trace+") != std::string::npos;
  if (!own) complaints_ += report_;
  report_.clear();
}

const std::string& QuietConsole::complaints() {
  Judge();
  return complaints_;
}

void Faults::SetUp() {
  if (!Injection::Available()) GTEST_SKIP() << "this kernel cannot inject faults (CONFIG_FAULT_INJECTION)";
  Backend::Get();  // looks for devices, which is for now
  injection_.emplace();
  console_.emplace();
  mlock_ = ReadFile(kMlock);
  ASSERT_EQ(WriteFile(kMlock, "8192"), 0);
  getrlimit(RLIMIT_MEMLOCK, &memlock_);
  const rlimit none{0, memlock_.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  free_pages_ = FreePages();
  {
    Profiler held;
    ASSERT_EQ(held.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, NPUPROF_MIN_SLOTS)), 1);
    EXPECT_LT(FreePages(), free_pages_) << "what is taken is not seen";
  }
  claims_ = ReadFile(kClaims);
  ASSERT_NE(claims_, "");
}

void Faults::TearDown() {
  if (!injection_) return;
  // Memory is granted by device, and a debug kernel puts off the last step of one that went.
  for (int tries = 0; FreePages() != free_pages_ && tries < 30; ++tries) sleep(1);
  EXPECT_EQ(FreePages(), free_pages_) << "ring memory is still charged";
  EXPECT_EQ(ReadFile(kClaims), claims_);
  setrlimit(RLIMIT_MEMLOCK, &memlock_);
  WriteFile(kMlock, mlock_);
  console_->Collect();
  EXPECT_EQ(console_->complaints(), "");
}

int Faults::Each(const std::function<void()>& prepare, const std::function<int()>& call,
                 const std::function<void(int result)>& judge, int first,
                 const std::function<int(int n)>& next) {
  std::map<int, int> results;
  int failures = 0;
  for (int n = first; n < 10'000; n = next(n)) {
    prepare();
    if (HasFatalFailure()) return 0;
    if (!injection_->Arm(n)) ADD_FAILURE() << "fail-nth cannot be written";
    const int result = call();
    const bool failed = injection_->Disarm() == 0;
    EXPECT_TRUE(result == 0 || (failed && (result == -ENOMEM || errors_.contains(result))))
        << "allocation " << n << (failed ? " failed: " : " did not exist: ") << result;
    judge(result);
    console_->Collect();
    if (HasFailure()) {
      ADD_FAILURE() << "at allocation " << n;
      return 0;
    }
    if (!failed) {
      std::printf("%d allocations", n - 1);
      for (const auto& [error, times] : results) std::printf(", %d times %d", times, error);
      std::printf("\n");
      return failures;
    }
    ++results[result];
    failures += result != 0;
  }
  ADD_FAILURE() << "there is no end to it";
  return 0;
}

int Faults::Allocations(const std::function<int()>& call) {
  constexpr int kMany = 1'000'000;
  EXPECT_TRUE(injection_->Arm(kMany));
  EXPECT_EQ(call(), 0);
  return kMany - injection_->Disarm();
}

void Faults::ExpectUsable() {
  Port port;
  Profiler profiler;
  ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Start();
  port.Submit(5);
  ASSERT_TRUE(port.Drain());
  profiler.Stop();
  EXPECT_EQ(profiler.Head(1), 10u);
}

}  // namespace selftest
