// SPDX-License-Identifier: Apache-2.0
#include "trace/dictionary_file.h"

#include <gtest/gtest.h>

#include "support.h"

namespace npuprof::trace {
namespace {

TEST(DictionaryFile, OneLinePerEntryWhateverTheText) {
  drain::TempDir dir;
  drain::Drain drain;
  auto collection = drain.Open(drain::Options{}, nullptr, nullptr);
  DictionaryFile hashes(*collection, dir.path(), DictionaryFile::Kind::kHash);
  DictionaryFile types(*collection, dir.path(), DictionaryFile::Kind::kType);
  ASSERT_TRUE(collection
                  ->Run(
                      [&] {
                        EXPECT_TRUE(hashes.AddHash(UINT64_MAX, "MatMulV2"));
                        EXPECT_TRUE(hashes.AddHash(5, "a:b\nc\r" + std::string(1, '\0') + "d"));
                        EXPECT_TRUE(hashes.AddHash(6, ""));
                        EXPECT_TRUE(hashes.AddHash(7, std::string(1 << 20, 'x')));
                        EXPECT_TRUE(types.AddType(10000, 0, "node_basic_info"));
                      },
                      std::chrono::seconds(20))
                  .ok());
  ASSERT_TRUE(collection->Finish(std::chrono::seconds(20)).ok());
  EXPECT_EQ(drain::ReadFile(dir.path() + "/unaging.additional.hash_dic.slice_0"),
            "18446744073709551615:MatMulV2\n5:a:b c  d\n6:\n7:" + std::string(64 * 1024, 'x') + "\n");
  EXPECT_EQ(drain::ReadFile(dir.path() + "/unaging.additional.type_info_dic.slice_0"),
            "10000_0:node_basic_info\n");
  EXPECT_EQ(hashes.file().Report(dir.path()).records, 4u);
}

}  // namespace
}  // namespace npuprof::trace
