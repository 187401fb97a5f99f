// SPDX-License-Identifier: Apache-2.0
// main() of the programs that tests run: unlike GoogleTest's own it fails when the filter leaves nothing to
// do.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  return testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 98 : status;
}
