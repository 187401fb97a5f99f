// SPDX-License-Identifier: Apache-2.0
// The library's own JSON against that of another library, byte by byte.
#include "trace/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace npuprof::trace {
namespace {

using Other = nlohmann::ordered_json;

std::string Dump(const Other& json, int indent) {
  return json.dump(indent, ' ', false, Other::error_handler_t::replace);
}

TEST(JsonTest, ValuesOfEveryKindAreWrittenAsElsewhere) {
  const std::map<std::string, std::string> texts = {{"b", "2"}, {"a", "1"}};
  const auto build = [&](auto array, auto add, auto object) {
    auto list = array();
    add(list, {{"x", 1}, {"y", "z"}});
    add(list, {{"x", true}, {"y", array()}});
    decltype(list) json = {{"text", std::string("t")},
                           {"small", INT64_MIN},
                           {"large", UINT64_MAX},
                           {"no", false},
                           {"list", list},
                           {"none", object()},
                           {"texts", texts},
                           {"deep", {{"one", 1}, {"two", {{"three", 3}, {"four", "4"}}}}}};
    json["later"] = {{"a", 1}, {"b", "c"}};
    json["small"] = 0;
    return json;
  };
  const Json ours =
      build([] { return Json::Array(); }, [](Json& list, Json one) { list.Add(std::move(one)); },
            [] { return Json::Object(); });
  const Other other =
      build([] { return Other::array(); }, [](Other& list, Other one) { list.push_back(std::move(one)); },
            [] { return Other::object(); });
  EXPECT_EQ(ours.Write(true), Dump(other, 1));
  EXPECT_EQ(ours.Write(false), Dump(other, -1));
}

TEST(JsonTest, EachByteAndCharacterIsWrittenAsElsewhere) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    EXPECT_EQ(Json(one).Write(false), Dump(one, -1)) << byte;
    all += one;
  }
  EXPECT_EQ(Other::parse(Json(all).Write(false)).get<std::string>().substr(0, 0x80), all.substr(0, 0x80));
  for (const char* text : {"数据🔥é", "\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff", "",
                           // Too long, half of a pair, beyond the last, cut off: no character.
                           "\xc0\xaf.", "\xe0\x80\xaf.", "\xed\xa0\x80.", "\xf0\x80\x80\xaf.",
                           "\xf4\x90\x80\x80.", "\xf5.", "a\x80", "a\xe6\x95", "\xe6\x95z"}) {
    const std::string written = Json(text).Write(false);
    ASSERT_TRUE(Other::accept(written)) << written;
    const bool whole = Dump(text, -1).find("\xef\xbf\xbd") == std::string::npos;
    EXPECT_EQ(written.find("\xef\xbf\xbd") == std::string::npos, whole) << written;
    EXPECT_EQ(whole ? written : "", whole ? Dump(text, -1) : "");
  }
}

}  // namespace
}  // namespace npuprof::trace
