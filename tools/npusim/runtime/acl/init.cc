// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "npuprof/npuprof.h"
#include "runtime/acl/api.h"

using namespace npusim;

namespace {

enum class State { kNever, kStarted, kEnded };
std::mutex g_mutex;
State g_state = State::kNever;

// Text of a configuration file that is an object, or a failure.
int ReadConfig(const char* path, std::string* text, bool* wants_profiler) {
  std::ifstream in(path);
  std::stringstream buffer;
  if (!in || !(buffer << in.rdbuf()))
    return rtFail(ACL_ERROR_INVALID_FILE, fmt::format("configuration file {} cannot be read", path));
  *text = buffer.str();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object())
    return rtFail(ACL_ERROR_PARSE_FILE, fmt::format("configuration file {} is no JSON object", path));
  *wants_profiler = json.contains("profiler");
  return ACL_SUCCESS;
}

}  // namespace

aclError aclInit(const char* configPath) {
  std::lock_guard lock(g_mutex);
  if (g_state == State::kStarted) return rtFail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called already");
  std::string config;
  bool wants_profiler = false;
  if (configPath != nullptr && *configPath != 0)
    if (int code = ReadConfig(configPath, &config, &wants_profiler); code != ACL_SUCCESS) return code;
  rtDeviceCount();  // creates the devices, so that complaints about NPUSIM_* come here
  MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0);
  if (wants_profiler) {
    const int32_t status =
        MsprofInit(MSPROF_CTRL_INIT_ACL_JSON, config.data(), static_cast<uint32_t>(config.size()));
    if (status != MSPROF_ERROR_NONE && status != MSPROF_ERROR_ACL_JSON_OFF)
      return rtFail(status == MSPROF_ERROR_CONFIG_INVALID ? ACL_ERROR_INVALID_PARAM
                                                          : ACL_ERROR_INVALID_PROFILING_CONFIG,
                    fmt::format("the profiler settings in {} are refused with {}", configPath, status));
  }
  g_state = State::kStarted;
  return ACL_SUCCESS;
}

aclError aclFinalize(void) {
  std::lock_guard lock(g_mutex);
  if (g_state == State::kNever) return rtFail(ACL_ERROR_UNINITIALIZE, "aclInit was never called");
  if (g_state == State::kEnded) return rtFail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called already");
  rtResetAllDevices();
  MsprofFinalize();
  g_state = State::kEnded;
  return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  if (int code = NotNull(
          {{"majorVersion", majorVersion}, {"minorVersion", minorVersion}, {"patchVersion", patchVersion}}))
    return code;
  *majorVersion = ACL_MAJOR_VERSION;
  *minorVersion = ACL_MINOR_VERSION;
  *patchVersion = ACL_PATCH_VERSION;
  return ACL_SUCCESS;
}

// One text for both: programs ask here for the profiler's errors too.
const char* aclGetRecentErrMsg(void) {
  thread_local std::string both;
  const char *runtime = rtTakeMessage(), *profiler = npuprofTakeError();
  if (runtime == nullptr || profiler == nullptr) return runtime != nullptr ? runtime : profiler;
  both = std::string(runtime) + "\n" + profiler;
  return both.c_str();
}

const char* aclrtGetSocName(void) {
  return rtDeviceCount() == 0 ? nullptr : "npuprof-refnpu";
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt,
               ...) {
  static const int admitted = [] {
    const char* text = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    return text != nullptr && *text >= '0' && *text <= '4' && text[1] == 0 ? *text - '0'
                                                                           : static_cast<int>(ACL_ERROR);
  }();
  if (logLevel < admitted || fmt == nullptr) return;
  constexpr const char* names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  char text[1024];
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text, sizeof text, fmt, arguments);
  va_end(arguments);
  std::fprintf(stderr, "[%s] %s:%u %s: %s\n", logLevel <= ACL_ERROR ? names[logLevel] : "?", file ? file : "",
               line, func ? func : "", text);
}
