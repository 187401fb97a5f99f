// SPDX-License-Identifier: Apache-2.0
// Who may profile: the credentials of whoever opened the file decide, whoever uses it.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "profiler.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr const char* kParameters = "/sys/module/npuprof/parameters/";
constexpr uid_t kNobody = 65534;

// What each gated and each free request answers on a file.
struct Answers {
  int query = 0, add = 0, start = 0, map = 0, stats = 0, clock = 0;
};

Answers AskAll(int fd) {
  Answers answers;
  npuprof_query query{};
  query.size = sizeof query;
  answers.query = Backend::Get().Ioctl(fd, NPUPROF_IOC_QUERY, &query);
  npuprof_add_ring add = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
  answers.add = Backend::Get().Ioctl(fd, NPUPROF_IOC_ADD_RING, &add);
  void* address = nullptr;
  answers.map = Backend::Get().Map(fd, NPUPROF_MMAP_CONTROL, kPage, PROT_READ, &address);
  if (answers.map == 0) munmap(address, kPage);
  npuprof_control control{};
  control.size = sizeof control;
  answers.start = Backend::Get().Ioctl(fd, NPUPROF_IOC_START, &control);
  npuprof_stats stats{};
  stats.size = sizeof stats;
  answers.stats = Backend::Get().Ioctl(fd, NPUPROF_IOC_STATS, &stats);
  npuprof_clock clock{};
  clock.size = sizeof clock;
  answers.clock = Backend::Get().Ioctl(fd, NPUPROF_IOC_CLOCK, &clock);
  return answers;
}

// 0: all granted; 1: asking is granted, profiling is not; else a mix that must not be.
int Verdict(const Answers& a) {
  if (a.query != 0 || a.stats != 0 || a.clock != 0) return 2;
  if (a.add == 0 && a.start == 0 && a.map == 0) return 0;
  return a.add == -EPERM && a.start == -EPERM && a.map == -EPERM ? 1 : 3;
}

void BecomeNobody() {
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0)
    _exit(99);
}

// Keeps the capabilities in @p kept of root alone.
void KeepOnly(std::initializer_list<int> kept) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int capability : kept) {
    data[capability / 32].effective |= 1u << capability % 32;
    data[capability / 32].permitted |= 1u << capability % 32;
  }
  if (syscall(SYS_capset, &head, data) != 0) _exit(98);
}

int OpenAndAsk() {
  const int fd = Backend::Get().Open(0);
  if (fd < 0) return 97;
  return Verdict(AskAll(fd));
}

struct Gate : testing::Test {
  void SetUp() override { ASSERT_EQ(chmod("/dev/npuprof0", 0666), 0); }
  void TearDown() override {
    chmod("/dev/npuprof0", 0600);
    WriteFile(std::string(kParameters) + "unprivileged", "N");
  }
};

TEST_F(Gate, RootMayProfile) {
  EXPECT_EQ(InChild(OpenAndAsk), 0);
}

TEST_F(Gate, NobodyMayAskAndNoMore) {
  EXPECT_EQ(InChild([] {
              BecomeNobody();
              return OpenAndAsk();
            }),
            1);
}

TEST_F(Gate, TheNodesModeComesFirst) {
  ASSERT_EQ(chmod("/dev/npuprof0", 0600), 0);
  EXPECT_EQ(InChild([] {
              BecomeNobody();
              return Backend::Get().Open(0) == -EACCES ? 0 : 1;
            }),
            0);
}

TEST_F(Gate, TheCapabilityForPerformanceMonitoringSuffices) {
  EXPECT_EQ(InChild([] {
              KeepOnly({CAP_PERFMON});
              return OpenAndAsk();
            }),
            0);
}

TEST_F(Gate, RootWithoutTheCapabilityIsNobody) {
  EXPECT_EQ(InChild([] {
              KeepOnly({CAP_IPC_LOCK, CAP_DAC_OVERRIDE, CAP_SYS_RAWIO});
              return OpenAndAsk();
            }),
            1);
}

TEST_F(Gate, TheModuleParameterOpensIt) {
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "Y"), 0);
  const auto ask = [] {
    BecomeNobody();
    return OpenAndAsk();
  };
  EXPECT_EQ(InChild(ask), 0);
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "N"), 0);
  EXPECT_EQ(InChild(ask), 1);
}

