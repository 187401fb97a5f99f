// SPDX-License-Identifier: Apache-2.0
// Rules for ioctl interfaces that others learned the hard way (Documentation/process/botching-up-ioctls.rst), each
// as a test. Those about sizes, flags and ranges hold on every backend and are in tests/conformance.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "port.h"
#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

#if defined(__x86_64__)
// The system call of a 32-bit program, from a 64-bit one: the same kernel entry, and so compat_ioctl.
int Ioctl32(int fd, unsigned long request, void* argument) {
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(54), "b"(fd), "c"(static_cast<uint32_t>(request)),
                 "d"(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(argument)))
               : "memory", "r8", "r9", "r10", "r11");
  return static_cast<int>(result);
}

TEST(Rule, ThirtyTwoBitProgramsUseTheSameStructures) {
  void* low = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  ASSERT_NE(low, MAP_FAILED);
  if (InChild([] { return Ioctl32(-1, 0, nullptr) == -EBADF ? 0 : 1; }) != 0)
    GTEST_SKIP() << "this kernel runs no 32-bit programs (CONFIG_IA32_EMULATION)";
  Profiler profiler;
  const npuprof_query wide = profiler.Query();
  auto* query = static_cast<npuprof_query*>(low);
  *query = {};
  query->size = sizeof *query;
  ASSERT_EQ(Ioctl32(profiler.handle(), NPUPROF_IOC_QUERY, query), 0);
  EXPECT_EQ(std::memcmp(query, &wide, sizeof wide), 0);
  auto* add = static_cast<npuprof_add_ring*>(low);
  *add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  ASSERT_EQ(Ioctl32(profiler.handle(), NPUPROF_IOC_ADD_RING, add), 0);
  EXPECT_EQ(add->ring, 1u);
  EXPECT_EQ(add->record_size, sizeof(npuprof_rec_task_log));
  auto* control = static_cast<npuprof_control*>(low);
  for (unsigned long request : {NPUPROF_IOC_START, NPUPROF_IOC_FLUSH, NPUPROF_IOC_STOP}) {
    *control = {};
    control->size = sizeof *control;
    EXPECT_EQ(Ioctl32(profiler.handle(), request, control), 0) << std::hex << request;
    EXPECT_GT(control->monotonic_raw_ns, 0u);
  }
  munmap(low, kPage);
}
#endif

TEST(Rule, BadPointersAreFaultsAndNothingElse) {
  Profiler profiler;
  ASSERT_GT(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 0);
  char* pages = static_cast<char*>(
      mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  munmap(pages + kPage, kPage);
  // A structure whose end is not there, although its size is.
  auto* straddling = reinterpret_cast<npuprof_query*>(pages + kPage - 8);
  straddling->size = sizeof(npuprof_query);
  straddling->flags = 0;
  void* const bad[] = {nullptr,
                       reinterpret_cast<void*>(1),
                       reinterpret_cast<void*>(~uintptr_t{0} - 7),
                       reinterpret_cast<void*>(uintptr_t{0xffff888000000000}),
                       reinterpret_cast<void*>(uintptr_t{0x0000800000000000}),
                       pages + kPage,
                       pages + kPage - 2,
                       straddling};
  for (unsigned long request : kRequests) {
    for (void* pointer : bad)
      EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(), request, pointer), -EFAULT)
          << std::hex << request << " " << pointer;
  }
  // What the caller cannot be given back.
  auto* stats = reinterpret_cast<npuprof_stats*>(pages + 2 * kPage);
  stats->size = sizeof *stats;
  ASSERT_EQ(mprotect(pages + 2 * kPage, kPage, PROT_READ), 0);
  EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(), NPUPROF_IOC_STATS, stats), -EFAULT);
  profiler.Start();
  profiler.Stop();
  munmap(pages, 3 * kPage);
}

