// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "acl/acl_prof.h"
#include "binding.h"

namespace npuprof::python {
namespace {

std::vector<uint32_t> DeviceIds(const py::object& object) {
  if (!PyList_Check(object.ptr())) {
    throw py::type_error(std::string("device_list must be list, not ") + Py_TYPE(object.ptr())->tp_name);
  }
  std::vector<uint32_t> ids;
  for (const py::handle item : py::reinterpret_borrow<py::list>(object)) {
    if (!PyLong_Check(item.ptr())) {
      throw py::type_error(std::string("device_list must hold int, not ") + Py_TYPE(item.ptr())->tp_name);
    }
    int overflow = 0;
    const long long id = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);
    if (overflow != 0 || id < 0 || id > UINT32_MAX) {
      throw py::value_error("device id " + std::string(py::str(item)) + " is not in 0..4294967295");
    }
    ids.push_back(static_cast<uint32_t>(id));
  }
  return ids;
}

Address CreateConfig(const py::object& device_list, int32_t metrics, Address events, uint64_t data_types) {
  std::vector<uint32_t> ids = DeviceIds(device_list);
  py::gil_scoped_release unlock;
  // An empty list is passed as no list, which the library judges by the data types.
  return AddressOf(aclprofCreateConfig(ids.empty() ? nullptr : ids.data(), static_cast<uint32_t>(ids.size()),
                                       static_cast<aclprofAicoreMetrics>(metrics),
                                       At<aclprofAicoreEvents*>(events), data_types));
}

aclprofConfig* Config(Address address) {
  return At<aclprofConfig*>(address);
}

}  // namespace

void BindProf(py::module_ m) {
  m.def(
      "init",
      [](const py::object& profiler_result_path) {
        const std::string path = Text(profiler_result_path, "profiler_result_path");
        py::gil_scoped_release unlock;
        return aclprofInit(path.c_str(), path.size());
      },
      py::arg("profiler_result_path"), "init(profiler_result_path) -> ret");
  // pyACL takes and ignores whatever is passed.
  m.def(
      "finalize",
      [](const py::args&) {
        py::gil_scoped_release unlock;
        return aclprofFinalize();
      },
      "finalize() -> ret");
  m.def(
      "create_config", &CreateConfig, py::arg("device_list"), py::arg("aicore_metrics"),
      py::arg("aicore_events"), py::arg("data_type_config"),
      "create_config(device_list, aicore_metrics, aicore_events, data_type_config) -> config, 0 on failure");
  m.def(
      "destroy_config", [](Address config) { return aclprofDestroyConfig(Config(config)); }, NoLock(),
      py::arg("profiler_config"), "destroy_config(profiler_config) -> ret");
  m.def(
      "set_config",
      [](int32_t type, const py::object& config) {
        const std::string text = Text(config, "config");
        py::gil_scoped_release unlock;
        return aclprofSetConfig(static_cast<aclprofConfigType>(type), text.c_str(), text.size());
      },
      py::arg("config_type"), py::arg("config"), "set_config(config_type, config) -> ret");
  m.def(
      "start", [](Address config) { return aclprofStart(Config(config)); }, NoLock(),
      py::arg("profiler_config"),
      "start(profiler_config) -> ret; 0: every device the program has opened, default data");
  m.def(
      "stop", [](Address config) { return aclprofStop(Config(config)); }, NoLock(),
      py::arg("profiler_config"), "stop(profiler_config) -> ret; 0: whatever runs");
}

}  // namespace npuprof::python
