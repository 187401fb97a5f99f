// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support.h"

namespace npuprof::drain {
namespace {

class OptionsTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("NPUPROF_DRAIN");
    unsetenv("NPUPROF_STAGING_MB");
  }
  Options Read(const char* path, const char* megabytes) {
    setenv("NPUPROF_DRAIN", path, 1);
    setenv("NPUPROF_STAGING_MB", megabytes, 1);
    warnings_.clear();
    return Options::FromEnvironment(&warnings_);
  }
  std::vector<std::string> warnings_;
};

TEST_F(OptionsTest, EveryPathAndTheBoundsOfStagingAreAccepted) {
  const std::pair<const char*, Options::Choice> names[] = {{"auto", Options::Choice::kAuto},
                                                           {"uring", Options::Choice::kUring},
                                                           {"direct", Options::Choice::kDirect},
                                                           {"pwritev", Options::Choice::kPwritev},
                                                           {"", Options::Choice::kAuto}};
  for (const auto& [name, choice] : names) {
    EXPECT_EQ(Read(name, "1").path, choice) << name;
    EXPECT_TRUE(warnings_.empty()) << name;
  }
  EXPECT_EQ(Read("auto", "1").staging_bytes, size_t{1} << 20);
  EXPECT_EQ(Read("auto", "4096").staging_bytes, size_t{4096} << 20);
  EXPECT_EQ(Read("auto", "").staging_bytes, size_t{64} << 20);
}

TEST_F(OptionsTest, AnythingElseIsNamedAndReplacedByTheDefault) {
  EXPECT_EQ(Read("fast", "1").path, Options::Choice::kAuto);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("\"fast\""), std::string::npos);
  for (const char* value : {"0", "4097", "-1", "64M", "sixty", "99999999999999999999"}) {
    EXPECT_EQ(Read("auto", value).staging_bytes, size_t{64} << 20) << value;
    ASSERT_EQ(warnings_.size(), 1u) << value;
    EXPECT_NE(warnings_[0].find(value), std::string::npos) << value;
  }
}

}  // namespace
}  // namespace npuprof::drain
