// SPDX-License-Identifier: Apache-2.0
// Programs whose device has a fault. device_session_test runs them, each in a process of its own; they are no
// tests of their own, because without the fault they fail.
#include "device_fixture.h"

namespace npuprof {
namespace {

class Program : public DeviceSession {};

TEST_F(Program, RefusedStart) {
  aclprofConfig* config = Config({0}, kTypes);
  EXPECT_EQ(aclprofStart(config), 500005);
  EXPECT_FALSE(Message().empty());
  EXPECT_TRUE(ProfDirectories().empty());
  EXPECT_EQ(aclprofStart(config), 500005) << "nothing was left that makes the second start look running";
  EXPECT_EQ(aclprofStop(config), 0);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Program, StalledDrain) {
  setenv("NPUPROF_RING_RECORDS", "64", 1);
  aclprofConfig* config = Config({0}, kTypes);
  ASSERT_EQ(aclprofStart(config), 0) << Message();
  Run(0, 100);
  ASSERT_EQ(aclprofStop(config), 0) << Message();
  const auto prof = ProfDirectories().at(0);
  const auto device = Manifest(prof)["devices"][0];
  const auto log = Ring(device, "task_log");
  EXPECT_EQ(log["records"], 200);
  EXPECT_EQ(log["kept"], 64);
  EXPECT_EQ(log["lost"], 136);
  // The device writes the records itself and stops at its credit.
  EXPECT_EQ(log["lost_by_cause"], nlohmann::json({{"no_credit", 136}}));
  EXPECT_EQ(Data(prof, "device_0/data/stars_soc.data.0").size(), 64 * sizeof(npuprof_rec_task_log));
  const auto pmu = Ring(device, "task_pmu");
  EXPECT_EQ(pmu["kept"], 64);
  EXPECT_EQ(pmu["lost"], 36);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

}  // namespace
}  // namespace npuprof
