// SPDX-License-Identifier: Apache-2.0
#include "npuprof/kernel_facts.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scratch.h"

namespace npuprof::cli {
namespace {

TEST(KernelFacts, SysfsIsReadAndPutIntoOneLine) {
  Scratch scratch;
  const std::string device = "class/npuprof/npuprof1";
  scratch.Write(device + "/abi", "0.2\n");
  scratch.Write(device + "/epoch", "3\n");
  scratch.Write(device + "/cube_cores", "24\n");
  scratch.Write(device + "/uevent", "MAJOR=1\n");
  scratch.Write("module/npuprof/version", "0.1.0\n");
  scratch.Write("bus/event_source/devices/npuprof_1/type", "9\n");
  std::filesystem::create_symlink("../../../0000:00:05.0", scratch.path() / device / "device");
  const KernelFacts facts = ReadKernelFacts(scratch.path().string(), 1);
  EXPECT_EQ(facts.attributes,
            (std::map<std::string, std::string>{{"abi", "0.2"}, {"cube_cores", "24"}, {"epoch", "3"}}));
  EXPECT_EQ(facts.Line(),
            "/dev/npuprof1, bus 0000:00:05.0, npuprof.ko 0.1.0, interface 0.2, epoch 3, perf PMU npuprof_1");
}

TEST(KernelFacts, WithoutSysfsOnlyTheNodeIsNamed) {
  Scratch scratch;
  EXPECT_EQ(ReadKernelFacts(scratch.path().string(), 0).Line(), "/dev/npuprof0");
}

}  // namespace
}  // namespace npuprof::cli
