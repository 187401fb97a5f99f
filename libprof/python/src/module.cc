// SPDX-License-Identifier: Apache-2.0
#include "binding.h"

#include "acl/acl.h"

namespace npuprof::python {

void BindAcl(py::module_& m) {
  m.def(
      "init",
      [](const py::object& config) {
        if (config.is_none()) {
          py::gil_scoped_release unlock;
          return aclInit(nullptr);
        }
        const std::string path = Text(config, "config_path");
        py::gil_scoped_release unlock;
        return aclInit(path.c_str());
      },
      py::arg("config_path") = py::none(), "init(config_path=None) -> ret");
  m.def("finalize", &aclFinalize, NoLock(), "finalize() -> ret");
  m.def(
      "get_soc_name",
      []() -> py::object {
        const char* name = aclrtGetSocName();
        if (!name) return py::none();
        return py::str(name);
      },
      "get_soc_name() -> str, None without a device");
  m.def(
      "get_recent_err_msg",
      []() -> py::object {
        const char* text = aclGetRecentErrMsg();
        if (!text) return py::none();
        return py::str(text);
      },
      "get_recent_err_msg() -> why the last call of this thread failed; forgets it; None if none did");

  m.def(
      "create_data_buffer",
      [](Address data, size_t size) { return AddressOf(aclCreateDataBuffer(At<>(data), size)); },
      py::arg("data"), py::arg("size"), "create_data_buffer(data, size) -> buffer, 0 on failure");
  m.def(
      "destroy_data_buffer", [](Address buffer) { return aclDestroyDataBuffer(At<aclDataBuffer*>(buffer)); },
      py::arg("buffer"), "destroy_data_buffer(buffer) -> ret");
  m.def(
      "update_data_buffer",
      [](Address buffer, Address data, size_t size) {
        return aclUpdateDataBuffer(At<aclDataBuffer*>(buffer), At<>(data), size);
      },
      py::arg("buffer"), py::arg("data"), py::arg("size"), "update_data_buffer(buffer, data, size) -> ret");
  m.def(
      "get_data_buffer_addr",
      [](Address buffer) { return AddressOf(aclGetDataBufferAddr(At<aclDataBuffer*>(buffer))); },
      py::arg("buffer"), "get_data_buffer_addr(buffer) -> address");
  for (const char* name : {"get_data_buffer_size", "get_data_buffer_size_v2"}) {
    m.def(
        name, [](Address buffer) { return aclGetDataBufferSizeV2(At<aclDataBuffer*>(buffer)); },
        py::arg("buffer"), "-> bytes");
  }
}

}  // namespace npuprof::python

PYBIND11_MODULE(_acl, m) {
  using namespace npuprof::python;
  BindAcl(m);
  BindRuntime(m.def_submodule("rt", "Devices, contexts, streams, events, memory."));
  BindModel(m.def_submodule("mdl", "Models and their data."));
  BindUtil(m.def_submodule("util", "Between Python objects and addresses."));
}
