// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/owned_mutex.h"
#include "session/result.h"

/// What goes through the pipe of a subscription: one item per operator. Any thread.
namespace npuprof::op_item {

struct Item {
  uint32_t signature;  ///< CRC-32C of what follows
  uint32_t model;
  uint32_t flag;  ///< 0: an operator
  uint32_t thread;
  uint64_t operator_number;  ///< stands for name and type
  uint64_t duration, start, end;
  uint64_t execution;
  uint64_t cube_fops, vector_fops;
  uint32_t device;
  uint32_t reserved;
};
static_assert(sizeof(Item) == 80);
static_assert(offsetof(Item, operator_number) == 16 && offsetof(Item, device) == 72);

void Sign(Item* item);
/// The number of a name and a type, both numbers of the dictionary (0: unknown). The pairs there are stay for ever, so
/// that readers may ask as often as they like.
uint64_t NumberOf(uint64_t name, uint64_t type);
/// Texts of a number; "N/A" for what is unknown. False if the number was never given.
bool Texts(uint64_t number, const char** name, const char** type);

/// Item @p index of what was read from a pipe. kInvalidParam: NULL, bytes that are not a number of whole items, a
/// signature that does not fit, or no such item.
Result Read(const void* data, size_t bytes, uint32_t index, Item* item);
/// How many items there are; all signatures are checked.
Result Count(const void* data, size_t bytes, uint32_t* count);

/// For forks; see fork_locks.h.
OwnedMutex& Lock();

}  // namespace npuprof::op_item
