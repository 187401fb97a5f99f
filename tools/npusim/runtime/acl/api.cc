// SPDX-License-Identifier: Apache-2.0
#include "runtime/acl/api.h"

#include <array>

namespace npusim {
namespace {

struct CallInfo {
  uint32_t type;
  const char* name;
};

constexpr uint32_t OP = MSPROF_REPORT_ACL_OP_BASE_TYPE, MODEL = MSPROF_REPORT_ACL_MODEL_BASE_TYPE,
                   RUNTIME = MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE, NN = MSPROF_REPORT_ACL_NN_BASE_TYPE;

constexpr auto kCalls = std::to_array<CallInfo>({
#define NPUSIM_ROW(name, module, text) {module + static_cast<uint32_t>(AclCall::k##name), text},
    NPUSIM_ACL_CALLS(NPUSIM_ROW)
#undef NPUSIM_ROW
});

Switches g_switches;

int32_t OnCommand(uint32_t type, void* data, uint32_t length) {
  g_switches.Handle(type, data, length);
  return 0;
}

// Before main: a session may start ahead of aclInit().
struct Registration {
  Registration() {
    for (const CallInfo& call : kCalls) NameTypes(MSPROF_REPORT_ACL_LEVEL, call.type, {call.name});
    MsprofRegisterCallback(MSPROF_MODULE_ASCENDCL, OnCommand);
  }
} g_registration;

}  // namespace

Switches& AclSwitches() {
  return g_switches;
}
uint32_t AclSpan::TypeOf(AclCall call) {
  return kCalls[static_cast<size_t>(call)].type;
}

}  // namespace npusim
