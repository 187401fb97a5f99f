// SPDX-License-Identifier: Apache-2.0
#include "npuprof/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>

namespace npuprof::cli {
namespace {

TEST(Figures, CountsHaveThousandsSeparators) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1,000");
  EXPECT_EQ(Count(1234567), "1,234,567");
  EXPECT_EQ(Count(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Figures, BytesAndDurationsCarryTheirUnit) {
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1024), "1.0 KiB");
  EXPECT_EQ(Bytes(1536 * 1024), "1.5 MiB");
  EXPECT_EQ(Bytes(UINT64_MAX), "16.0 EiB");
  EXPECT_EQ(Duration(999), "999 ns");
  EXPECT_EQ(Duration(4'200), "4 us");
  EXPECT_EQ(Duration(12'340'000), "12.3 ms");
  EXPECT_EQ(Duration(1'234'000'000), "1.234 s");
}

TEST(TableOf, NumbersAreRightAlignedAndTextLeft) {
  Table table({"NAME", "N"});
  table.Add({"a", "1"});
  table.Add({"long name", "1,000"});
  EXPECT_EQ(table.Render(false), "NAME           N\na              1\nlong name  1,000\n");
}

TEST(Colour, OnlyWhenAskedFor) {
  EXPECT_EQ(Paint("x", Style::kBad, false), "x");
  EXPECT_EQ(Paint("x", Style::kBad, true), "\033[31mx\033[0m");
  EXPECT_EQ(Paint("x", Style::kPlain, true), "x");
}

TEST(Colour, NeedsATerminalWithoutNoColor) {
  int master, slave;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  std::FILE* terminal = fdopen(slave, "w");
  std::FILE* file = std::tmpfile();
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(WantsColour(terminal));
  EXPECT_FALSE(WantsColour(file));
  setenv("NO_COLOR", "", 1);  // empty counts as unset
  EXPECT_TRUE(WantsColour(terminal));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(WantsColour(terminal));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(WantsColour(terminal));
  std::fclose(file);
  std::fclose(terminal);
  close(master);
}

}  // namespace
}  // namespace npuprof::cli
