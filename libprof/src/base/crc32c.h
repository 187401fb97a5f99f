// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace npuprof {

/// CRC-32C (Castagnoli, as iSCSI has it) of @p size bytes that follow those of @p before; start with 0. Any thread.
/// Takes the processor's instruction where it has one.
uint32_t Crc32c(uint32_t before, const void* data, size_t size);
/// The same without the instruction, for tests.
uint32_t Crc32cByTable(uint32_t before, const void* data, size_t size);

}  // namespace npuprof
