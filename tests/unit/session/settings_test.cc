// SPDX-License-Identifier: Apache-2.0
#include "session/settings.h"

#include <gtest/gtest.h>

namespace npuprof {
namespace {

struct Case {
  int type;
  std::string text;
  int code;
};

// As published for A2: type, text, code.
const Case kCases[] = {
    {1, "200MB", 0},
    {1, "4294967295MB", 0},
    {1, "4294967296MB", 0},
    {1, "", 0},
    {1, "199MB", 100010},
    {1, "4294967297MB", 100010},
    {1, "99999999999999999999MB", 100010},
    {1, "50", 100010},
    {1, "200", 100010},
    {1, "200mb", 100010},
    {1, "MB", 100010},
    {1, "-200MB", 100010},
    {2, "1", 100010},
    {3, "1", 0},
    {3, "100", 0},
    {3, "050", 0},
    {3, "0", 100010},
    {3, "101", 100010},
    {3, "0050", 100010},
    {3, "", 100010},
    {3, "+5", 100010},
    {3, " 5", 100010},
    {3, "5Hz", 100010},
    {4, "read", 0},
    {4, "write", 0},
    {4, "", 100010},
    {4, "Read", 100010},
    {4, "read,write", 100010},
    {5, "100", 0},
    {5, "101", 100010},
    {6, "50", 0},
    {6, "51", 100010},
    {6, "050", 100010},
    {7, "100", 0},
    {7, "x", 100010},
    {8, "cpu", 0},
    {8, "cpu,mem", 0},
    {8, "disk,network,osrt,numa", 0},
    {8, "", 0},
    {8, "cpu,", 100010},
    {8, "gpu", 100010},
    {9, "cpu,mem", 0},
    {9, "disk", 100010},
    {9, "", 0},
    {10, "50", 0},
    {10, "51", 100010},
    {11, "50", 100010},
    {12, "flow", 0},
    {12, "", 100010},
    {13, "10", 100010},
    {14, "Add", 100010},
    {15, "PipeUtilization", 100010},
    {16, "/tmp/somewhere", 0},
    {16, "/tmp/some;where", 100010},
    {16, "", 100010},
};

TEST(Settings, EveryTypeTakesWhatIsPublishedAndRefusesTheRestWithASentence) {
  for (const Case& c : kCases) {
    Settings settings;
    const Result result = settings.Set(c.type, c.text);
    EXPECT_EQ(result.code, c.code) << c.type << " '" << c.text << "'";
    EXPECT_EQ(result.text.empty(), c.code == 0) << c.type << " '" << c.text << "': " << result.text;
  }
}

TEST(Settings, ARefusedValueLeavesTheOldOne) {
  Settings settings;
  EXPECT_TRUE(settings.Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50").ok());
  EXPECT_FALSE(settings.Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "500").ok());
  EXPECT_EQ(settings.Hz(ACL_PROF_SYS_HARDWARE_MEM_FREQ), 50u);
  EXPECT_TRUE(settings.Set(ACL_PROF_STORAGE_LIMIT, "300MB").ok());
  EXPECT_FALSE(settings.Set(ACL_PROF_STORAGE_LIMIT, "50").ok());
  EXPECT_EQ(settings.StorageLimitMb(), 300u);
  EXPECT_TRUE(settings.Set(ACL_PROF_STORAGE_LIMIT, "").ok());
  EXPECT_EQ(settings.StorageLimitMb(), 0u);
}

TEST(Settings, StorageLimitIsANumberOfMegabytesFromTwoHundredOn) {
  for (const auto& [text, megabytes] : {std::pair{"200MB", 200u}, {"4294967295MB", 4294967295u}, {"", 0u}}) {
    Settings settings;
    EXPECT_TRUE(settings.Set(ACL_PROF_STORAGE_LIMIT, text).ok()) << text;
    EXPECT_EQ(settings.StorageLimitMb(), megabytes) << text;
  }
  for (const char* text : {"199MB", "200", "200mb", "200 MB", "MB", "-200MB", "0x200MB", "99999999999MB"}) {
    Settings settings;
    const Result result = settings.Set(ACL_PROF_STORAGE_LIMIT, text);
    EXPECT_EQ(result.code, code::kInvalidConfig) << text;
    EXPECT_NE(result.text.find(text), std::string::npos) << result.text;
    EXPECT_EQ(settings.StorageLimitMb(), 0u) << text;
  }
}

TEST(Settings, ASentenceNamesTheValueAndWhatIsAllowed) {
  Settings settings;
  EXPECT_EQ(settings.Set(ACL_PROF_SYS_IO_FREQ, "101").text,
            "ACL_PROF_SYS_IO_FREQ is '101'; allowed is an integer from 1 to 100, digits only");
  EXPECT_EQ(settings.Set(ACL_PROF_LOW_POWER_FREQ, "1").text,
            "ACL_PROF_LOW_POWER_FREQ (11) is not available on chip A2");
}

TEST(Settings, EmptyListsOfHostDataAskForNothing) {
  Settings settings;
  EXPECT_TRUE(settings.Set(ACL_PROF_HOST_SYS, "").ok());
  EXPECT_FALSE(settings.Has(ACL_PROF_HOST_SYS, "cpu"));
  EXPECT_FALSE(settings.Has(ACL_PROF_HOST_SYS, ""));
  EXPECT_TRUE(settings.Set(ACL_PROF_HOST_SYS, "mem,cpu").ok());
  EXPECT_TRUE(settings.Has(ACL_PROF_HOST_SYS, "cpu"));
  EXPECT_FALSE(settings.Has(ACL_PROF_HOST_SYS, "cp"));
}

}  // namespace
}  // namespace npuprof
