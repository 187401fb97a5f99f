// SPDX-License-Identifier: Apache-2.0
// The drain as a guest in somebody else's process: threads, signals, forks, sudden death, forbidden system
// calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "drain/fork_guard.h"
#include "support.h"

namespace npuprof::drain {
namespace {

struct Threads {
  size_t own = 0;      // of the program and the drain
  size_t workers = 0;  // the kernel's, for io_uring
};

// By the kernel's flags: a worker bears the name of the thread it serves until it has run for the first time, and one
// that ends is listed for a moment more.
Threads CountThreads() {
  constexpr unsigned long kExiting = 0x4, kIoWorker = 0x10;
  Threads threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string stat = ReadFile(task.path() / "stat");
    const size_t name_end = stat.rfind(')');
    unsigned long flags = 0;
    if (name_end == std::string::npos ||
        std::sscanf(stat.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
      continue;  // gone meanwhile
    if (flags & kExiting) continue;
    ++(flags & kIoWorker ? threads.workers : threads.own);
  }
  return threads;
}

int ExitStatus(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class ProcessTest : public testing::TestWithParam<Options::Choice> {
 protected:
  Options Wanted() {
    Options options;
    options.path = GetParam();
    return options;
  }
  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(All, ProcessTest,
                         testing::Values(Options::Choice::kUring, Options::Choice::kDirect,
                                         Options::Choice::kPwritev),
                         [](const auto& param) { return PathLabel(param.param); });

TEST_P(ProcessTest, BringsOneThreadAndOneThatWaitsForTheDiskAndTwoKernelWorkers) {
  const Threads before = CountThreads();
  Drain drain;
  auto collection = drain.Open(Wanted(), nullptr, nullptr);
  for (unsigned i = 0; i < 8; ++i) {
    collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir_.path(), fmt::format("f{}", i), 128),
                                             MakeRecords(128, 50'000)));
  }
  Threads most;
  const auto count = [&] {
    const Threads now = CountThreads();
    most.own = std::max(most.own, now.own);
    most.workers = std::max(most.workers, now.workers);
  };
  std::atomic<bool> over{false};
  std::thread watcher([&] {
    while (!over) count();
  });
  EXPECT_TRUE(collection->Finish(seconds(60)).ok());
  over = true;
  watcher.join();
  EXPECT_LE(most.workers, before.workers + (GetParam() == Options::Choice::kPwritev ? 0u : 2u));
  EXPECT_LE(most.own, before.own + 3) << "the drain, one that waits for the disk, and this test's watcher";
  EXPECT_TRUE(Eventually([&] {
    const Threads now = CountThreads();
    return now.own == before.own && now.workers <= before.workers;
  })) << "all gone after Finish()";
}

TEST_P(ProcessTest, TakesNoSignal) {
  Drain drain;
  auto collection = drain.Open(Wanted(), nullptr, nullptr);
  std::string blocked;
  ASSERT_TRUE(collection
                  ->Run(
                      [&] {
                        const std::string status =
                            ReadFile(fmt::format("/proc/self/task/{}/status", gettid()));
                        blocked = status.substr(status.find("SigBlk:") + 8, 16);
                      },
                      seconds(20))
                  .ok());
  const uint64_t mask = std::stoull(blocked, nullptr, 16);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGPROF, SIGCHLD, SIGXFSZ, SIGRTMIN}) {
    EXPECT_TRUE((mask >> (signal - 1)) & 1) << signal;
  }
  ASSERT_TRUE(collection->Finish(seconds(20)).ok());
}

TEST_P(ProcessTest, ForkedChildRunsNothingAndCanExitOrProfileItself) {
  Drain& drain = Drain::Process();
  auto collection = drain.Open(Wanted(), nullptr, nullptr);
  auto file = MakeFile(*collection, dir_.path(), "parent", 64);
  const std::string data = MakeRecords(64, 400'000);
  auto feeder = std::make_shared<Feeder>(file, data, 500);
  collection->Add(feeder);
  const unsigned generation = ForkGeneration();
  // Fork many times while records flow, so that the copy is taken in every state.
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = CountThreads().own == 1 && ForkGeneration() == generation + 1;
      good = good && collection->Flush(seconds(1)).kind == ErrorKind::kForked;
      good = good && collection->Finish(seconds(1)).kind == ErrorKind::kForked;
      good = good && &Drain::Process() != &drain && !Drain::Process().running();
      for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const std::string target = std::filesystem::read_symlink(fd.path(), error);
        good = good && target.find(dir_.path()) == std::string::npos &&
               target.find("io_uring") == std::string::npos;
      }
      if (round % 10 == 0) {
        auto own = Drain::Process().Open(Wanted(), nullptr, nullptr);
        const std::string few = MakeRecords(64, 1000);
        own->Add(
            std::make_shared<Feeder>(MakeFile(*own, dir_.path(), fmt::format("child{}", round), 64), few));
        good = good && own->Finish(seconds(30)).ok();
        good = good && ReadSlices(fmt::format("{}/child{}", dir_.path(), round)) == few;
      }
      collection.reset();
      file.reset();
      feeder.reset();
      _exit(good ? 0 : 1);
    }
    ASSERT_EQ(ExitStatus(child), 0) << round;
  }
  ASSERT_TRUE(collection->Finish(seconds(60)).ok());
  EXPECT_TRUE(ReadSlices(dir_.path() + "/parent") == data) << "the children left the parent's files alone";
}

/// Yields one record per visit, numbered and stamped, and tells the parent about it through shared memory.
struct Shared {
  std::atomic<uint64_t> number[1 << 16];  // CLOCK_MONOTONIC ns at which record k was made
  std::atomic<uint32_t> count;
};

uint64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

class Ticker final : public Source {
 public:
  Ticker(std::shared_ptr<trace::RecordFile> file, Shared* shared) : file_(std::move(file)), shared_(shared) {}
  Progress Poll(const Pass&) override {
    const uint32_t k = shared_->count.load();
    if (k == std::size(shared_->number)) return {};
    shared_->number[k] = MonotonicNs();
    const std::string record = MakeRecords(40, 1, k + 1);
    if (file_->Append(record.data(), 1, nullptr) == 1) shared_->count.store(k + 1);
    return {};
  }
  std::chrono::nanoseconds Interval() const override { return milliseconds(1); }

