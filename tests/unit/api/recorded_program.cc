// SPDX-License-Identifier: Apache-2.0
// A program that `npuprof record` started, as the library in it sees it. lifecycle_test runs it; it is no
// test of its own.
#include "fixture.h"

namespace npuprof {
namespace {

TEST(Recorded, EveryControlCallIsRefusedAndReportsGoOn) {
  setenv("NPUPROF_LOG", "0", 1);
  ASSERT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0) << npuprofLastMessage();
  EXPECT_EQ(aclprofInit("/tmp", 4), 100042);
  EXPECT_EQ(aclprofStart(nullptr), 100000) << "the configuration is judged first";
  aclprofConfig* config = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  EXPECT_EQ(aclprofStart(config), 100042);
  EXPECT_EQ(aclprofStop(config), 100042);
  EXPECT_EQ(aclprofFinalize(), 100042);
  MsprofApi api = {};
  api.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  EXPECT_EQ(MsprofReportApi(1, &api), 0);
  EXPECT_EQ(MsprofFinalize(), 0);
}

}  // namespace
}  // namespace npuprof
