// SPDX-License-Identifier: Apache-2.0
#include "npuprof/acl_prof_loaded.h"

#include <cstddef>
#include <cstring>

#include "api/message.h"
#include "session/manager.h"
#include "session/stamps.h"

using npuprof::Manager;
using npuprof::Result;
using npuprof::api::Guarded;
namespace stamps = npuprof::stamps;

namespace {

// Programs cast to classes of their own that look like these. No function of them is ever called through a table, but
// the tables' pointers take room.
struct Info {
  virtual ~Info() = default;
  char compatibility[16] = {}, version[16] = {}, component[16] = {}, component_version[16] = {},
       log[128] = {};
};

struct Feature {
  Feature(const char* its_name, const char* version, const char* log) {
    std::strncpy(name, its_name, sizeof(name) - 1);
    std::strncpy(info.compatibility, "1", sizeof(info.compatibility) - 1);
    std::strncpy(info.version, version, sizeof(info.version) - 1);
    std::strncpy(info.component, "all", sizeof(info.component) - 1);
    std::strncpy(info.component_version, "all", sizeof(info.component_version) - 1);
    std::strncpy(info.log, log, sizeof(info.log) - 1);
  }
  virtual ~Feature() = default;
  char name[64] = {};
  Info info;
};
static_assert(sizeof(Feature) == 272 && sizeof(aclprofFeature) == 272);
static_assert(offsetof(aclprofFeature, compatibility) == 80 && offsetof(aclprofFeature, infoLog) == 144);

Feature* Features() {
  static Feature* features = new Feature[3]{{"ATTR", "2", "attributes of operators can be collected"},
                                            {"AICORE_SHAPE", "1", "shapes can be collected at level 0"},
                                            {"MemoryAccess", "1", "the counter group MemoryAccess is there"}};
  return features;
}

int Tell(size_t count, size_t* size, void** data) {
  return Guarded([&] {
    if (!size || !data) return Result::Null(size ? "featuresData" : "featuresSize");
    if (*data)
      return Result::Fail(npuprof::code::kInvalidParam,
                          "featuresData must lead to NULL; the library owns what it gets");
    *size = count;
    *data = Features();
    return Result::Ok();
  });
}

}  // namespace

extern "C" {

int aclprofGetSupportedFeatures(size_t* featuresSize, void** featuresData) {
  return Tell(2, featuresSize, featuresData);
}

int aclprofGetSupportedFeaturesV2(size_t* featuresSize, void** featuresData) {
  return Tell(3, featuresSize, featuresData);
}

int aclprofRegisterDeviceCallback(void) {
  return Guarded([] { return Manager::Process().FollowDevices(); });
}

int32_t aclprofSetCategoryName(uint32_t category, const char* categoryName) {
  return Guarded([&] { return stamps::NameCategory(category, categoryName); });
}

int32_t aclprofSetStampCategory(void* stamp, uint32_t category) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([=] { return stamps::SetCategory(stamp, category); });
}

int32_t aclprofSetStampPayload(void* stamp, const int32_t type, void* value) {
  if (stamps::Resting()) return stamps::kFailed;
  return Guarded([=] { return stamps::SetPayload(stamp, type, value); });
}

void aclprofMsproftxSwitch(bool isOpen) {
  stamps::Switch(isOpen);
}

aclError aclprofSetStampTagName(void* stamp, const char* tagName, uint16_t) {
  return Guarded([&] { return stamps::SetUnkept(stamp, tagName, "tag"); });
}

aclError aclprofSetStampCallStack(void* stamp, const char* callStack, uint32_t) {
  return Guarded([&] { return stamps::SetUnkept(stamp, callStack, "call stack"); });
}

aclError aclprofReportStamp(const char*, unsigned int, unsigned char*, unsigned int) {
  return Guarded([] {
    return Result::Fail(npuprof::code::kFeatureUnsupported,
                        "aclprofReportStamp takes records of a format that no reader knows any more");
  });
}

}  // extern "C"
