// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "acl/acl_prof.h"
#include "api/message.h"
#include "api/numbers.h"
#include "session/manager.h"
#include "session/op_item.h"
#include "session/subscription.h"

using npuprof::Manager;
using npuprof::Result;
using npuprof::api::AsInt;
using npuprof::api::Guarded;
namespace op_item = npuprof::op_item;
namespace code = npuprof::code;

namespace {

enum class Text { kName, kType };

// Name or type of an operator in the data; never NULL on success.
Result Find(Text which, const void* data, size_t bytes, uint32_t index, std::string_view* text) {
  op_item::Item item;
  if (Result result = op_item::Read(data, bytes, index, &item); !result.ok()) return result;
  const char *name = nullptr, *type = nullptr;
  if (!op_item::Texts(item.operator_number, &name, &type))
    return Result::Fail(code::kInvalidParam,
                        fmt::format("operator {} of the data is of another process", index));
  *text = which == Text::kName ? name : type;
  return Result::Ok();
}

aclError Length(Text which, const void* data, size_t bytes, uint32_t index, size_t* length) {
  return Guarded([&] {
    if (!length) return Result::Null("the length of the text");
    std::string_view text;
    if (Result result = Find(which, data, bytes, index, &text); !result.ok()) return result;
    *length = text.size() + 1;
    return Result::Ok();
  });
}

aclError Copy(Text which, const void* data, size_t bytes, uint32_t index, char* out, size_t room) {
  return Guarded([&] {
    if (!out) return Result::Null("the room for the text");
    std::string_view text;
    if (Result result = Find(which, data, bytes, index, &text); !result.ok()) return result;
    if (room <= text.size())
      return Result::Fail(code::kInvalidParam,
                          fmt::format("the text of operator {} needs {} bytes; there is room for {}", index,
                                      text.size() + 1, room));
    std::memcpy(out, text.data(), text.size());
    out[text.size()] = '\0';
    return Result::Ok();
  });
}

// A number of an operator, or @p otherwise.
template <typename Number, typename Get>
Number Value(const void* data, size_t bytes, uint32_t index, Number otherwise, Get&& get) {
  Number number = otherwise;
  Guarded([&] {
    op_item::Item item;
    Result result = op_item::Read(data, bytes, index, &item);
    if (result.ok()) number = static_cast<Number>(get(item));
    return result;
  });
  return number;
}

}  // namespace

extern "C" {

aclprofSubscribeConfig* aclprofCreateSubscribeConfig(int8_t timeInfoSwitch,
                                                     aclprofAicoreMetrics aicoreMetrics, void* fd) {
  aclprofSubscribeConfig* config = nullptr;
  Guarded([&] { return npuprof::CreateSubscribeConfig(timeInfoSwitch, AsInt(aicoreMetrics), fd, &config); });
  return config;
}

aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig* profSubscribeConfig) {
  return Guarded([&] { return npuprof::DestroySubscribeConfig(profSubscribeConfig); });
}

aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig* profSubscribeConfig) {
  return Guarded([&] { return Manager::Process().Subscribe(modelId, profSubscribeConfig); });
}

aclError aclprofModelUnSubscribe(uint32_t modelId) {
  return Guarded([&] { return Manager::Process().Unsubscribe(modelId); });
}

aclError aclprofGetOpDescSize(size_t* opDescSize) {
  return Guarded([&] {
    if (!opDescSize) return Result::Null("the size of an operator's description");
    *opDescSize = sizeof(op_item::Item);
    return Result::Ok();
  });
}

aclError aclprofGetOpNum(const void* opInfo, size_t opInfoLen, uint32_t* opNumber) {
  return Guarded([&] { return op_item::Count(opInfo, opInfoLen, opNumber); });
}

aclError aclprofGetOpTypeLen(const void* opInfo, size_t opInfoLen, uint32_t index, size_t* opTypeLen) {
  return Length(Text::kType, opInfo, opInfoLen, index, opTypeLen);
}

aclError aclprofGetOpType(const void* opInfo, size_t opInfoLen, uint32_t index, char* opType,
                          size_t opTypeLen) {
  return Copy(Text::kType, opInfo, opInfoLen, index, opType, opTypeLen);
}

aclError aclprofGetOpNameLen(const void* opInfo, size_t opInfoLen, uint32_t index, size_t* opNameLen) {
  return Length(Text::kName, opInfo, opInfoLen, index, opNameLen);
}

aclError aclprofGetOpName(const void* opInfo, size_t opInfoLen, uint32_t index, char* opName,
                          size_t opNameLen) {
  return Copy(Text::kName, opInfo, opInfoLen, index, opName, opNameLen);
}

uint64_t aclprofGetOpStart(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return Value<uint64_t>(opInfo, opInfoLen, index, 0, [](const auto& item) { return item.start; });
}

uint64_t aclprofGetOpEnd(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return Value<uint64_t>(opInfo, opInfoLen, index, 0, [](const auto& item) { return item.end; });
}

uint64_t aclprofGetOpDuration(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return Value<uint64_t>(opInfo, opInfoLen, index, 0, [](const auto& item) { return item.duration; });
}

size_t aclprofGetModelId(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return Value<size_t>(opInfo, opInfoLen, index, code::kInvalidParam,
                       [](const auto& item) { return item.model; });
}

aclprofSubscribeOpFlag aclprofGetOpFlag(const void* opInfo, size_t opInfoLen, uint32_t index) {
  return static_cast<aclprofSubscribeOpFlag>(
      Value<int>(opInfo, opInfoLen, index, ACL_SUBSCRIBE_NONE, [](const auto& item) { return item.flag; }));
}

const char* aclprofGetOpAttriValue(const void* opInfo, size_t opInfoLen, uint32_t index,
                                   aclprofSubscribeOpAttri attri) {
  thread_local char text[16];
  const char* value = nullptr;
  Guarded([&] {
    op_item::Item item;
    Result result = op_item::Read(opInfo, opInfoLen, index, &item);
    if (!result.ok()) return result;
    if (AsInt(attri) != ACL_SUBSCRIBE_ATTRI_THREADID)
      return Result::Fail(code::kInvalidParam,
                          fmt::format("attribute {}; allowed is 0, the thread", AsInt(attri)));
    if (item.flag != ACL_SUBSCRIBE_OP_THREAD)
      return Result::Fail(code::kInvalidParam,
                          "only operators of threads (flag 2) have the attribute thread");
    std::snprintf(text, sizeof(text), "%u", item.thread);
    value = text;
    return Result::Ok();
  });
  return value;
}

}  // extern "C"
