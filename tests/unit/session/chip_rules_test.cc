// SPDX-License-Identifier: Apache-2.0
#include "session/chip_rules.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "base/data_types.h"
#include "session/settings.h"

// The published tables once more, drawn as tables: one column a chip, in the order of this line.
namespace npuprof {
namespace {

constexpr const char* kChips = "0 1 2 4 5 7 8 9 11 12 15 16 17 18 21";

std::vector<uint32_t> Columns() {
  std::istringstream text(kChips);
  std::vector<uint32_t> chips;
  for (uint32_t chip; text >> chip;) chips.push_back(chip);
  return chips;
}

const std::vector<std::pair<uint64_t, std::string>> kDataTypes = {
    //                 0 1 2 4 5 7 8 9 11 12 15 16 17 18 21
    {0x1, /*        */ "x x x x x x x . x x x x x x ."}, {0x2, /*        */ "x x x x x x x x x x x x x x x"},
    {0x4, /*        */ "x x x x x x x x x x x x x x x"}, {0x8, /*        */ "x x x x x x x . . . x x x x ."},
    {0x10, /*       */ ". x x x x x x . x x x x x x ."}, {0x20, /*       */ "x x x x x x x . x x x x x x ."},
    {0x40, /*       */ "x x x x x x x x x x x x x x x"}, {0x80, /*       */ "x x x x x x x x x x x x x x x"},
    {0x100, /*      */ "x x x x x x x x x x x x x x x"}, {0x200, /*      */ "x x x x x x x x x x x x x x x"},
    {0x800, /*      */ "x x x x x x x x x x x x x x x"}, {0x1000, /*     */ "x x x x x x x x x x x x x x x"},
    {0x2000, /*     */ "x x x x x x x x x x x x x x x"}, {0x4000, /*     */ "x x x x x x x x x x x x x x x"},
    {0x8000, /*     */ ". . . . x . . . . . x . . . ."}, {0x1000000, /*  */ "x x x x x x x x x x x x x x x"},
    {0x400000000, /**/ ". . . . x . . . . . x x . . ."}, {0x800000000, /**/ "x x x x x x x x x x x x x x x"},
};

const std::vector<std::pair<int, std::string>> kGroups = {
    //  0 1 2 4 5 7 8 9 11 12 15 16 17 18 21
    {0, "x x x x x x x . x x x x x x x"}, {1, "x x x x x x x x x x x x x x x"},
    {2, "x x x x x x x x x x x x x x x"}, {3, "x x x x x x x . x x x x x x ."},
    {4, "x x x x x x x . x x x x x x x"}, {5, "x x x x x x x x x x x x x x x"},
    {6, ". . . . x x . . x . x x x x ."}, {7, ". . . . . x . . x x . . . . ."},
    {8, ". . . . x . . . . . . . . . ."},
};

// A number is the highest frequency, x a setting without one.
const std::vector<std::pair<int, std::string>> kSettings = {
    //   0   1   2   4   5   7   8   9   11  12  15    16    17    18    21
    {1, "x   x   x   x   x   x   x   x   x   x   x     x     x     x     x"},
    {2, ".   .   .   .   .   .   .   .   .   .   .     .     .     .     ."},
    {3, "100 100 100 100 100 100 100 100 100 100 10000 10000 10000 10000 100"},
    {4, "x   x   x   x   x   x   x   x   x   x   x     x     x     x     x"},
    {5, "100 100 .   .   100 100 .   .   .   .   100   100   100   100   ."},
    {6, ".   50  .   50  50  .   .   .   .   .   50    50    50    50    ."},
    {7, "100 100 100 100 100 100 100 100 100 100 100   100   100   100   100"},
    {8, "x   x   x   x   x   x   x   x   x   x   x     x     x     x     x"},
    {9, "x   x   x   x   x   x   x   x   x   x   x     x     x     x     x"},
    {10, "50 50  50  50  50  50  50  50  50  50  50    50    50    50    50"},
    {11, ".  .   .   .   .   .   .   .   .   .   100   100   100   100   ."},
    {12, ".  .   .   .   x   .   .   .   .   .   x     x     x     x     ."},
    {13, ".  .   .   .   .   .   .   .   .   .   .     50    .     .     ."},
    {14, ".  .   .   .   .   .   .   .   .   .   .     x     .     .     ."},
    {15, ".  .   .   .   .   .   .   .   .   .   .     .     x     .     ."},
    {16, "x  x   x   x   x   x   x   x   x   x   x     x     x     x     x"},
};

template <typename Key, typename Visit>
void ForEachCell(const std::vector<std::pair<Key, std::string>>& table, Visit&& visit) {
  for (const auto& [key, text] : table) {
    std::istringstream cells(text);
    size_t visited = 0;
    for (uint32_t chip : Columns()) {
      std::string cell;
      ASSERT_TRUE(cells >> cell) << key;
      visit(key, chip, cell);
      ++visited;
    }
    EXPECT_EQ(visited, chips::All().size()) << key;
  }
}

TEST(ChipRules, TheTablesHaveAColumnForEveryChip) {
  EXPECT_EQ(Columns(), chips::All());
}

TEST(ChipRules, EveryDataTypeOnEveryChip) {
  uint64_t all = kAicpuModel;
  ForEachCell(kDataTypes, [&](uint64_t bit, uint32_t chip, const std::string& cell) {
    all |= bit;
    const bool has = cell == "x";
    EXPECT_EQ(chips::HasDataType(chip, bit), has) << std::hex << bit << " on " << chip;
    const Result result = chips::CheckDataTypes(chip, bit | kAicpuModel);
    EXPECT_EQ(result.code, has ? 0 : 500005) << std::hex << bit << " on " << chip;
    EXPECT_EQ(result.text.empty(), has);
  });
  EXPECT_EQ(all, kKnownDataTypes) << "a bit that sessions accept is in no row";
}

TEST(ChipRules, EveryGroupOfCountersOnEveryChip) {
  ForEachCell(kGroups, [](int group, uint32_t chip, const std::string& cell) {
    EXPECT_EQ(chips::HasGroup(chip, group), cell == "x") << group << " on " << chip;
  });
  for (uint32_t chip : Columns()) {
    for (int group : {-1, 9, 0xff}) EXPECT_FALSE(chips::HasGroup(chip, group)) << group << " on " << chip;
  }
}

// A text that is right for a setting where there is one.
std::string GoodText(int type, uint32_t hz) {
  const std::map<int, std::string> texts = {{1, "200MB"},         {4, "write"},          {8, "cpu"},
                                            {9, "mem"},           {12, "flow"},          {14, "Add,Mul"},
                                            {15, "Custom:1,0x2"}, {16, "/tmp/somewhere"}};
  const auto text = texts.find(type);
  return text == texts.end() ? std::to_string(hz ? hz : 1) : text->second;
}

TEST(ChipRules, EverySettingOnEveryChip) {
  ForEachCell(kSettings, [](int type, uint32_t chip, const std::string& cell) {
    const bool has = cell != ".";
    const uint32_t hz = has && cell != "x" ? static_cast<uint32_t>(std::stoul(cell)) : 0;
    EXPECT_EQ(chips::HasSetting(chip, type), has) << type << " on " << chip;
    if (has) {
      EXPECT_EQ(chips::MostHz(chip, type), hz) << type << " on " << chip;
    }
    Settings settings(chip);
    const Result result = settings.Set(type, GoodText(type, hz));
    EXPECT_EQ(result.code, has ? 0 : 100010) << type << " on " << chip << ": " << result.text;
    if (hz) {
      EXPECT_EQ(settings.Set(type, std::to_string(hz + 1)).code, 100010) << type << " on " << chip;
      EXPECT_EQ(settings.Hz(type), hz);
    }
  });
}

TEST(ChipRules, ARefusalNamesWhoHasIt) {
  EXPECT_EQ(chips::CheckDataTypes(1, 0x8002).text,
            "ACL_PROF_TASK_TIME_L3 (0x8000) is not available on chip 1; chips that have it: 5, 15");
}

TEST(ChipRules, AChipThatIsNewerThanTheTableIsTakenForTheOneItIsMostLike) {
  EXPECT_TRUE(chips::CheckDataTypes(30, kKnownDataTypes).ok());
  EXPECT_TRUE(chips::CheckDataTypes(1000, kKnownDataTypes).ok());
  EXPECT_FALSE(chips::HasSetting(1000, 14));
}

TEST(ChipRules, ListsOfEventsAndNamesAreReadAsPublished) {
  const std::pair<const char*, bool> events[] = {{"PipeUtilization", true},
                                                 {"Custom:0", true},
                                                 {"Custom:65535,0xffff", true},
                                                 {"Custom:1,2,3,4,5,6,7,8,9,10", true},
                                                 {"Custom:1,2,3,4,5,6,7,8,9,10,11", false},
                                                 {"Custom:65536", false},
                                                 {"Custom:", false},
                                                 {"Custom:1,", false},
                                                 {"Custom:x", false},
                                                 {"custom:1", false},
                                                 {"", false}};
  for (const auto& [text, good] : events) {
    Settings settings(17);
    EXPECT_EQ(settings.Set(ACL_PROF_NTS_METRICS, text).ok(), good) << text;
  }
  for (const auto& [text, good] : {std::pair{"Add", true}, {"Add,Add", true}, {"Add,", false}, {"", false}}) {
    Settings settings(16);
    EXPECT_EQ(settings.Set(ACL_PROF_OPTYPE, text).ok(), good) << text;
  }
  Settings settings(16);
  EXPECT_TRUE(settings.Set(ACL_PROF_OPTYPE, "Add").ok());
  EXPECT_TRUE(settings.Set(ACL_PROF_OPTYPE, "Mul").ok());
  EXPECT_EQ(settings.Text(ACL_PROF_OPTYPE), "Mul");
}

}  // namespace
}  // namespace npuprof