TEST(Rule, AnAnswerThatCannotBeGivenLeavesAUsableSession) {
  Profiler profiler;
  auto* page = static_cast<npuprof_add_ring*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  *page = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  ASSERT_EQ(mprotect(page, kPage, PROT_READ), 0);
  EXPECT_EQ(Backend::Get().Ioctl(profiler.handle(), NPUPROF_IOC_ADD_RING, page), -EFAULT);
  munmap(page, kPage);
  // The ring is there all the same or is not: either way the session goes on.
  const int again = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  EXPECT_TRUE(again == 1 || again == -EBUSY) << again;
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_START), 0);
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_STOP), 0);
}

// Checked once and used twice would be read beyond what was copied.
TEST(Rule, TheCallersMemoryIsReadOnce) {
  Profiler profiler;
  struct {
    uint32_t size;
    uint32_t flags;
    char rest[4088];
  } shared{};
  std::atomic<bool> stop{false};
  std::thread flipper([&] {
    uint32_t k = 0;
    while (!stop) {
      __atomic_store_n(&shared.size, ++k % 3 == 0 ? 4096u : k % 3 == 1 ? 128u : 0u, __ATOMIC_RELAXED);
      __atomic_store_n(&shared.flags, k & 1, __ATOMIC_RELAXED);
    }
  });
  std::set<int> results;
  for (int k = 0; k < 20'000; ++k)
    results.insert(Backend::Get().Ioctl(profiler.handle(), NPUPROF_IOC_QUERY, &shared));
  stop = true;
  flipper.join();
  for (int result : results) EXPECT_TRUE(result == 0 || result == -EINVAL || result == -E2BIG) << result;
  EXPECT_TRUE(results.contains(-EINVAL));
}

std::atomic<int> alarms;

TEST(Rule, WaitingRequestsCanBeInterruptedAndTakenUpAgain) {
  Port port;
  Profiler profiler;
  const int log = profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  const uint64_t before = port.Totals().started;
  port.SubmitLong(1000);
  ASSERT_TRUE(port.WaitStarted(before + 1));
  struct sigaction action {};
  action.sa_handler = [](int) { ++alarms; };  // without SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  alarms = 0;
  itimerval timer{{0, 20'000}, {0, 20'000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  int interrupted = 0, result;
  npuprof_control control;
  do {
    control = {};
    control.flags = NPUPROF_STOP_WAIT;
    control.timeout_ns = 30 * kSecond;
    result = profiler.Call(NPUPROF_IOC_STOP, &control);
    interrupted += result == -EINTR;
  } while (result == -EINTR);
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  EXPECT_EQ(result, 0);
  EXPECT_GT(alarms.load(), 0);
  EXPECT_GT(interrupted, 0);
  EXPECT_EQ(control.straddling, 1u);
  EXPECT_EQ(profiler.Head(log), 2u);  // it waited for the end in spite of all
  EXPECT_EQ(profiler.Control(NPUPROF_IOC_STOP), -EINVAL);
  ASSERT_TRUE(port.Drain());
}

TEST(Rule, AnInterruptedTimeoutIsNotBegunAnew) {
  Port port;
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  const uint64_t before = port.Totals().started;
  port.SubmitLong(60'000);
  ASSERT_TRUE(port.WaitStarted(before + 1));
  struct sigaction action {};
  action.sa_handler = [](int) { ++alarms; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  // More often than the timeout is long: a timeout that began anew each time would never end.
  itimerval timer{{0, 50'000}, {0, 50'000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  alarms = 0;
  npuprof_control control{};
  control.flags = NPUPROF_STOP_WAIT;
  control.timeout_ns = 400 * kMs;
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_STOP, &control), 0);
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  EXPECT_GT(alarms.load(), 0);
  EXPECT_EQ(control.straddling, 1u);
  EXPECT_EQ(profiler.Stats().tasks_ended, 0u);
  EXPECT_EQ(ResetDevice(0), 0);  // nobody waits for its end
}

TEST(Rule, ConstantSignalsChangeNoAnswer) {
  Port port;
  struct sigaction action {};
  action.sa_handler = [](int) { ++alarms; };  // without SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  alarms = 0;
  // Where everything takes longer, a signal each millisecond would leave no time for anything else.
  const int every = Patience() == 1 ? 1000 : 4000 * Patience();
  itimerval timer{{0, every}, {0, every}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  for (int round = 0; round < Rounds(20, 4) || alarms.load() <= 20; ++round) {
    Profiler profiler;
    profiler.Query();
    ASSERT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 1u << 15)), 1) << round;
    ASSERT_EQ(profiler.Add(PmuRing(1u << 15, round % 2 ? uint32_t{NPUPROF_RING_OVERWRITE} : 0)), 2) << round;
    profiler.Start();
    port.Submit(5);
    ASSERT_TRUE(port.Drain());
    npuprof_clock clock{};
    EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), 0) << round;
    profiler.Flush();
    if (round % 2) {
      EXPECT_EQ(profiler.Control(NPUPROF_IOC_FREEZE), 0) << round;
    }
    npuprof_control control;
    int result;
    do {  // of all requests, the one that waits
      control = {};
      control.flags = NPUPROF_STOP_WAIT;
      control.timeout_ns = 60 * kSecond;
      result = profiler.Call(NPUPROF_IOC_STOP, &control);
    } while (result == -EINTR);
    EXPECT_EQ(result, 0) << round;
    EXPECT_EQ(profiler.Head(1), 10u) << round;
    EXPECT_EQ(profiler.Head(2), 5u) << round;
    profiler.Stats();
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  EXPECT_GT(alarms.load(), 20);
}

TEST(Rule, AKilledWaiterLeavesNothing) {
  Port port;
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    Profiler profiler;
    profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
    profiler.Start();
    if (write(ready[1], "x", 1) < 0) _exit(1);
    while (profiler.Head(1) == 0) usleep(1000);
    profiler.Stop(600 * kSecond);
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  port.SubmitLong(600'000);
  usleep(500'000);  // it waits in STOP by now; if not, it is killed a little earlier
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  Profiler profiler;
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  EXPECT_EQ(ResetDevice(0), 0);
}

TEST(Rule, TimesAreThoseOfMonotonicRaw) {
  Profiler profiler;
  for (int k = 0; k < 100; ++k) {
    timespec before, after;
    npuprof_clock clock{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &before);
    ASSERT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), 0);
    clock_gettime(CLOCK_MONOTONIC_RAW, &after);
    ASSERT_LE(static_cast<uint64_t>(before.tv_sec) * kSecond + static_cast<uint64_t>(before.tv_nsec),
              clock.host_before_ns);
    ASSERT_GE(static_cast<uint64_t>(after.tv_sec) * kSecond + static_cast<uint64_t>(after.tv_nsec),
              clock.host_after_ns);
  }
}

TEST(Rule, RefusedRequestsLeaveNoMemoryBehind) {
  BoundedMemory bounded;
  Profiler profiler;
  ASSERT_EQ(profiler.Add(PmuRing(64)), 1);
  npuprof_add_ring block = BlockRing(NPUPROF_CORE_CUBE, 0, 1u << 15);  // six megabytes
  block.cube_events[0] = 0x8;
  // Refused late, when much is done already: were it kept, the user's bound would be reached long before the end.
  for (int k = 0; k < 500; ++k) ASSERT_EQ(profiler.Add(block), -ENOSPC) << k;
  block.cube_events[0] = 0x416;
  EXPECT_EQ(profiler.Add(block), 2);
}

TEST(Rule, EverySessionsMemoryComesBack) {
  BoundedMemory bounded;
  for (int k = 0; k < Rounds(300); ++k) {
    Profiler profiler;
    ASSERT_EQ(profiler.Add(PmuRing(1u << 15)), 1) << k;
    if (k % 3 == 0) profiler.Map();
    if (k % 5 == 0) {
      ASSERT_EQ(profiler.Control(NPUPROF_IOC_START), 0) << k;
    }
  }
}

// A shared mapping of a file that is not open for writing was taken for a private one.
TEST(Rule, AFileOpenForReadingMayLookAndNoMore) {
  const int fd = open("/dev/npuprof0", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  Backend& backend = Backend::Get();
  npuprof_query query{};
  query.size = sizeof query;
  EXPECT_EQ(backend.Ioctl(fd, NPUPROF_IOC_QUERY, &query), 0);
  npuprof_stats stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(backend.Ioctl(fd, NPUPROF_IOC_STATS, &stats), 0);
  npuprof_clock clock{};
  clock.size = sizeof clock;
  EXPECT_EQ(backend.Ioctl(fd, NPUPROF_IOC_CLOCK, &clock), 0);
  // Rings that nobody can move the tails of would only fill.
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  EXPECT_EQ(backend.Ioctl(fd, NPUPROF_IOC_ADD_RING, &add), -EBADF);
  npuprof_control control{};
  control.size = sizeof control;
  EXPECT_EQ(backend.Ioctl(fd, NPUPROF_IOC_START, &control), -EBADF);
  void* address = nullptr;
  ASSERT_EQ(backend.Map(fd, NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &address), 0);
  EXPECT_EQ(static_cast<const npuprof_ring_ctrl*>(address)->record_size, sizeof(npuprof_rec_event));
  EXPECT_NE(mprotect(address, kPage, PROT_READ | PROT_WRITE), 0);
  munmap(address, kPage);
  EXPECT_EQ(backend.Map(fd, NPUPROF_MMAP_TAILS, kPage, PROT_READ | PROT_WRITE, &address), -EACCES);
  ASSERT_EQ(backend.Map(fd, NPUPROF_MMAP_TAILS, kPage, PROT_READ, &address), 0);
  EXPECT_NE(mprotect(address, kPage, PROT_READ | PROT_WRITE), 0);
  munmap(address, kPage);
  EXPECT_EQ(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(NPUPROF_MMAP_CONTROL)),
            MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
  close(fd);
}

TEST(Rule, AFileOpenForWritingAloneHoldsNoRings) {
  const int fd = open("/dev/npuprof0", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  EXPECT_EQ(Backend::Get().Ioctl(fd, NPUPROF_IOC_ADD_RING, &add), -EBADF);
  close(fd);
}

// Requests that touch no register are served without waking the device, and so cannot fail with its power.
TEST(Rule, AddingRingsAndAskingForStatisticsWakesNoDevice) {
  const std::string power = "/sys/bus/pci/devices/" + PciAddress(0) + "/power/";
  const std::string before = ReadFile(power + "control");
  Profiler profiler;
  ASSERT_EQ(WriteFile(power + "control", "auto"), 0);
  const auto wait_asleep = [&] {
    for (int k = 0; k < 500 && ReadFile(power + "runtime_status") != "suspended"; ++k) usleep(10'000);
    return ReadFile(power + "runtime_status");
  };
  const auto awake = [&] { return std::stoull(ReadFile(power + "runtime_active_time")); };
  EXPECT_EQ(wait_asleep(), "suspended");
  const uint64_t slept = awake();
  EXPECT_EQ(profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  profiler.Stats();
  profiler.Query();
  EXPECT_EQ(wait_asleep(), "suspended");
  EXPECT_EQ(awake(), slept);
  // What does touch one shows that the file tells: coming out of D3 takes its time.
  npuprof_clock clock{};
  EXPECT_EQ(profiler.Call(NPUPROF_IOC_CLOCK, &clock), 0);
  EXPECT_EQ(wait_asleep(), "suspended");
  EXPECT_GT(awake(), slept);
  EXPECT_EQ(WriteFile(power + "control", before), 0);
}

TEST(Rule, AskingIsOpenToAllStatesAndChangesNone) {
  Profiler profiler;
  profiler.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64));
  profiler.Start();
  const uint32_t state = profiler.Ctrl(1).state;
  for (int k = 0; k < 100; ++k) {
    profiler.Query();
    profiler.Stats();
  }
  EXPECT_EQ(profiler.Ctrl(1).state, state);
  profiler.Stop();
}

}  // namespace
}  // namespace selftest
