// SPDX-License-Identifier: Apache-2.0
#include "binding.h"

namespace npuprof::python {

void BindUtil(py::module_ m) {
  m.def(
      "bytes_to_ptr",
      [](const py::object& object) {
        if (!PyBytes_Check(object.ptr())) {
          throw py::type_error(std::string("bytes_to_ptr takes bytes, not ") +
                               Py_TYPE(object.ptr())->tp_name);
        }
        return AddressOf(PyBytes_AS_STRING(object.ptr()));
      },
      py::arg("data"), "bytes_to_ptr(data) -> address of the bytes, valid as long as the object lives");
  m.def(
      "ptr_to_bytes",
      [](Address address, size_t size) {
        if (address == 0 && size > 0) throw py::value_error("ptr_to_bytes cannot read from address 0");
        return py::bytes(At<const char*>(address), size);
      },
      py::arg("ptr"), py::arg("size"), "ptr_to_bytes(ptr, size) -> copy of the memory");
}

}  // namespace npuprof::python
