// SPDX-License-Identifier: Apache-2.0
// Events that a test makes and leaves to its fixture.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "acl/acl.h"

/// Destroys what it owns, at the latest with itself.
class Events {
 public:
  ~Events() { Clear(); }
  void Own(aclrtEvent event) { owned_.push_back(event); }
  void Clear() {
    for (aclrtEvent event : owned_) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    owned_.clear();
  }

 private:
  std::vector<aclrtEvent> owned_;
};
