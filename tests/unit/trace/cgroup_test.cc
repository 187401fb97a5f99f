// SPDX-License-Identifier: Apache-2.0
#include "trace/cgroup.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "trace/container.h"
#include "trace/sampling.h"

namespace npuprof::trace {
namespace {

class Cgroup : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/npuprof-cgroup-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  CgroupLimits Read() { return CgroupLimits::Read(root_); }
  std::string root_;
};

constexpr const char* kMounts =
    "22 1 0:20 / /proc rw - proc proc rw\n"
    "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

TEST_F(Cgroup, TheTightestOfAllGroupsAboveHolds) {
  Write("/proc/self/cgroup", "0::/a/b/c\n");
  Write("/proc/self/mountinfo", kMounts);
  Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
  Write("/sys/fs/cgroup/a/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "1073741824\n");
  EXPECT_DOUBLE_EQ(Read().cpus.value_or(0), 1.5);
  EXPECT_EQ(Read().memory_bytes.value_or(0), 1073741824u);
}

TEST_F(Cgroup, NoLimitIsNoLimit) {
  EXPECT_FALSE(Read().cpus || Read().memory_bytes) << "nothing is there at all";
  Write("/proc/self/cgroup", "4:memory:/x\n");
  Write("/proc/self/mountinfo", kMounts);
  Write("/sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_FALSE(Read().memory_bytes) << "a process of the first version's groups only";
  Write("/proc/self/cgroup", "4:memory:/x\n0::/\n");
  EXPECT_EQ(Read().memory_bytes.value_or(0), 4096u);
  Write("/sys/fs/cgroup/memory.max", "max\n");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_FALSE(Read().cpus || Read().memory_bytes);
}

TEST_F(Cgroup, AMountMayBeginAtTheGroupOfTheContainer) {
  Write("/proc/self/cgroup", "0::/docker/xyz\n");
  Write("/proc/self/mountinfo", "30 1 0:26 /docker/xyz /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(Read().cpus.value_or(0), 0.5);
}

TEST(Container, TheVariableDecides) {
  setenv("NPUPROF_CONTAINER", "yes", 1);
  EXPECT_TRUE(InContainer());
  setenv("NPUPROF_CONTAINER", "no", 1);
  EXPECT_FALSE(InContainer());
  unsetenv("NPUPROF_CONTAINER");
}

// The paths that tell of a container, below a directory of the test. The variable of the managers must not tell first.
class ContainerMarks : public Cgroup {
 protected:
  void SetUp() override {
    Cgroup::SetUp();
    unsetenv("NPUPROF_CONTAINER");
    unsetenv("container");
  }
  void TearDown() override {
    unsetenv("container");
    Cgroup::TearDown();
  }
  bool Found() { return InContainer(nullptr, root_); }
  void ProcessNumbers(const std::string& name) {
    std::filesystem::create_directories(root_ + "/proc/self/ns");
    std::filesystem::remove(root_ + "/proc/self/ns/pid");
    std::filesystem::create_symlink(name, root_ + "/proc/self/ns/pid");
  }
};

TEST_F(ContainerMarks, AMachineHasNone) {
  EXPECT_FALSE(Found()) << "nothing is told at all";
  ProcessNumbers("pid:[4026531836]");
  EXPECT_FALSE(Found());
}

TEST_F(ContainerMarks, EachFileOfAManagerIsOne) {
  ProcessNumbers("pid:[4026531836]");
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    Write(mark, "");
    EXPECT_TRUE(Found()) << mark;
    std::filesystem::remove(root_ + mark);
    EXPECT_FALSE(Found()) << mark;
  }
}

TEST_F(ContainerMarks, TheVariableOfAManagerIsOneUnlessItIsEmpty) {
  setenv("container", "lxc", 1);
  EXPECT_TRUE(Found());
  setenv("container", "", 1);
  EXPECT_FALSE(Found());
}

TEST_F(ContainerMarks, ProcessNumbersOfItsOwnAreOne) {
  ProcessNumbers("pid:[4026532281]");
  EXPECT_TRUE(Found());
  setenv("NPUPROF_CONTAINER", "no", 1);
  EXPECT_FALSE(Found()) << "the variable has the last word";
  unsetenv("NPUPROF_CONTAINER");
}

TEST(IntervalMeter, MeasuresHowFarIntervalsAreFromThePeriod) {
  IntervalMeter meter;
  EXPECT_FALSE(meter.on());
  meter.Start(100);
  // Intervals of 100, 130, 90, and one that was cut short at the end.
  for (uint64_t ns : {1000, 1100, 1100, 1230, 1320, 1325}) meter.Note(ns);
  const Manifest::Sampling result = meter.Result();
  EXPECT_EQ(result.period_ns, 100u);
  EXPECT_EQ(result.samples, 5u);
  EXPECT_EQ(result.mean_ns, 107u);
  EXPECT_EQ(result.worst_error_ns, 30u);
}

TEST(IntervalMeter, AClockThatBeginsAnewTellsOfNoInterval) {
  IntervalMeter meter;
  meter.Start(100);
  for (uint64_t ns : {1000, 1100, 1205, 7, 107, 207, 210}) meter.Note(ns);
  EXPECT_EQ(meter.Result().samples, 7u);
  EXPECT_EQ(meter.Result().mean_ns, 100u);
  EXPECT_EQ(meter.Result().worst_error_ns, 0u);
}

}  // namespace
}  // namespace npuprof::trace
