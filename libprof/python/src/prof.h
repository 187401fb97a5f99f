// SPDX-License-Identifier: Apache-2.0
// The pieces of the extension acl._prof, which needs the profiling library alone.
#pragma once

#include "binding.h"

namespace npuprof::python {

void BindProf(py::module_& prof);       // control, stamps
void BindConstants(py::module_& prof);

}  // namespace npuprof::python
