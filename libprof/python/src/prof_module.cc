// SPDX-License-Identifier: Apache-2.0
#include "prof.h"

PYBIND11_MODULE(_prof, m) {
  using namespace npuprof::python;
  m.doc() = "What acl.prof consists of.";
  BindConstants(m);
  BindProf(m);
  BindSteps(m);
  BindSubscribe(m);
}
