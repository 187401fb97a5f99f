// SPDX-License-Identifier: Apache-2.0
#include "analysis/spill.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "analysis/error.h"
#include "analysis/string_pool.h"
#include "csv.h"

namespace npuprof::test {
namespace {
using analysis::SpillMap;
using analysis::SpillSpace;
using analysis::SpillVector;
using analysis::StringPool;

struct Item {
  uint64_t key, order;
};

TEST(Spill, SortsLikeMemoryAndKeepsTheOrderOfEquals) {
  constexpr size_t kItems = 50'000;  // more than ten parts
  TemporaryDirectory directory;
  SpillSpace space(directory.path(), 1);
  SpillVector<Item> items(&space);
  std::mt19937_64 random(1);
  std::vector<Item> expected;
  for (size_t i = 0; i < kItems; ++i) {
    const Item item{random() % 1000, i};
    items.push_back(item);
    expected.push_back(item);
  }
  EXPECT_GE(space.spilled(), kItems * sizeof(Item));
  const auto less = [](const Item& a, const Item& b) { return a.key < b.key; };
  items.Sort(less);
  std::stable_sort(expected.begin(), expected.end(), less);
  ASSERT_EQ(items.size(), kItems);
  for (size_t i = 0; i < kItems; ++i) {
    ASSERT_EQ(items[i].key, expected[i].key) << i;
    ASSERT_EQ(items[i].order, expected[i].order) << i;
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "files have no names";
}

TEST(Spill, SmallArraysNeedNoFile) {
  SpillSpace space("/nonexistent");
  SpillVector<uint64_t> items(&space);
  for (uint64_t i = 0; i < 10'000; ++i) items.push_back(10'000 - i);
  items.Sort(std::less<>());
  EXPECT_EQ(items[0], 1u);
  EXPECT_EQ(space.spilled(), 0u);
}

TEST(Spill, ADirectoryThatCannotBeUsedIsNamed) {
  SpillSpace space("/nonexistent", 1);
  SpillVector<uint64_t> items(&space);
  try {
    items.push_back(1);
    FAIL() << "nothing was thrown";
  } catch (const analysis::Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent has no room"), std::string::npos) << error.what();
  }
}

TEST(Spill, TextsAndNumbersAreFoundAgain) {
  constexpr uint64_t kTexts = 30'000;
  TemporaryDirectory directory;
  SpillSpace space(directory.path(), 1);
  StringPool pool(&space);
  SpillMap numbers(&space);
  const std::string_view first = pool[pool.Add("first")];
  for (uint64_t i = 0; i < kTexts; ++i) numbers.Set(i << 40 | i, pool.Add("text " + std::to_string(i)));
  EXPECT_EQ(first, "first") << "texts stay where they are";
  EXPECT_EQ(pool.size(), kTexts + 2);
  for (uint64_t i = 0; i < kTexts; ++i) {
    const std::string text = "text " + std::to_string(i);
    const uint32_t* number = numbers.Find(i << 40 | i);
    ASSERT_NE(number, nullptr) << i;
    ASSERT_EQ(pool[*number], text);
    ASSERT_EQ(pool.Add(text), *number);
  }
  EXPECT_EQ(numbers.Find(kTexts), nullptr);
  const std::string longest(1 << 20, 'x');
  EXPECT_EQ(pool[pool.Add(longest)], longest);
}

}  // namespace
}  // namespace npuprof::test
