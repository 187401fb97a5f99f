// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "msprof/modes.h"

int main(int argc, char** argv) {
  using namespace msprof;
  if (argc < 2) {
    fmt::print("{}", Help());
    return kFailed;
  }
  if (std::string_view(argv[1]).starts_with("op")) {
    ::execvp("msopprof", argv);
    fmt::print("[ERROR] '{}' is for msopprof, which is not installed\n", argv[1]);
    return kFailed;
  }
  try {
    const Request request = Request::Parse(argc, argv);
    if (request.help) {
      fmt::print("{}", Help());
      return kGood;
    }
    return Run(request);
  } catch (const Misuse& misuse) {
    fmt::print("[ERROR] {}\n", misuse.what());
    return kFailed;
  }
}
