// SPDX-License-Identifier: Apache-2.0
#include "trace/reserve.h"

#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <filesystem>

#include "support.h"

namespace npuprof::trace {
namespace {

using drain::TempDir;

TEST(SpaceReserve, LeavesNoNameInTheDirectory) {
  TempDir dir;
  SpaceReserve reserve;
  if (!reserve.Take(dir.path(), 1 << 20)) GTEST_SKIP() << "no files without a name on this file system";
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  reserve.Release();
  reserve.Release();
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(SpaceReserve, RefusesMoreThanTheDiskHas) {
  TempDir dir;
  struct statvfs disk = {};
  ASSERT_EQ(statvfs(dir.path().c_str(), &disk), 0);
  SpaceReserve reserve;
  EXPECT_FALSE(reserve.Take(dir.path(), disk.f_frsize * (disk.f_blocks + 1)));
  EXPECT_FALSE(reserve.Take(dir.path() + "/missing", 4096));
}

}  // namespace
}  // namespace npuprof::trace
