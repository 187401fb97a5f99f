// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <regex>
#include <set>

#include "support.h"
#include "trace/directory.h"

namespace npuprof::trace {
namespace {

using drain::ReadFile;
using drain::TempDir;

mode_t ModeOf(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
}

TEST(OutputPath, OrdinaryPathsPass) {
  for (const char* path : {"/tmp", "relative/x", "../up", "with space", "/数据", "."}) {
    EXPECT_TRUE(CheckOutputPath(path).ok()) << path;
  }
  EXPECT_TRUE(CheckOutputPath(std::string(4095, 'a')).ok());
}

TEST(OutputPath, EveryForbiddenCharacterIsRefusedAndNamed) {
  for (const char c : std::string("\n\f\r\b\t\v\x7f\"'\\%><|&$;`")) {
    const Status status = CheckOutputPath(std::string("/tmp/a") + c + "b");
    EXPECT_EQ(status.kind, ErrorKind::kPath) << int(c);
    EXPECT_NE(status.text.find("position 6"), std::string::npos) << status.text;
  }
  EXPECT_EQ(CheckOutputPath("").kind, ErrorKind::kPath);
  EXPECT_EQ(CheckOutputPath(std::string(4096, 'a')).kind, ErrorKind::kInvalidArgument);
}

TEST(OutputPath, RelativeOnesGetTheCurrentDirectory) {
  EXPECT_EQ(AbsolutePath("/a/b"), "/a/b");
  EXPECT_EQ(AbsolutePath("a"), std::filesystem::current_path().string() + "/a");
}

TEST(ProfDirectory, NameAndModesAreThePublishedOnes) {
  TempDir dir;
  const mode_t before = umask(022);
  ProfDirectory made;
  ASSERT_TRUE(ProfDirectory::Create(dir.path() + "/new/deep/", 7, &made).ok());
  ASSERT_TRUE(made.AddDevice(3).ok());
  ASSERT_TRUE(made.AddDevice(3).ok()) << "a second time does no harm";
  ASSERT_TRUE(WriteWhole(made.host() + "/x", "text", true).ok());
  umask(before);
  const std::regex form(fmt::format("PROF_000007_20[0-9]{{15}}_{:08}[A-R]{{8}}", getpid()));
  EXPECT_TRUE(std::regex_match(made.name(), form)) << made.name();
  EXPECT_EQ(made.path(), dir.path() + "/new/deep/" + made.name());
  for (const std::string& part :
       {made.path(), made.host(), made.host_data(), made.device(3), made.device_data(3)}) {
    EXPECT_EQ(ModeOf(part), 0750u) << part;
  }
  EXPECT_EQ(ModeOf(made.host() + "/x"), 0640u);
  EXPECT_EQ(ReadFile(made.host() + "/x"), "text");
  EXPECT_EQ(ReadFile(made.host() + "/x.done"), "filesize:4\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(made.host()), {}), 3)
      << "data, x, x.done, nothing left over";
}

TEST(ProfDirectory, SixteenProcessesAtOnceGetDifferentOnes) {
  TempDir dir;
  std::vector<pid_t> children;
  int start[2];
  ASSERT_EQ(pipe(start), 0);
  for (int i = 0; i < 16; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      close(start[1]);
      char c;
      if (read(start[0], &c, 1) < 0) _exit(2);  // returns when the parent closes its end
      bool good = true;
      for (unsigned k = 1; k <= 20; ++k) {
        ProfDirectory made;
        good = good && ProfDirectory::Create(dir.path() + "/out", k, &made).ok();
        // Somebody else in our directory would have left the file already.
        good = good && !drain::Exists(made.host() + "/owner") &&
               WriteWhole(made.host() + "/owner", "x", false).ok();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  close(start[0]);
  close(start[1]);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path() + "/out"), {}), 16 * 20);
}

TEST(ProfDirectory, FileInTheWayIsNamed) {
  TempDir dir;
  ASSERT_TRUE(WriteWhole(dir.path() + "/file", "x", false).ok());
  ProfDirectory made;
  for (const std::string& path : {dir.path() + "/file", dir.path() + "/file/below"}) {
    const Status status = ProfDirectory::Create(path, 1, &made);
    EXPECT_EQ(status.kind, ErrorKind::kPath);
    EXPECT_NE(status.text.find(dir.path() + "/file is not a directory"), std::string::npos) << status.text;
  }
}

TEST(ProfDirectory, ReadOnlyDirectoryIsRefused) {
  TempDir dir;
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  const std::string locked = dir.path() + "/locked";
  ASSERT_EQ(mkdir(locked.c_str(), 0555), 0);
  // The superuser may write anywhere, so the test becomes somebody else.
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(2);
    ProfDirectory made;
    const Status there = ProfDirectory::Create(locked, 1, &made);
    const Status below = ProfDirectory::Create(locked + "/new", 1, &made);
    const bool good =
        there.kind == ErrorKind::kPath && there.text.find("is not writable") != std::string::npos &&
        below.kind == ErrorKind::kPath && below.text.find("cannot be created") != std::string::npos;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(locked));
}

TEST(WriteWhole, FailureLeavesTheOldContent) {
  TempDir dir;
  ASSERT_TRUE(WriteWhole(dir.path() + "/f", "old", false).ok());
  // The temporary file cannot be made where a directory has its name.
  ASSERT_EQ(mkdir((dir.path() + "/.f.new").c_str(), 0700), 0);
  const Status status = WriteWhole(dir.path() + "/f", "new", false);
  EXPECT_EQ(status.kind, ErrorKind::kIo);
  EXPECT_NE(status.text.find(dir.path() + "/f"), std::string::npos);
  EXPECT_EQ(ReadFile(dir.path() + "/f"), "old");
}

}  // namespace
}  // namespace npuprof::trace
