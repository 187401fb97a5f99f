// SPDX-License-Identifier: Apache-2.0
#include "api/message.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "npuprof/npuprof.h"
#include "session/log.h"
#include "session/manager.h"

namespace npuprof::api {
namespace {
struct Texts {
  char message[1024] = {};
  const char* family = nullptr;  // of an error that nobody took yet
  char error[sizeof(message) + 16] = {};
};

// Not thread_local, but memory of threads that were refused something: a library that is loaded late shares some hundred
// bytes of thread-local memory with all others of the process, and cannot be loaded when they are used up.
pthread_key_t g_key;
bool g_key_made = false;

__attribute__((constructor)) void MakeKey() {
  g_key_made = pthread_key_create(&g_key, [](void* texts) { delete static_cast<Texts*>(texts); }) == 0;
}

Texts* Mine() {
  return g_key_made ? static_cast<Texts*>(pthread_getspecific(g_key)) : nullptr;
}

// NULL if there is no memory.
Texts* Make() {
  Texts* texts = Mine();
  if (texts || !g_key_made) return texts;
  auto fresh = std::unique_ptr<Texts>(new (std::nothrow) Texts);
  return fresh && pthread_setspecific(g_key, fresh.get()) == 0 ? fresh.release() : nullptr;
}
}  // namespace

int Answer(int code, const char* sentence, const char* family) noexcept {
  if (code == 0) return 0;
  if (Texts* texts = Make()) {
    texts->family = family;
    std::strncpy(texts->message, sentence, sizeof(texts->message) - 1);
  }
  LogError(sentence);
  return code;
}

int Answer(const Result& result) noexcept {
  return Answer(result.code, result.text.c_str(), FamilyOf(result));
}

}  // namespace npuprof::api

extern "C" const char* npuprofLastMessage(void) {
  const auto* texts = npuprof::api::Mine();
  return texts ? texts->message : "";
}

extern "C" const char* npuprofTakeError(void) {
  auto* texts = npuprof::api::Mine();
  if (!texts || !texts->family) return nullptr;
  std::snprintf(texts->error, sizeof(texts->error), "%s: %s", texts->family, texts->message);
  texts->family = nullptr;
  return texts->error;
}

extern "C" int npuprofGetStatus(npuprofStatus* status) {
  return npuprof::api::Guarded([&]() -> npuprof::Result {
    using npuprof::Result;
    if (!status) return Result::Null("the status");
    if (status->size < sizeof(*status))
      return Result::Fail(npuprof::code::kInvalidParam,
                          "the status has a size of " + std::to_string(status->size) +
                              " bytes; this version has " + std::to_string(sizeof(*status)));
    npuprof::Manager::Facts found;
    if (Result result = npuprof::Manager::Process().CollectFacts(&found); !result.ok()) return result;
    npuprofStatus told{};
    told.size = sizeof(told);
    told.mode = static_cast<int32_t>(found.mode);
    told.running = found.running;
    told.beginNs = found.begin_ns;
    told.dataTypes = found.data_types;
    told.deviceCount = static_cast<uint32_t>(std::min(found.devices.size(), std::size(told.devices)));
    std::copy_n(found.devices.begin(), told.deviceCount, told.devices);
    std::strncpy(told.directory, found.directory.c_str(), sizeof(told.directory) - 1);
    *status = told;
    return Result::Ok();
  });
}

static_assert(static_cast<int>(npuprof::Manager::Mode::kOff) == NPUPROF_MODE_OFF);
static_assert(static_cast<int>(npuprof::Manager::Mode::kApi) == NPUPROF_MODE_API);
static_assert(static_cast<int>(npuprof::Manager::Mode::kCommand) == NPUPROF_MODE_COMMAND);
static_assert(static_cast<int>(npuprof::Manager::Mode::kSubscribe) == NPUPROF_MODE_SUBSCRIBE);
