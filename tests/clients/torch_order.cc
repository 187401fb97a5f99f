// SPDX-License-Identifier: Apache-2.0
// The order of calls in which PyTorch's adapter profiles a training step. Nothing is linked: the nine old functions are
// looked up in libascendcl.so, where each must be, the newer ones in libmsprofiler.so, where one that is missing counts as
// unsupported. With something in LD_PRELOAD every function is looked for among all loaded libraries first.
//
// usage: torch_order DIR LIBRARIES warm|cold [LEVEL]
// LIBRARIES is the directory that holds the libraries, LEVEL 0, 1 (as if none is given) or 2
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "mstx/ms_tools_ext.h"
#include "npuprof/acl_prof_loaded.h"
#include "npusim/npusim.h"

namespace {

constexpr uint64_t kBefore = 30, kInside = 50, kSecond = 20, kAfter = 10;
constexpr int kUnsupported = 200007;

std::map<std::string, std::string> g_from;
std::map<std::string, int> g_codes;

void* Open(const std::string& directory, const char* name) {
  void* library = dlopen((directory + "/" + name).c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "%s\n", dlerror());
  std::exit(3);
}

void* Find(void* library, const char* from, const char* name) {
  const char* preload = std::getenv("LD_PRELOAD");
  void* found = preload != nullptr && *preload != 0 ? dlsym(RTLD_DEFAULT, name) : nullptr;
  g_from[name] = found != nullptr ? "preloaded" : from;
  return found != nullptr ? found : dlsym(library, name);
}

class Library {
 public:
  Library(const std::string& directory, const char* name) : name_(name), handle_(Open(directory, name)) {}
  template <typename Function>
  Function* Need(const char* name) const {
    auto* found = reinterpret_cast<Function*>(Find(handle_, name_, name));
    if (found != nullptr) return found;
    std::fprintf(stderr, "%s is not in %s\n", name, name_);
    std::exit(4);
  }
  // Calls a function that may be missing, and remembers what it returned.
  template <typename Function, typename... Arguments>
  int Try(const char* name, Arguments... arguments) const {
    auto* found = reinterpret_cast<Function*>(Find(handle_, name_, name));
    const int code = found != nullptr ? static_cast<int>(found(arguments...)) : kUnsupported;
    g_codes[name] = code;
    return code;
  }

