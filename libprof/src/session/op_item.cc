// SPDX-License-Identifier: Apache-2.0
#include "session/op_item.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "base/crc32c.h"
#include "host/dictionary.h"

namespace npuprof::op_item {
namespace {

constexpr size_t kSigned = sizeof(Item) - sizeof(uint32_t);

struct Operators {
  OwnedMutex mutex;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> numbers;
  std::deque<std::pair<uint64_t, uint64_t>> pairs;  // from number 1
};

Operators& Get() {
  static Operators& operators = *new Operators;  // outlives every thread
  return operators;
}

Result CheckRoom(const void* data, size_t bytes) {
  if (!data) return Result::Null("the data of operators");
  if (bytes == 0 || bytes % sizeof(Item) != 0 || bytes / sizeof(Item) > UINT32_MAX)
    return Result::Fail(
        code::kInvalidParam,
        fmt::format("the data of operators have {} bytes; allowed are multiples of {}", bytes, sizeof(Item)));
  return Result::Ok();
}

Result Take(const void* data, size_t index, Item* item) {
  std::memcpy(item, static_cast<const std::byte*>(data) + index * sizeof(Item), sizeof(Item));
  Item again = *item;
  Sign(&again);
  if (again.signature == item->signature) return Result::Ok();
  return Result::Fail(
      code::kInvalidParam,
      fmt::format("operator {} of the data was not written by this library, or was changed", index));
}

}  // namespace

OwnedMutex& Lock() {
  return Get().mutex;
}

void Sign(Item* item) {
  item->signature = Crc32c(0, &item->model, kSigned);
}

uint64_t NumberOf(uint64_t name, uint64_t type) {
  Operators& operators = Get();
  std::lock_guard<OwnedMutex> lock(operators.mutex);
  auto [found, fresh] = operators.numbers.try_emplace({name, type}, operators.pairs.size() + 1);
  if (fresh) operators.pairs.emplace_back(name, type);
  return found->second;
}

bool Texts(uint64_t number, const char** name, const char** type) {
  std::pair<uint64_t, uint64_t> pair;
  {
    Operators& operators = Get();
    std::lock_guard<OwnedMutex> lock(operators.mutex);
    if (number == 0 || number > operators.pairs.size()) return false;
    pair = operators.pairs[number - 1];
  }
  auto text = [](uint64_t id) {
    const char* found = id ? host::Dictionary::Process().Find(id) : nullptr;
    return found ? found : "N/A";
  };
  *name = text(pair.first);
  *type = text(pair.second);
  return true;
}

Result Read(const void* data, size_t bytes, uint32_t index, Item* item) {
  if (Result result = CheckRoom(data, bytes); !result.ok()) return result;
  if (index >= bytes / sizeof(Item))
    return Result::Fail(code::kInvalidParam,
                        fmt::format("operator {} of {}; they count from 0", index, bytes / sizeof(Item)));
  return Take(data, index, item);
}

Result Count(const void* data, size_t bytes, uint32_t* count) {
  if (!count) return Result::Null("the number of operators");
  if (Result result = CheckRoom(data, bytes); !result.ok()) return result;
  Item item;
  for (size_t i = 0; i < bytes / sizeof(Item); ++i) {
    if (Result result = Take(data, i, &item); !result.ok()) return result;
  }
  *count = static_cast<uint32_t>(bytes / sizeof(Item));
  return Result::Ok();
}

}  // namespace npuprof::op_item
