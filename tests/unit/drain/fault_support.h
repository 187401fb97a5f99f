// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "drain/fault_writer.h"
#include "support.h"

namespace npuprof::drain {

/// A drain that writes on each of the ways to disk, through what a test does to writes.
class FaultTest : public testing::TestWithParam<Options::Choice> {
 protected:
  Options With(FaultWriter::Rule rule) {
    Options options;
    options.path = GetParam();
    options.flush_interval = milliseconds(20);
    options.wrap_writer = [rule = std::move(rule)](std::unique_ptr<Writer> inner) {
      return std::make_unique<FaultWriter>(std::move(inner), rule);
    };
    return options;
  }
  Options Plain() {
    Options options;
    options.path = GetParam();
    return options;
  }

  TempDir dir_;
  Drain drain_;
  Messages messages_;
};

}  // namespace npuprof::drain
