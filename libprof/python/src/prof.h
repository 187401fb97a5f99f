// SPDX-License-Identifier: Apache-2.0
// The pieces of the extension acl._prof, which needs the profiling library alone.
#pragma once

#include "binding.h"

namespace npuprof::python {

void BindProf(py::module_& prof);       // control, stamps
void BindSteps(py::module_& prof);      // step marks
void BindSubscribe(py::module_& prof);  // models through a pipe, and what comes out of it
void BindConstants(py::module_& prof);

}  // namespace npuprof::python