TEST_F(Gate, OpenedByRootAndUsedByNobodyIsGranted) {
  EXPECT_EQ(InChild([] {
              const int fd = Backend::Get().Open(0);
              BecomeNobody();
              return Verdict(AskAll(fd));
            }),
            0);
}

TEST_F(Gate, OpenedByNobodyAndHandedToRootIsRefused) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const pid_t child = fork();
  if (child == 0) {
    BecomeNobody();
    const int fd = Backend::Get().Open(0);
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (fd < 0 || sendmsg(sockets[0], &message, 0) != 1) _exit(1);
    // The session is this process's: it has to live for as long as somebody asks.
    _exit(read(sockets[0], &byte, 1) == 1 ? 0 : 2);
  }
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ASSERT_EQ(recvmsg(sockets[1], &message, MSG_CMSG_CLOEXEC), 1);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  ASSERT_NE(header, nullptr);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  EXPECT_EQ(Verdict(AskAll(fd)), 1);
  ASSERT_EQ(write(sockets[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(fd);
  close(sockets[0]);
  close(sockets[1]);
}

TEST_F(Gate, RootOfAUserNamespaceIsNobodyHere) {
  const int result = InChild([] {
    BecomeNobody();
    if (unshare(CLONE_NEWUSER) != 0) return 50;
    return OpenAndAsk();
  });
  if (result == 50) GTEST_SKIP() << "this kernel grants no user namespaces";
  EXPECT_EQ(result, 1);
}

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The module's default of mlock_kb, which is per device.
constexpr uint64_t kGrantedPerDevice = 32 * kMiB;
// Control, tails and event ring, which each session has.
constexpr uint64_t kFixed = NPUPROF_MAX_RINGS * (sizeof(npuprof_ring_ctrl) + sizeof(npuprof_ring_tail)) +
                            1024 * sizeof(npuprof_rec_event);

npuprof_add_ring RingOf(uint16_t core, uint32_t slots) {
  return SampleRing(NPUPROF_CORE_CUBE, core, 1000 * kMs, slots, {0x416});
}

uint64_t Bytes(uint32_t slots) {
  return uint64_t{slots} * sizeof(npuprof_rec_core_sample);
}

void LimitLockedMemory(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) _exit(96);
}

uint64_t Granted() {
  return kGrantedPerDevice * Backend::Get().devices();
}

TEST_F(Gate, MemoryOfOneUserIsBoundedOverAllHisSessions) {
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "Y"), 0);
  EXPECT_EQ(InChild([] {
              LimitLockedMemory(0);
              BecomeNobody();
              Profiler first, second;
              constexpr uint32_t kLarge = 1u << 16, kSmall = 1u << 13;
              if (first.Add(RingOf(0, kLarge)) != 1) return 1;
              uint64_t taken = Bytes(kLarge) + 2 * kFixed;
              uint16_t core = 1;
              uint32_t slots = kLarge;
              int result = 0;
              // Large ones as long as they fit, then small ones, to come close.
              for (; core < 24; ++core) {
                result = second.Add(RingOf(core, slots));
                if (result > 0) {
                  taken += Bytes(slots);
                } else if (slots == kLarge) {
                  slots = kSmall;
                } else {
                  break;
                }
              }
              if (core == 24) return 2;
              if (result != -ENOMEM) return 3;
              if (taken > Granted()) return 4;
              if (taken + Bytes(kSmall) + kPage <= Granted()) return 5;  // refused although there was room
              first.Close();
              return second.Add(RingOf(core, kSmall)) > 0 ? 0 : 6;  // what was closed is there again
            }),
            0);
}

// How much memory in small rings one session gets.
uint64_t TakeAll(uint64_t enough) {
  Profiler profiler;
  constexpr uint32_t kLarge = 1u << 16, kSmall = 1u << 13;
  uint64_t taken = kFixed;
  uint32_t slots = kLarge;
  for (uint16_t core = 0; core < 24 && taken < enough; ++core) {
    if (profiler.Add(RingOf(core, slots)) > 0)
      taken += Bytes(slots);
    else if (slots == kLarge)
      slots = kSmall;
    else
      break;
  }
  return taken;
}

TEST_F(Gate, MemoryGrowsWithTheLimitOnLockedMemory) {
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "Y"), 0);
  for (const uint64_t extra : {uint64_t{0}, 16 * kMiB}) {
    EXPECT_EQ(InChild([extra] {
                LimitLockedMemory(extra);
                BecomeNobody();
                const uint64_t taken = TakeAll(UINT64_MAX);
                if (taken > Granted() + extra) return 1;
                return taken + 2 * kMiB > Granted() + extra ? 0 : 2;
              }),
              0)
        << extra;
  }
}