 private:
  std::shared_ptr<trace::RecordFile> file_;
  Shared* shared_;
};

TEST_P(ProcessTest, KilledProcessLeavesEveryRecordOlderThanOneSecond) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = new (memory) Shared{};
  const pid_t child = fork();
  if (child == 0) {
    auto collection = Drain::Process().Open(Wanted(), nullptr, nullptr);
    collection->Add(std::make_shared<Ticker>(MakeFile(*collection, dir_.path(), "f", 40), shared));
    for (;;) pause();
  }
  ASSERT_TRUE(Eventually([&] { return shared->count > 10; }));
  std::this_thread::sleep_for(milliseconds(2500));
  const uint64_t killed = MonotonicNs();
  kill(child, SIGKILL);
  EXPECT_EQ(ExitStatus(child), 1000 + SIGKILL);
  const uint32_t made = shared->count;
  uint32_t old = 0;
  while (old < made && shared->number[old] + 1'000'000'000u <= killed) ++old;
  ASSERT_GT(old, 50u) << "too few old records to show anything";
  const std::string kept = ReadFile(dir_.path() + "/f.slice_0");
  ASSERT_GE(kept.size(), size_t{old} * 40);
  const std::string expected = MakeRecords(40, made + 1);
  EXPECT_TRUE(kept.compare(0, size_t{old} * 40, expected, 0, size_t{old} * 40) == 0);
  if (GetParam() != Options::Choice::kDirect) {
    EXPECT_EQ(kept.size() % 40, 0u) << "through the page cache only whole records are written";
  }
  munmap(memory, sizeof(Shared));
}

// Forbids io_uring_setup the way a container's default filter does.
bool ForbidUring() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(ProcessTestSeccomp, ForbiddenUringFallsBackToPwritevAndSaysWhy) {
  for (const auto choice : {Options::Choice::kAuto, Options::Choice::kUring, Options::Choice::kDirect}) {
    TempDir dir;
    const pid_t child = fork();
    if (child == 0) {
      if (!ForbidUring()) _exit(2);
      Options options;
      options.path = choice;
      auto collection = Drain::Process().Open(options, nullptr, nullptr);
      const std::string data = MakeRecords(40, 100'000);
      collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir.path(), "f", 40), data));
      bool good = collection->Finish(seconds(60)).ok() && ReadSlices(dir.path() + "/f") == data;
      good =
          good && collection->path() == (choice == Options::Choice::kDirect ? Path::kDirect : Path::kPwritev);
      good = good && collection->reason().find("Operation not permitted") != std::string::npos;
      _exit(good ? 0 : 1);
    }
    EXPECT_EQ(ExitStatus(child), 0) << PathLabel(choice);
  }
}

