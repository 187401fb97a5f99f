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

TEST_F(Gate, MemoryOfOneUserIsBoundedOverAllHisSessions) {
  ASSERT_EQ(WriteFile(std::string(kParameters) + "unprivileged", "Y"), 0);
  EXPECT_EQ(InChild([] {
              BecomeNobody();
              const rlimit none{0, 0};
              setrlimit(RLIMIT_MEMLOCK, &none);
              Profiler first, second;
              // 32 MiB are granted, of which this takes 20.
              npuprof_add_ring ring = SampleRing(NPUPROF_CORE_CUBE, 0, 1000 * kMs, 1u << 17, {0x416});
              ring.slots = 1u << 17;
              if (first.Add(ring) != 1) return 1;
              ring.core = 1;
              ring.slots = 1u << 17;
              uint64_t taken = (uint64_t{1} << 17) * sizeof(npuprof_rec_core_sample);
              while (second.Add(ring) > 0) {
                taken += uint64_t{ring.slots} * sizeof(npuprof_rec_core_sample);
                if (++ring.core == 24) return 2;
              }
              if (taken > uint64_t{32} << 20) return 3;
              if (second.Add(ring) != -ENOMEM) return 4;
              first.Close();
              return second.Add(ring) > 0 ? 0 : 5;  // what was closed is there again
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
