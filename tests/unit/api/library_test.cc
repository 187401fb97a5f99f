// SPDX-License-Identifier: Apache-2.0
// The library as a file: what it offers and what it needs.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return text;
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, n);
  pclose(pipe);
  return text;
}

TEST(Library, ExportsTheDocumentedNamesAndNothingElse) {
  std::set<std::string> documented;
  std::ifstream map(ACLPROF_MAP);
  bool global = false;
  for (std::string line; std::getline(map, line);) {
    if (line.find("global:") != std::string::npos) global = true;
    if (line.find("local:") != std::string::npos) break;
    const size_t begin = line.find_first_not_of(' '), end = line.find(';');
    if (global && end != std::string::npos)
      documented.insert(line.substr(begin, end - begin) + "@@ACLPROF_1.0");
  }
  ASSERT_GT(documented.size(), 20u);
  std::set<std::string> exported;
  std::istringstream lines(Output("nm -D --defined-only " ACLPROF_LIBRARY));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, kind, name;
    words >> address >> kind >> name;
    if (kind != "A") exported.insert(name);  // A: the version itself
  }
  EXPECT_EQ(exported, documented);
}

TEST(Library, NeedsTheCLibraryAlone) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "sanitizers bring libraries of their own";
  const std::set<std::string> allowed = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2",
                                         "ld-linux-aarch64.so.1"};
  std::istringstream lines(Output("readelf -d " ACLPROF_LIBRARY));
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    const size_t begin = line.find('[') + 1;
    ++needed;
    EXPECT_TRUE(allowed.contains(line.substr(begin, line.find(']') - begin))) << line;
  }
  EXPECT_GT(needed, 0);
}

// All libraries that a process loads late share some hundred bytes of thread-local memory.
TEST(Library, LeavesThreadLocalMemoryToOthers) {
  if (std::string(SANITIZED) != "") GTEST_SKIP() << "sanitizers have thread-local memory of their own";
  std::istringstream lines(Output("readelf -lW " ACLPROF_LIBRARY));
  unsigned long bytes = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, offset, address, physical, in_file, in_memory;
    words >> kind >> offset >> address >> physical >> in_file >> in_memory;
    if (kind == "TLS") bytes = std::stoul(in_memory, nullptr, 16);
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, 256u);
}

TEST(Library, IsFoundByThePublishedNamesToo) {
  const std::filesystem::path library = ACLPROF_LIBRARY;
  for (const char* name : {"libmsprofiler.so", "libprofapi.so", "libms_tools_ext.so"}) {
    const auto link = library.parent_path() / name;
    ASSERT_TRUE(std::filesystem::is_symlink(link)) << link;
    EXPECT_TRUE(std::filesystem::equivalent(link, library)) << link;
  }
}

}  // namespace
