/* SPDX-License-Identifier: Apache-2.0 */
/* A component of a runtime in a library of its own. */
#include <stdint.h>

__attribute__((visibility("default"))) int32_t Callback(uint32_t type, void* data, uint32_t length) {
  (void)type, (void)data, (void)length;
  return 0;
}
