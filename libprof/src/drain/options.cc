// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/environment.h"
#include "drain/drain.h"
#include "drain/fault_writer.h"

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
  std::vector<std::string> unread;
  if (const auto megabytes =
          NumberFromEnvironment("NPUPROF_STAGING_MB", 1, 4096, fmt::format("{}", options.staging_bytes >> 20),
                                warnings != nullptr ? warnings : &unread)) {
    options.staging_bytes = *megabytes << 20;
  }
  if (DiskFault fault = DiskFaultFromEnvironment(warnings); fault.rule) {
    options.before_file_call = std::move(fault.before_file_call);
    options.wrap_writer = [rule = std::move(fault.rule)](std::unique_ptr<Writer> inner) {
      const bool blocks = inner->PollFd() < 0 && !inner->Calls();
      return std::make_unique<FaultWriter>(std::move(inner), rule, blocks);
    };
  }
  return options;
}

}  // namespace npuprof::drain
