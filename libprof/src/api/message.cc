// SPDX-License-Identifier: Apache-2.0
#include "api/message.h"

#include <cstring>
#include <string>

#include "npuprof/npuprof.h"
#include "session/log.h"

namespace npuprof::api {
namespace {
// A plain array: it needs no destructor when a thread ends, and no memory when there is none.
thread_local char t_message[1024];
}  // namespace

int Answer(int code, const char* sentence) noexcept {
  if (code == 0) return 0;
  std::strncpy(t_message, sentence, sizeof(t_message) - 1);
  LogError(t_message);
  return code;
}

int Answer(const Result& result) noexcept {
  return Answer(result.code, result.text.c_str());
}

}  // namespace npuprof::api

extern "C" const char* npuprofLastMessage(void) {
  return npuprof::api::t_message;
}
