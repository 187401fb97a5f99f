// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/visible.h"

#include <gtest/gtest.h>

namespace npusim {
namespace {

using Ids = std::vector<uint32_t>;

Ids Visible(const char* text, uint32_t count, std::string* complaint) {
  complaint->clear();
  return VisibleDevices(text, count, complaint);
}

TEST(VisibleDevicesTest, AListNumbersDevicesInItsOrder) {
  std::string complaint;
  EXPECT_EQ(Visible(nullptr, 3, &complaint), (Ids{0, 1, 2}));
  EXPECT_EQ(Visible("", 2, &complaint), (Ids{0, 1})) << "an empty value counts as not set";
  EXPECT_EQ(Visible("2,0", 3, &complaint), (Ids{2, 0}));
  EXPECT_EQ(Visible("1", 2, &complaint), (Ids{1}));
  EXPECT_EQ(complaint, "");
}

TEST(VisibleDevicesTest, ABadItemEndsTheListAndIsNamed) {
  const std::pair<const char*, Ids> lists[] = {{"1,4,0", {1}}, {"1,1,0", {1}},    {"x", {}},
                                               {"0, 1", {0}},  {"0,,1", {0}},     {"-1", {}},
                                               {"0,", {0}},    {"4294967296", {}}};
  for (const auto& [text, ids] : lists) {
    std::string complaint;
    EXPECT_EQ(Visible(text, 3, &complaint), ids) << text;
    for (const std::string& part :
         {std::string("ASCEND_RT_VISIBLE_DEVICES is \"") + text + "\"", std::string("0 to 2")})
      EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
    EXPECT_TRUE(complaint.ends_with(ids.empty() ? ": no device" : ": " + std::to_string(ids[0])))
        << complaint;
  }
  std::string complaint;
  EXPECT_EQ(Visible("0", 0, &complaint), Ids{});
  EXPECT_NE(complaint.find("there is no device"), std::string::npos) << complaint;
}

}  // namespace
}  // namespace npusim
