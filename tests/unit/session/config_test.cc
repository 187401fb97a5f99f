// SPDX-License-Identifier: Apache-2.0
#include "session/config.h"

#include <gtest/gtest.h>

#include <numeric>

namespace npuprof {
namespace {

constexpr uint64_t kModel = 0x4000000000000000;

TEST(Config, DataTypesAreCompletedAsPublished) {
  const std::pair<uint64_t, uint64_t> cases[] = {
      {0, kModel},
      {0x1, kModel | 0x1},
      {0x2, kModel | 0x2 | 0x800 | 0x40},
      {0x800, kModel | 0x800 | 0x40},
      {0x2000, kModel | 0x2000 | 0x802 | 0x40},
      {0x4000, kModel | 0x4000 | 0x802 | 0x40},
      {0x8000, kModel | 0x8000 | 0x2802 | 0x40},
      {0x400000000, 0x400000001},
      {0x400000807, 0x400000001},
      {0x10, kModel | 0x10},
  };
  for (const auto& [given, stored] : cases) EXPECT_EQ(CompleteDataTypes(given), stored) << Hex(given);
}

TEST(Config, BitsThatNoSessionAcceptsAreRefusedAtStart) {
  EXPECT_EQ(CheckDataTypes(0).code, 100000);
  EXPECT_EQ(CheckDataTypes(kKnownDataTypes).code, 0);
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t mask = uint64_t{1} << bit;
    EXPECT_EQ(CheckDataTypes(kModel | mask).code, kKnownDataTypes & mask ? 0 : 200007) << bit;
  }
}

class ConfigTest : public testing::Test {
 protected:
  int Create(std::vector<uint32_t> ids, uint64_t types, uint32_t present = 2, const void* events = nullptr) {
    std::vector<uint32_t> there(present);
    std::iota(there.begin(), there.end(), 0u);
    return CreateOf(std::move(ids), types, there, events);
  }
  int CreateOf(std::vector<uint32_t> ids, uint64_t types, const std::vector<uint32_t>& there,
               const void* events = nullptr) {
    const Result result =
        CreateConfig(ids.data(), static_cast<uint32_t>(ids.size()), 1, events, types, there, &config_);
    EXPECT_EQ(config_ != nullptr, result.ok());
    EXPECT_EQ(result.text.empty(), result.ok());
    if (config_) {
      copy_ = *config_;
      EXPECT_TRUE(DestroyConfig(config_).ok());
    }
    return result.code;
  }
  aclprofConfig* config_ = nullptr;
  aclprofConfig copy_ = {};
};

TEST_F(ConfigTest, OnlyPossibleListsOfDevicesAreTaken) {
  EXPECT_EQ(Create({0}, 1), 0);
  EXPECT_EQ(Create({1, 0}, 1), 0);
  EXPECT_EQ(Create({0, 0}, 1), 100000);
  EXPECT_EQ(Create({5}, 1), 100000);
  EXPECT_EQ(Create({2}, 1), 100000);
  EXPECT_EQ(Create({0, 1, 2}, 1), 100000);
  EXPECT_EQ(Create({}, 1), 100000);
  EXPECT_EQ(Create({}, 0x80), 0);
  EXPECT_EQ(Create({}, 0x81), 0);
  EXPECT_EQ(Create({0}, 1, 0), 100000);
  EXPECT_EQ(Create({0}, 1, 2, this), 100000);
  std::vector<uint32_t> many(64);
  std::iota(many.begin(), many.end(), 0u);
  EXPECT_EQ(Create(many, 1, 64), 0);
  EXPECT_EQ(copy_.dev_nums, 65u);
  many.push_back(64);
  EXPECT_EQ(Create(many, 1, 65), 100000);
  aclprofConfig* config = nullptr;
  EXPECT_EQ(CreateConfig(nullptr, 1, 1, nullptr, 1, {0, 1}, &config).code, 100000);
}

TEST_F(ConfigTest, DevicesBehindAGapAreTaken) {
  EXPECT_EQ(CreateOf({1}, 1, {1}), 0);
  EXPECT_EQ(CreateOf({0, 2}, 1, {0, 2}), 0);
  EXPECT_EQ(copy_.dev_ids[1], 2u);
  EXPECT_EQ(CreateOf({0}, 1, {1}), 100000);
  EXPECT_EQ(CreateOf({0, 1}, 1, {0, 2}), 100000);
}

TEST_F(ConfigTest, TypesAndGroupAreNotJudgedHere) {
  EXPECT_EQ(Create({0}, 0), 0);
  EXPECT_EQ(copy_.data_types, kModel);
  EXPECT_EQ(Create({0}, 0xffffffffffff0000), 0);
}

TEST_F(ConfigTest, TheHostStandsAtTheEndOfTheList) {
  EXPECT_EQ(Create({1}, 0x400000000), 0);
  EXPECT_EQ(copy_.dev_nums, 2u);
  EXPECT_EQ(copy_.dev_ids[0], 1u);
  EXPECT_EQ(copy_.dev_ids[1], 64u);
  EXPECT_EQ(copy_.data_types, 0x400000001u);
  EXPECT_EQ(ToWanted(copy_).devices, std::vector<uint32_t>{1});
}

TEST_F(ConfigTest, APointerThatIsNoLivingConfigurationIsRefused) {
  EXPECT_EQ(Create({0}, 1), 0);
  EXPECT_EQ(DestroyConfig(config_).code, 100000);
  EXPECT_EQ(DestroyConfig(nullptr).code, 100000);
  aclprofConfig other = {};
  EXPECT_EQ(DestroyConfig(&other).code, 100000);
  EXPECT_EQ(CopyConfig(&other, &copy_).code, 100000);
}

}  // namespace
}  // namespace npuprof