 private:
  const char* name_;
  void* handle_;
};

void Check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "torch_order: %s returned %d\n", what, code);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int level = argc == 5 ? std::atoi(argv[4]) : 1;
  if ((argc != 4 && argc != 5) || level < 0 || level > 2) {
    std::fprintf(stderr, "usage: torch_order DIR LIBRARIES warm|cold [LEVEL]\n");
    return 2;
  }
  const std::string libraries = argv[2];
  const bool warm = std::strcmp(argv[3], "warm") == 0;
  const Library runtime(libraries, "libruntime.so"), acl(libraries, "libascendcl.so"),
      profiler(libraries, "libmsprofiler.so"), marks(libraries, "libms_tools_ext.so");

  // The program itself.
  Check(acl.Need<decltype(aclInit)>("aclInit")(nullptr), "aclInit");
  const auto set_device = acl.Need<decltype(aclrtSetDevice)>("aclrtSetDevice");
  const auto new_stream = acl.Need<decltype(aclrtCreateStream)>("aclrtCreateStream");
  const auto synchronize = acl.Need<decltype(aclrtSynchronizeStream)>("aclrtSynchronizeStream");
  const auto launch = runtime.Need<decltype(npusimLaunch)>("npusimLaunch");
  aclrtStream stream = nullptr;
  Check(set_device(0), "aclrtSetDevice");
  Check(new_stream(&stream), "aclrtCreateStream");
  const auto run = [&](const char* name, uint64_t count) {
    Check(launch(stream, name, "MatMul", NPUSIM_OP_AI_CORE, 8, 18000, count), "npusimLaunch");
    Check(synchronize(stream), "aclrtSynchronizeStream");
  };

  // The adapter. Its nine functions are bound before the first is called.
  const auto init = acl.Need<decltype(aclprofInit)>("aclprofInit");
  const auto start = acl.Need<decltype(aclprofStart)>("aclprofStart");
  const auto stop = acl.Need<decltype(aclprofStop)>("aclprofStop");
  const auto finalize = acl.Need<decltype(aclprofFinalize)>("aclprofFinalize");
  const auto create = acl.Need<decltype(aclprofCreateConfig)>("aclprofCreateConfig");
  const auto destroy = acl.Need<decltype(aclprofDestroyConfig)>("aclprofDestroyConfig");
  acl.Need<decltype(aclprofCreateStepInfo)>("aclprofCreateStepInfo");
  acl.Need<decltype(aclprofGetStepTimestamp)>("aclprofGetStepTimestamp");
  acl.Need<decltype(aclprofDestroyStepInfo)>("aclprofDestroyStepInfo");

  g_codes["aclprofInit"] = init(argv[1], std::strlen(argv[1]));
  size_t count = 0;
  void* features = nullptr;
  profiler.Try<decltype(aclprofGetSupportedFeaturesV2)>("aclprofGetSupportedFeaturesV2", &count, &features);
  std::string known;
  for (size_t i = 0; i < count; ++i)
    known += std::string(known.empty() ? "" : " ") + static_cast<aclprofFeature*>(features)[i].featureName;

  const auto set = [&](aclprofConfigType type, const char* text) {
    profiler.Try<decltype(aclprofSetConfig)>("aclprofSetConfig", type, text, std::strlen(text));
  };
  const auto settings = [&] {
    set(ACL_PROF_HOST_SYS, "cpu,mem");
    set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50");
  };
  // What each level asks for. The lowest has no counters.
  constexpr uint64_t kLevels[] = {0x801, 0x27, 0x12f}, kMarks = 0x80;
  const auto make = [&] {
    uint32_t device = 0;
    return create(&device, 1, level == 0 ? ACL_AICORE_NONE : ACL_AICORE_PIPE_UTILIZATION, nullptr,
                  kLevels[level] | kMarks);
  };
  aclprofConfig* config = nullptr;
  if (warm) {
    settings();
    config = make();
    profiler.Try<decltype(aclprofWarmup)>("aclprofWarmup", config);
  }
  run("before", kBefore);
  settings();
  if (config == nullptr) config = make();
  if (config == nullptr) return 5;
  g_codes["aclprofStart"] = start(config);
  profiler.Try<decltype(aclprofRegisterDeviceCallback)>("aclprofRegisterDeviceCallback");

  const mstxRangeId step = marks.Need<decltype(mstxRangeStartA)>("mstxRangeStartA")("step", stream);
  run("inside", kInside);
  profiler.Try<decltype(aclprofMarkEx)>("aclprofMarkEx", "half way", size_t{8}, stream);
  marks.Need<decltype(mstxRangeEnd)>("mstxRangeEnd")(step);
  Check(synchronize(stream), "aclrtSynchronizeStream");
  // A device that no list names, opened after the adapter asked to be told of devices.
  Check(set_device(1), "aclrtSetDevice");
  Check(new_stream(&stream), "aclrtCreateStream");
  run("second", kSecond);

  g_codes["aclprofStop"] = stop(config);
  g_codes["aclprofDestroyConfig"] = destroy(config);
  g_codes["aclprofFinalize"] = finalize();
  run("after", kAfter);
  Check(acl.Need<decltype(aclFinalize)>("aclFinalize")(), "aclFinalize");

  std::printf("{\"features\": \"%s\", \"from\": {", known.c_str());
  const char* comma = "";
  for (const auto& [name, from] : g_from) {
    std::printf("%s\"%s\": \"%s\"", comma, name.c_str(), from.c_str());
    comma = ", ";
  }
  std::printf("}, \"codes\": {");
  comma = "";
  for (const auto& [name, code] : g_codes) {
    std::printf("%s\"%s\": %d", comma, name.c_str(), code);
    comma = ", ";
  }
  std::printf("}}\n");
  return 0;
}
