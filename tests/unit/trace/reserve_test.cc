// SPDX-License-Identifier: Apache-2.0
#include "trace/reserve.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support.h"
#include "trace/directory.h"

namespace npuprof::trace {
namespace {

using drain::TempDir;
namespace fs = std::filesystem;

// Bytes that files of this process without a name take in a directory.
uint64_t KeptIn(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = fs::read_symlink(entry.path(), error).string();
    struct stat st;
    if (target.starts_with(directory + "/") && stat(entry.path().c_str(), &st) == 0)
      bytes += static_cast<uint64_t>(st.st_blocks) * 512;
  }
  return bytes;
}

TEST(SpaceReserve, TakesRoomAndLeavesNoNameInTheDirectory) {
  for (const bool unnamed : {true, false}) {
    TempDir dir;
    SpaceReserve reserve, second;
    ASSERT_TRUE(reserve.Take(dir.path(), 1 << 20, unnamed).ok());
    ASSERT_TRUE(second.Take(dir.path(), 1 << 18, unnamed).ok());
    EXPECT_TRUE(fs::is_empty(dir.path()));
    EXPECT_GE(KeptIn(dir.path()), (1u << 20) + (1u << 18)) << "unnamed: " << unnamed;
    reserve.Release();
    reserve.Release();
    EXPECT_LT(KeptIn(dir.path()), 1u << 20);
    EXPECT_TRUE(fs::is_empty(dir.path()));
  }
}

TEST(SpaceReserve, RefusesMoreThanTheDiskHasAndSaysSo) {
  TempDir dir;
  SpaceReserve reserve;
  // So much that it is refused at once: of a little more than the disk has, all others would have nothing for a moment.
  EXPECT_FALSE(reserve.Take(dir.path(), size_t{1} << 62).ok());
  const Status status = reserve.Take(dir.path() + "/missing", 4096);
  EXPECT_EQ(status.error, ENOENT);
  EXPECT_EQ(status.text, "no 4 KiB could be kept free in " + dir.path() +
                             "/missing (No such file or directory); should the disk fill up, names and the "
                             "manifest may be incomplete");
}

TEST(DirectoryLock, ThatCannotBeTakenSaysWhatFollows) {
  TempDir dir;
  ProfDirectory made;
  ASSERT_TRUE(ProfDirectory::Create(dir.path(), 1, &made).ok());
  DirectoryLock first, second;
  ASSERT_TRUE(first.Take(made).ok());
  EXPECT_EQ(second.Take(made).error, EWOULDBLOCK);
  first.Release();
  ASSERT_TRUE(fs::create_directory(made.own() + "/lock"));
  const Status status = second.Take(made);
  EXPECT_EQ(status.error, EISDIR);
  EXPECT_EQ(status.text,
            made.own() +
                "/lock cannot be locked (Is a directory); npuprof repair and NPUPROF_KEEP_* of other "
                "processes do not see that the directory is being written");
}

}  // namespace
}  // namespace npuprof::trace
