// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_prof.h"
#include "prof.h"

namespace npuprof::python {

void BindSteps(py::module_& m) {
  m.def(
      "create_step_info", [] { return AddressOf(aclprofCreateStepInfo()); }, NoLock(),
      "create_step_info() -> step, 0 on failure\n\nA step of training; steps are numbered from 1.");
  m.def(
      "destroy_step_info", [](Address step) { aclprofDestroyStepInfo(At<aclprofStepInfo*>(step)); }, NoLock(),
      py::arg("step_info"), "destroy_step_info(step_info) -> None");
  m.def(
      "get_step_timestamp",
      [](Address step, int32_t tag, Address stream) {
        return aclprofGetStepTimestamp(At<aclprofStepInfo*>(step), static_cast<aclprofStepTag>(tag),
                                       At<aclrtStream>(stream));
      },
      NoLock(), py::arg("step_info"), py::arg("tag"), py::arg("stream"),
      "get_step_timestamp(step_info, tag, stream) -> ret\n\n"
      "Has the device note the begin (ACL_STEP_START) or the end (ACL_STEP_END) of the step when it comes to "
      "it on the "
      "stream.");
}

}  // namespace npuprof::python
