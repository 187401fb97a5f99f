// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "drain/drain.h"

namespace npuprof::drain {

const char* PathName(Path path) {
  switch (path) {
    case Path::kUring:
      return "uring";
    case Path::kDirect:
      return "direct";
    case Path::kPwritev:
      return "pwritev";
  }
  return "unknown";
}

Options Options::FromEnvironment(std::vector<std::string>* warnings) {
  Options options;
  const auto warn = [&](std::string text) {
    if (warnings != nullptr) warnings->push_back(std::move(text));
  };
  if (const char* value = std::getenv("NPUPROF_DRAIN"); value != nullptr && *value != '\0') {
    const std::string_view name = value;
    if (name == "auto") {
      options.path = Choice::kAuto;
    } else if (name == "uring") {
      options.path = Choice::kUring;
    } else if (name == "direct") {
      options.path = Choice::kDirect;
    } else if (name == "pwritev") {
      options.path = Choice::kPwritev;
    } else {
      warn(fmt::format("NPUPROF_DRAIN is \"{}\"; allowed are auto, uring, direct and pwritev; auto is used",
                       name));
    }
  }
  if (const char* value = std::getenv("NPUPROF_STAGING_MB"); value != nullptr && *value != '\0') {
    const char* end = value + std::strlen(value);
    size_t megabytes = 0;
    const auto [stop, error] = std::from_chars(value, end, megabytes);
    if (error != std::errc() || stop != end || megabytes < 1 || megabytes > 4096) {
      warn(fmt::format("NPUPROF_STAGING_MB is \"{}\"; allowed is a number from 1 to 4096; {} is used", value,
                       options.staging_bytes >> 20));
    } else {
      options.staging_bytes = megabytes << 20;
    }
  }
  return options;
}

}  // namespace npuprof::drain
