// SPDX-License-Identifier: Apache-2.0
// A program whose NPUSIM_PORT leads nowhere: it gets errors that say so, from every function that needs a device.
#include <gtest/gtest.h>

#include <string>

#include "acl/acl.h"
#include "npusim/npusim.h"

namespace {

TEST(RuntimeWithoutAPort, SaysWhyThereIsNoDevice) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  uint32_t count = 7;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID);
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find("NPUSIM_PORT=/dev/no-such-npusim-port cannot be opened"),
            std::string::npos)
      << text;
  EXPECT_NE(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_NE(npusimLaunch(nullptr, "op", "Op", 0, 1, 1000, 1), ACL_SUCCESS);
  npusimDeviceTotals totals;
  EXPECT_NE(npusimTotals(0, &totals, sizeof totals), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

}  // namespace
