// SPDX-License-Identifier: Apache-2.0
// What the files of the extension share: handles as integers and strict text arguments.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <utility>

namespace npuprof::python {

namespace py = pybind11;

/// A pointer as Python sees it; 0 is NULL.
using Address = uint64_t;

template <typename T = void*>
T At(Address address) {
  return reinterpret_cast<T>(static_cast<uintptr_t>(address));
}
inline Address AddressOf(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// The C text of a str. Bytes that are no UTF-8, which Python keeps as lone surrogates in names of files, come out as
/// they went in. @throws TypeError for anything else than str, bytes included; UnicodeEncodeError for other surrogates
inline std::string Text(const py::object& object, const char* name) {
  if (!PyUnicode_Check(object.ptr())) {
    throw py::type_error(std::string(name) + " must be str, not " + Py_TYPE(object.ptr())->tp_name);
  }
  PyObject* bytes = PyUnicode_AsEncodedString(object.ptr(), "utf-8", "surrogateescape");
  if (bytes == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

/// The str of bytes that C calls text; the reverse of Text().
inline py::object FromText(const char* text, size_t size) {
  PyObject* object = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "surrogateescape");
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

/// The interpreter runs other threads while the function does; its arguments and results must be C++ values.
using NoLock = py::call_guard<py::gil_scoped_release>;

void BindAcl(py::module_& module);
void BindRuntime(py::module_ rt);
void BindModel(py::module_ mdl);
void BindUtil(py::module_ util);

}  // namespace npuprof::python