TEST_F(Gate, MemoryIsUnboundedForWhoMayLockIt) {
  EXPECT_EQ(InChild([] {
              LimitLockedMemory(0);
              KeepOnly({CAP_PERFMON, CAP_IPC_LOCK});
              return TakeAll(Granted() + 32 * kMiB) >= Granted() + 32 * kMiB ? 0 : 1;
            }),
            0);
  EXPECT_EQ(InChild([] {
              LimitLockedMemory(0);
              KeepOnly({CAP_PERFMON});
              return TakeAll(Granted() + 32 * kMiB) <= Granted() ? 0 : 1;
            }),
            0);
}

npuprof_add_ring BeyondTheLimit() {
  npuprof_add_ring ring = SampleRing(NPUPROF_CORE_CUBE, 0, 1000 * kMs, 1u << 20, {0x416});
  static_assert((uint64_t{1} << 20) * sizeof(npuprof_rec_core_sample) > 90 * kMiB);  // 32 per device
  return ring;
}

TEST_F(Gate, MemoryBeyondTheLimitIsForWhoWasOpenedByTheCapability) {
  EXPECT_EQ(InChild([] {
              const rlimit none{0, 0};
              setrlimit(RLIMIT_MEMLOCK, &none);
              Profiler profiler;
              BecomeNobody();
              return profiler.Add(BeyondTheLimit()) == 1 ? 0 : 1;
            }),
            0);
}

// The limit was one for all devices together, and a second device's session did not fit.
TEST_F(Gate, AUserMayProfileTwoDevicesWithDefaultSessions) {
  ASSERT_GE(Backend::Get().devices(), 2u);
  ASSERT_EQ(chmod("/dev/npuprof1", 0666), 0);
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "Y"), 0);
  EXPECT_EQ(
      InChild([] {
        LimitLockedMemory(8 * kMiB);  // what a login gets
        BecomeNobody();
        Profiler first(0), second(1);
        constexpr uint32_t kSlots[] = {1u << 18, 1u << 14, 1u << 13};
        static_assert((kSlots[0] + kSlots[1] + kSlots[2]) * sizeof(npuprof_rec_core_sample) > 26 * kMiB);
        for (Profiler* profiler : {&first, &second})
          for (uint16_t core = 0; core < 3; ++core)
            if (profiler->Add(RingOf(core, kSlots[core])) <= 0) return 1;
        return 0;
      }),
      0);
  chmod("/dev/npuprof1", 0600);
}

TEST_F(Gate, MemoryBeyondTheLimitIsNotForWhoGotTheCapabilityLater) {
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "Y"), 0);
  EXPECT_EQ(InChild([] {
              const rlimit none{0, 0}, all{RLIM_INFINITY, RLIM_INFINITY};
              setrlimit(RLIMIT_MEMLOCK, &none);
              if (setresuid(kNobody, kNobody, 0) != 0) return 99;
              Profiler profiler;
              if (setresuid(0, 0, 0) != 0) return 98;
              setrlimit(RLIMIT_MEMLOCK, &all);
              return profiler.Add(BeyondTheLimit()) == -ENOMEM ? 0 : 1;
            }),
            0);
}

TEST_F(Gate, AnOwnerIsNamedAsTheCallersNamespaceNumbersIt) {
  Profiler owner;
  ASSERT_EQ(owner.Add(DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64)), 1);
  const auto ask = [] {
    Profiler profiler;
    npuprof_add_ring ring = DeviceRing(NPUPROF_CHANNEL_TASK_LOG, 64);
    if (profiler.Call(NPUPROF_IOC_ADD_RING, &ring) != -EBUSY) return -1;
    return static_cast<int>(ring.owner_pid);
  };
  EXPECT_EQ(InChild([&] { return ask() == getppid() ? 0 : 1; }), 0);
  // Inside a namespace of its own the owner has no number.
  const int hidden = InChild([&] {
    if (unshare(CLONE_NEWPID) != 0) return 50;
    return InChild([&] { return ask() == 0 ? 0 : 1; });
  });
  if (hidden == 50) GTEST_SKIP() << "this kernel grants no PID namespaces";
  EXPECT_EQ(hidden, 0);
}

}  // namespace
}  // namespace selftest
