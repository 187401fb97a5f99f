// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_prof.h"

#include <cstring>
#include <vector>

#include "npuprof/npuprof.h"
#include "prof.h"
#include "profiling/prof_api.h"

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

void BindControl(py::module_& m) {
  m.def(
      "init",
      [](const py::object& profiler_result_path) {
        const std::string path = Text(profiler_result_path, "profiler_result_path");
        py::gil_scoped_release unlock;
        return aclprofInit(path.c_str(), path.size());
      },
      py::arg("profiler_result_path"),
      "init(profiler_result_path) -> ret\n\n"
      "Says where PROF_* directories go, as an absolute path or relative to the working directory. It is "
      "made by start(), "
      "not here.");
  // pyACL takes and ignores whatever is passed.
  m.def(
      "finalize",
      [](const py::args&) {
        py::gil_scoped_release unlock;
        return aclprofFinalize();
      },
      "finalize() -> ret\n\nEnds profiling; a running session is stopped first, and settings are forgotten.");
  m.def("create_config", &CreateConfig, py::arg("device_list"), py::arg("aicore_metrics"),
        py::arg("aicore_events"), py::arg("data_type_config"),
        "create_config(device_list, aicore_metrics, aicore_events, data_type_config) -> config, 0 on "
        "failure\n\n"
        "Describes what to collect on which devices: a list of ids, one of ACL_AICORE_*, 0, and ACL_PROF_* "
        "bits joined by |. "
        "May be used for any number of sessions.");
  m.def(
      "destroy_config", [](Address config) { return aclprofDestroyConfig(Config(config)); }, NoLock(),
      py::arg("profiler_config"),
      "destroy_config(profiler_config) -> ret\n\nFrees a description, also while a session started with it "
      "runs.");
  m.def(
      "set_config",
      [](int32_t type, const py::object& config) {
        const std::string text = Text(config, "config");
        py::gil_scoped_release unlock;
        return aclprofSetConfig(static_cast<aclprofConfigType>(type), text.c_str(), text.size());
      },
      py::arg("config_type"), py::arg("config"),
      "set_config(config_type, config) -> ret\n\n"
      "Changes one setting from the next start() on: a number such as ACL_PROF_SYS_IO_FREQ, and its value as "
      "str.");
  m.def(
      "start", [](Address config) { return aclprofStart(Config(config)); }, NoLock(),
      py::arg("profiler_config"),
      "start(profiler_config) -> ret\n\n"
      "Starts collection into a new PROF_* directory. 0: every device the program has opened, default data.");
  m.def(
      "stop", [](Address config) { return aclprofStop(Config(config)); }, NoLock(),
      py::arg("profiler_config"),
      "stop(profiler_config) -> ret\n\n"
      "Stops the session and completes the directory; every record is in it then. 0: whatever runs.");
}

// Whoever passes len(message) of Python means all of it, in whatever number of bytes.
int SetMessage(Address stamp, const py::object& message, uint32_t length) {
  const std::string text = Text(message, "msg");
  if (static_cast<Py_ssize_t>(length) == PyUnicode_GetLength(message.ptr()))
    length = static_cast<uint32_t>(text.size());
  if (length > text.size()) return -1;  // there is nothing to read there
  py::gil_scoped_release unlock;
  return aclprofSetStampTraceMessage(At<>(stamp), text.c_str(), length);
}

// Whatever a mark waits for, a lock that a fork holds or a standard error that nobody reads, no other thread waits for it too.
void BindStamps(py::module_& m) {
  m.def(
      "create_stamp", [] { return AddressOf(aclprofCreateStamp()); }, NoLock(),
      "create_stamp() -> stamp, 0 on failure\n\nNeeds a session with ACL_PROF_MSPROFTX.");
  m.def(
      "destroy_stamp", [](Address stamp) { aclprofDestroyStamp(At<>(stamp)); }, NoLock(), py::arg("stamp"),
      "destroy_stamp(stamp) -> None");
  m.def("set_stamp_trace_message", &SetMessage, py::arg("stamp"), py::arg("msg"), py::arg("msg_len"),
        "set_stamp_trace_message(stamp, msg, msg_len) -> ret\n\n"
        "What the stamp says from now on. msg_len: len(msg), or bytes of its UTF-8 form, at most 127; else "
        "-1.");
  m.def(
      "mark", [](Address stamp) { return aclprofMark(At<>(stamp)); }, NoLock(), py::arg("stamp"),
      "mark(stamp) -> ret\n\nMarks this moment.");
  m.def(
      "mark_ex",
      [](const py::object& message, Address stream) {
        const std::string text = Text(message, "msg");
        py::gil_scoped_release unlock;
        return aclprofMarkEx(text.c_str(), text.size(), At<aclrtStream>(stream));
      },
      py::arg("msg"), py::arg("stream"),
      "mark_ex(msg, stream) -> ret\n\n"
      "Marks this moment, and the one at which the device comes to it on the stream. msg: 1 to 155 bytes.");
  m.def(
      "push", [](Address stamp) { return aclprofPush(At<>(stamp)); }, NoLock(), py::arg("stamp"),
      "push(stamp) -> ret\n\nBegins a range that pop() of this thread ends.");
  // As with finalize(), arguments are taken and ignored.
  m.def(
      "pop",
      [](const py::args&) {
        py::gil_scoped_release unlock;
        return aclprofPop();
      },
      "pop() -> ret\n\nEnds the range that push() began last.");
  m.def(
      "range_start",
      [](Address stamp) {
        uint32_t id = 0;
        const int ret = aclprofRangeStart(At<>(stamp), &id);
        return std::pair(id, ret);
      },
      NoLock(), py::arg("stamp"),
      "range_start(stamp) -> range_id, ret\n\nBegins a range that any thread may end.");
  m.def(
      "range_stop", [](uint32_t id) { return aclprofRangeStop(id); }, NoLock(), py::arg("range_id"),
      "range_stop(range_id) -> ret\n\nEnds a range, once.");
}

// What pyACL does not have.
void BindAdditions(py::module_& m) {
  m.def(
      "last_message",
      []() {
        const char* text = npuprofLastMessage();
        return FromText(text, std::strlen(text));
      },
      "last_message() -> str\n\n"
      "Why the last call of this thread that failed did so, in one sentence; '' if none did.");
  m.def(
      "directory",
      []() {
        const char* path = nullptr;
        {
          py::gil_scoped_release unlock;
          path = MsprofGetPath();
        }
        return FromText(path, std::strlen(path));
      },
      "directory() -> str\n\nThe PROF_* directory of the session that began last of those that run, or else "
      "of the last one; '' before the first.");
}

}  // namespace

void BindProf(py::module_& m) {
  BindControl(m);
  BindStamps(m);
  BindAdditions(m);
}

}  // namespace npuprof::python
