// SPDX-License-Identifier: Apache-2.0
#include "npuprof/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "npuprof/error.h"

namespace npuprof::cli {

std::string JsonText(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void CheckPrinted() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(fmt::format("the output could not be written: {}", std::strerror(errno)));
}

}  // namespace npuprof::cli
