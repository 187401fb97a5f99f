// SPDX-License-Identifier: Apache-2.0
// An exported function that does nothing, the measure of what a call into a library costs in any case.
#include <stdint.h>

__attribute__((visibility("default"))) int32_t EmptyEntry(uint32_t flag, const void* data, uint32_t length) {
  (void)flag;
  (void)data;
  (void)length;
  return 0;
}