// As a program does that becomes a daemon: it closes everything, and then opens files of its own.
TEST_P(ProcessTest, DescriptorsThatTheProgramClosesAreCountedLossesAndItsNewFilesStayItsOwn) {
  const pid_t child = fork();
  if (child == 0) {
    Drain drain;
    Messages messages;
    auto collection = drain.Open(Wanted(), messages.Handler(), nullptr);
    auto file = MakeFile(*collection, dir_.path(), "f", 40);
    collection->Add(std::make_shared<Feeder>(file, MakeRecords(40, 2000)));
    if (!collection->Flush(seconds(10)).ok()) _exit(1);
    for (int fd = 3; fd < 256; ++fd) close(fd);
    std::vector<std::string> own;
    for (int i = 0; i < 64; ++i) {
      own.push_back(dir_.path() + "/own" + std::to_string(i));
      if (open(own.back().c_str(), O_RDWR | O_CREAT, 0600) < 0) _exit(2);
    }
    auto late = std::make_shared<Feeder>(file, MakeRecords(40, 5000));
    collection->Add(late);
    const auto begin = std::chrono::steady_clock::now();
    const bool ended = collection->Finish(seconds(60)).kind != ErrorKind::kTimeout;
    if (!ended || std::chrono::steady_clock::now() - begin > seconds(30)) _exit(3);
    if (late->ledger.lost != 5000) _exit(4);
    for (const auto& path : own) {
      if (!ReadFile(path).empty()) _exit(5);
    }
    for (int fd = 3; fd < 3 + 64; ++fd) {
      if (fcntl(fd, F_GETFD) < 0) _exit(6);  // closed behind the program's back
    }
    _exit(0);
  }
  EXPECT_EQ(ExitStatus(child), 0);
}

TEST(ProcessTestFork, ChangeOfDescriptorsThatHangsDoesNotHoldUpAnother) {
  std::atomic<bool> hangs{false}, over{false}, passed{false};
  std::thread hanging([&] {
    const FdChange change;
    hangs = true;
    while (!over) std::this_thread::sleep_for(milliseconds(1));
  });
  ASSERT_TRUE(Eventually([&] { return hangs.load(); }));
  std::thread other([&] {
    { const FdChange change; }
    passed = true;
  });
  EXPECT_TRUE(Eventually([&] { return passed.load(); })) << "waits for a disk that is not its own";
  over = true;
  hanging.join();
  other.join();
}

TEST(ProcessTestMemory, NoneForStagingFailsTheOpeningAndNotTheProgram) {
  TempDir dir;
  Drain drain;
  Options options;
  options.staging_bytes = size_t{1} << 50;  // more than an address space has
  Status status;
  EXPECT_EQ(drain.Open(options, nullptr, &status), nullptr);
  EXPECT_NE(status.text.find("1073741824 MiB"), std::string::npos) << status.text;
  EXPECT_FALSE(drain.running());
  auto collection = drain.Open({}, nullptr, &status);
  ASSERT_NE(collection, nullptr) << status.text;
  const std::string data = MakeRecords(40, 1000);
  collection->Add(std::make_shared<Feeder>(MakeFile(*collection, dir.path(), "f", 40), data));
  EXPECT_TRUE(collection->Finish(seconds(10)).ok());
  EXPECT_EQ(ReadSlices(dir.path() + "/f"), data);
}

/// Finds no memory at its first visits.
class Starving final : public Source {
 public:
  explicit Starving(std::shared_ptr<Source> fed) : fed_(std::move(fed)) {}
  Progress Poll(const Pass& pass) override {
    if (++visits <= 3) throw std::bad_alloc();
    return fed_->Poll(pass);
  }
  std::atomic<unsigned> visits{0};

 private:
  std::shared_ptr<Source> fed_;
};

TEST(ProcessTestMemory, RunningOutOfItWhileDrainingEndsNothingAndIsTold) {
  TempDir dir;
  Drain drain;
  Messages messages;
  auto collection = drain.Open({}, messages.Handler(), nullptr);
  const std::string data = MakeRecords(40, 5000);
  collection->Add(
      std::make_shared<Starving>(std::make_shared<Feeder>(MakeFile(*collection, dir.path(), "f", 40), data)));
  EXPECT_TRUE(collection->Finish(seconds(10)).ok());
  EXPECT_EQ(ReadSlices(dir.path() + "/f"), data);
  EXPECT_EQ(messages.Count("ran out of memory"), 1u);
}

}  // namespace
}  // namespace npuprof::drain
