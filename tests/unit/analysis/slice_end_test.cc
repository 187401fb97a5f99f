// SPDX-License-Identifier: Apache-2.0
#include "analysis/slice_end.h"

#include <gtest/gtest.h>

#include <string>

namespace npuprof::analysis {
namespace {

std::string Filled(size_t size) {
  return std::string(size, 'x');
}

TEST(SliceEnd, WholeRecordsAreAllThereIs) {
  const SliceEnd end = FindEnd(Filled(40 * 5), 40);
  EXPECT_EQ(end.records, 5u);
  EXPECT_EQ(end.bytes, 200u);
  EXPECT_EQ(end.torn + end.unused, 0u);
  EXPECT_EQ(FindEnd("", 40).bytes, 0u);
}

TEST(SliceEnd, PartOfARecordIsTorn) {
  const SliceEnd end = FindEnd(Filled(40 * 5 + 13), 40);
  EXPECT_EQ(end.records, 5u);
  EXPECT_EQ(end.torn, 13u);
}

TEST(SliceEnd, ZerosBehindTheRecordsWereNeverWritten) {
  const SliceEnd end = FindEnd(Filled(64 * 100) + std::string(100'000, '\0'), 64);
  EXPECT_EQ(end.records, 100u);
  EXPECT_EQ(end.bytes, 6400u);
  EXPECT_EQ(end.unused, 100'000u);
}

TEST(SliceEnd, WhatLiesBehindUnwrittenSpaceIsLeftOut) {
  const SliceEnd end = FindEnd(Filled(4096) + std::string(8192, '\0') + Filled(4096), 64);
  EXPECT_EQ(end.records, 64u);
  EXPECT_EQ(end.unused, 8192u + 4096);
}

TEST(SliceEnd, RecordThatGoesOnInAnUnwrittenSectorIsTorn) {
  // 4096 = 102 * 40 + 16: record 102 has 16 bytes in the first sector.
  const SliceEnd end = FindEnd(Filled(4096) + std::string(8192, '\0'), 40);
  EXPECT_EQ(end.records, 102u);
  EXPECT_EQ(end.bytes, 102u * 40);
  EXPECT_EQ(end.torn, 40u);
}

TEST(SliceEnd, RecordWithZerosInsideASectorStays) {
  const SliceEnd end = FindEnd(Filled(40) + Filled(8) + std::string(32 + 4096, '\0'), 40);
  EXPECT_EQ(end.records, 2u);
}

TEST(SliceEnd, TextEndsWithItsLastLine) {
  const SliceEnd end = FindEnd(std::string("1:one\n2:two\n3:th") + std::string(10, '\0'), 0);
  EXPECT_EQ(end.records, 2u);
  EXPECT_EQ(end.bytes, 12u);
  EXPECT_EQ(end.torn, 4u);
  EXPECT_EQ(end.unused, 10u);
}

}  // namespace
}  // namespace npuprof::analysis
