// SPDX-License-Identifier: Apache-2.0
// What becomes of a session where its process forks, ends, is killed or gets signals.
#include <sys/resource.h>

#include <atomic>
#include <map>
#include <thread>

#include "lifecycle.h"
#include "npuprof/acl_prof_loaded.h"

namespace npuprof {
bool g_is_child = false;
}  // namespace npuprof

extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return npuprof::g_is_child;
}

namespace npuprof {
namespace {

TEST_F(Lifecycle, AForkedChildReportsNothingAndMayProfileItself) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no new threads in a child of a process with threads";
#endif
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  MsprofApi call = Call(1);
  EXPECT_EQ(MsprofReportApi(1, &call), 0);
  const auto child_directory = directory_ / "child";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    g_is_child = true;
    for (int i = 0; i < 10; ++i) MsprofReportApi(1, &call);
    if (aclprofStop(nullptr) != 0) _exit(1);  // nothing runs here
    if (Init(child_directory.string()) != 0) _exit(2);
    aclprofConfig* own = Config({}, ACL_PROF_MSPROFTX);
    if (aclprofStart(own) != 0) _exit(3);
    MsprofReportApi(1, &call);
    MsprofReportApi(1, &call);
    if (aclprofStop(own) != 0) _exit(4);
    exit(0);  // the exit handlers run too
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(MsprofReportApi(1, &call), 0);
  EXPECT_EQ(aclprofStop(config_), 0);
  EXPECT_EQ(Kept(Manifest(ProfDirectories().at(0)), "api_event"), 2u);
  const auto childs = ProfDirectories(child_directory);
  ASSERT_EQ(childs.size(), 1u);
  EXPECT_EQ(Kept(Manifest(childs[0]), "api_event"), 2u);
}

TEST_F(Lifecycle, AProcessThatEndsWithoutStopLeavesACompleteDirectory) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    g_is_child = true;
    if (Init() != 0 || aclprofStart(config_) != 0) _exit(1);
    const MsprofApi call = Call(1);
    MsprofReportApi(1, &call);
    exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(manifest["complete"], true);
  EXPECT_EQ(Kept(manifest, "api_event"), 1u);
}

TEST_F(Lifecycle, AKilledProcessKeepsWhatIsOlderThanASecond) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (Init() != 0 || aclprofStart(config_) != 0) _exit(1);
    for (uint64_t i = 0; i < 500; ++i) {
      const MsprofApi call = Call(i);
      MsprofReportApi(1, &call);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto prof = ProfDirectories().at(0);
  EXPECT_EQ(Data(prof, "host/data/aging.api_event.data").size(), 500 * sizeof(MsprofApi));
  EXPECT_EQ(Manifest(prof)["complete"], false);
  EXPECT_EQ(Kept(Manifest(prof), "api_event"), 500u);
}

TEST_F(Lifecycle, TheSignalHandlersOfTheProgramStayItsOwn) {
  struct sigaction before[3], after;
  const int signals[] = {SIGINT, SIGTERM, SIGSEGV};
  for (int i = 0; i < 3; ++i) sigaction(signals[i], nullptr, &before[i]);
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config_), 0);
  for (int i = 0; i < 3; ++i) {
    sigaction(signals[i], nullptr, &after);
    EXPECT_EQ(after.sa_handler, before[i].sa_handler) << signals[i];
  }
  EXPECT_EQ(aclprofStop(config_), 0);
}

TEST_F(Lifecycle, AForkWhileAnotherThreadIsInsideLeavesTheChildUsable) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no new threads in a child of a process with threads";
#endif
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "a child that is forked while another thread allocates finds AddressSanitizer's allocator locked";
#endif
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        Init();
        aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
        Set(ACL_PROF_HOST_SYS, "cpu");
        aclprofStart(config);
        MsprofRegisterCallback(MSPROF_MODULE_GE, [](uint32_t, void*, uint32_t) { return 0; });
        MsprofSetDeviceIdByGeModelIdx(1, 0);
        aclprofStop(config);
        aclprofDestroyConfig(config);
        aclprofFinalize();
      }
    });
  }
  std::map<int, int> ends;  // how often the children ended how
  for (int i = 0; i < 40; ++i) {
    ++ends[EndOfChild([&] {
      alarm(20);  // a child that waits for a thread of its parent waits for ever
      if (Init((directory_ / "child").string()) != 0) _exit(1);
      Set(ACL_PROF_HOST_SYS, "mem");
      MsprofGetHashId("name", 4);
      MsprofSetDeviceIdByGeModelIdx(1, 0);
      aclprofConfig* own = Config({}, ACL_PROF_MSPROFTX);
      if (aclprofStart(own) != 0) {
        std::fprintf(stderr, "a child's start: %s\n", npuprofLastMessage());
        _exit(2);
      }
      if (aclprofFinalize() != 0 || aclprofDestroyConfig(own) != 0) {
        std::fprintf(stderr, "a child's end: %s\n", npuprofLastMessage());
        _exit(3);
      }
    })];
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ends, (std::map<int, int>{{0, 40}}));
}

TEST_F(Lifecycle, AComplaintThatNobodyReadsDoesNotEndTheProgram) {
  EXPECT_EQ(EndOfChild([&] {
              int ends[2];
              if (pipe(ends) != 0) _exit(1);
              close(ends[0]);
              dup2(ends[1], STDERR_FILENO);
              signal(SIGPIPE, SIG_DFL);
              unsetenv("NPUPROF_LOG");
              if (aclprofInit("a;b", 3) != 100003) _exit(2);
              sigset_t pending;
              sigpending(&pending);
              if (sigismember(&pending, SIGPIPE)) _exit(3);
            }),
            0);
}

TEST_F(Lifecycle, ALimitOnFileSizesDoesNotEndTheProgram) {
  for (rlim_t limit : {rlim_t{0}, rlim_t{1000}, rlim_t{100'000}}) {
    EXPECT_EQ(EndOfChild([&] {
                signal(SIGXFSZ, SIG_DFL);
                const rlimit most{limit, limit};
                setrlimit(RLIMIT_FSIZE, &most);
                if (Init() != 0) _exit(1);
                const aclError started = aclprofStart(config_);
                if (limit < 1000 && started != 100003) _exit(2);
                for (uint64_t i = 0; i < 10'000; ++i) {
                  const MsprofApi call = Call(i);
                  MsprofReportApi(1, &call);
                }
                aclprofStop(config_);
                sigset_t pending;
                sigpending(&pending);
                if (sigismember(&pending, SIGXFSZ)) _exit(3);
              }),
              0)
        << limit;
  }
}

}  // namespace
}  // namespace npuprof
