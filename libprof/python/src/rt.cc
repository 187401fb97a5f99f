// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_rt.h"

#include "binding.h"

namespace npuprof::python {
namespace {

using Handle = std::pair<Address, aclError>;

void BindDevices(py::module_& m) {
  m.def("set_device", &aclrtSetDevice, NoLock(), py::arg("device_id"), "set_device(device_id) -> ret");
  m.def("reset_device", &aclrtResetDevice, NoLock(), py::arg("device_id"), "reset_device(device_id) -> ret");
  m.def(
      "get_device",
      [] {
        int32_t id = 0;
        const aclError ret = aclrtGetDevice(&id);
        return std::pair(id, ret);
      },
      NoLock(), "get_device() -> device_id, ret");
  m.def(
      "get_device_count",
      [] {
        uint32_t count = 0;
        const aclError ret = aclrtGetDeviceCount(&count);
        return std::pair(count, ret);
      },
      NoLock(), "get_device_count() -> count, ret");
  m.def(
      "get_run_mode",
      [] {
        aclrtRunMode mode{};
        const aclError ret = aclrtGetRunMode(&mode);
        return std::pair(static_cast<int>(mode), ret);
      },
      NoLock(), "get_run_mode() -> mode, ret; 0 device, 1 host");
  m.def("synchronize_device", &aclrtSynchronizeDevice, NoLock(), "synchronize_device() -> ret");

  m.def(
      "create_context",
      [](int32_t device_id) {
        aclrtContext context = nullptr;
        const aclError ret = aclrtCreateContext(&context, device_id);
        return Handle(AddressOf(context), ret);
      },
      NoLock(), py::arg("device_id"), "create_context(device_id) -> context, ret");
  m.def(
      "destroy_context", [](Address c) { return aclrtDestroyContext(At<>(c)); }, NoLock(), py::arg("context"),
      "destroy_context(context) -> ret");
  m.def(
      "set_context", [](Address c) { return aclrtSetCurrentContext(At<>(c)); }, NoLock(), py::arg("context"),
      "set_context(context) -> ret; the context of this thread");
  m.def(
      "get_context",
      [] {
        aclrtContext context = nullptr;
        const aclError ret = aclrtGetCurrentContext(&context);
        return Handle(AddressOf(context), ret);
      },
      NoLock(), "get_context() -> context, ret");
}

void BindStreams(py::module_& m) {
  m.def(
      "create_stream",
      [] {
        aclrtStream stream = nullptr;
        const aclError ret = aclrtCreateStream(&stream);
        return Handle(AddressOf(stream), ret);
      },
      NoLock(), "create_stream() -> stream, ret");
  m.def(
      "destroy_stream", [](Address s) { return aclrtDestroyStream(At<>(s)); }, NoLock(), py::arg("stream"),
      "destroy_stream(stream) -> ret");
  m.def(
      "synchronize_stream", [](Address s) { return aclrtSynchronizeStream(At<>(s)); }, NoLock(),
      py::arg("stream"), "synchronize_stream(stream) -> ret");
  m.def(
      "synchronize_stream_with_timeout",
      [](Address s, int32_t ms) { return aclrtSynchronizeStreamWithTimeout(At<>(s), ms); }, NoLock(),
      py::arg("stream"), py::arg("timeout"), "synchronize_stream_with_timeout(stream, timeout_ms) -> ret");
  m.def(
      "stream_query",
      [](Address s) {
        aclrtStreamStatus status{};
        const aclError ret = aclrtStreamQuery(At<>(s), &status);
        return std::pair(static_cast<int>(status), ret);
      },
      NoLock(), py::arg("stream"), "stream_query(stream) -> status, ret");
  m.def(
      "stream_wait_event", [](Address s, Address e) { return aclrtStreamWaitEvent(At<>(s), At<>(e)); },
      NoLock(), py::arg("stream"), py::arg("event"), "stream_wait_event(stream, event) -> ret");
}

void BindEvents(py::module_& m) {
  m.def(
      "create_event",
      [] {
        aclrtEvent event = nullptr;
        const aclError ret = aclrtCreateEvent(&event);
        return Handle(AddressOf(event), ret);
      },
      NoLock(), "create_event() -> event, ret");
  m.def(
      "create_event_with_flag",
      [](uint32_t flag) {
        aclrtEvent event = nullptr;
        const aclError ret = aclrtCreateEventWithFlag(&event, flag);
        return Handle(AddressOf(event), ret);
      },
      NoLock(), py::arg("flag"), "create_event_with_flag(flag) -> event, ret");
  m.def(
      "destroy_event", [](Address e) { return aclrtDestroyEvent(At<>(e)); }, NoLock(), py::arg("event"),
      "destroy_event(event) -> ret");
  m.def(
      "record_event", [](Address e, Address s) { return aclrtRecordEvent(At<>(e), At<>(s)); }, NoLock(),
      py::arg("event"), py::arg("stream"), "record_event(event, stream) -> ret");
  m.def(
      "reset_event", [](Address e, Address s) { return aclrtResetEvent(At<>(e), At<>(s)); }, NoLock(),
      py::arg("event"), py::arg("stream"), "reset_event(event, stream) -> ret");
  m.def(
      "synchronize_event", [](Address e) { return aclrtSynchronizeEvent(At<>(e)); }, NoLock(),
      py::arg("event"), "synchronize_event(event) -> ret");
  m.def(
      "query_event",
      [](Address e) {
        aclrtEventStatus status{};
        const aclError ret = aclrtQueryEvent(At<>(e), &status);
        return std::pair(static_cast<int>(status), ret);
      },
      NoLock(), py::arg("event"), "query_event(event) -> status, ret");
  m.def(
      "event_elapsed_time",
      [](Address start, Address end) {
        float ms = 0;
        const aclError ret = aclrtEventElapsedTime(&ms, At<>(start), At<>(end));
        return std::pair(ms, ret);
      },
      NoLock(), py::arg("start"), py::arg("end"), "event_elapsed_time(start, end) -> milliseconds, ret");
}

void BindMemory(py::module_& m) {
  m.def(
      "malloc",
      [](size_t size, int policy) {
        void* memory = nullptr;
        const aclError ret = aclrtMalloc(&memory, size, static_cast<aclrtMemMallocPolicy>(policy));
        return Handle(AddressOf(memory), ret);
      },
      NoLock(), py::arg("size"), py::arg("policy"), "malloc(size, policy) -> device address, ret");
  m.def(
      "free", [](Address p) { return aclrtFree(At<>(p)); }, NoLock(), py::arg("ptr"), "free(ptr) -> ret");
  m.def(
      "malloc_host",
      [](size_t size) {
        void* memory = nullptr;
        const aclError ret = aclrtMallocHost(&memory, size);
        return Handle(AddressOf(memory), ret);
      },
      NoLock(), py::arg("size"), "malloc_host(size) -> host address, ret");
  m.def(
      "free_host", [](Address p) { return aclrtFreeHost(At<>(p)); }, NoLock(), py::arg("ptr"),
      "free_host(ptr) -> ret");
  m.def(
      "memset",
      [](Address p, size_t max, int32_t value, size_t count) {
        return aclrtMemset(At<>(p), max, value, count);
      },
      NoLock(), py::arg("ptr"), py::arg("max_count"), py::arg("value"), py::arg("count"),
      "memset(ptr, max_count, value, count) -> ret");
  m.def(
      "memset_async",
      [](Address p, size_t max, int32_t value, size_t count, Address s) {
        return aclrtMemsetAsync(At<>(p), max, value, count, At<>(s));
      },
      NoLock(), py::arg("ptr"), py::arg("max_count"), py::arg("value"), py::arg("count"), py::arg("stream"),
      "memset_async(ptr, max_count, value, count, stream) -> ret");
  m.def(
      "memcpy",
      [](Address dst, size_t dest_max, Address src, size_t count, int kind) {
        return aclrtMemcpy(At<>(dst), dest_max, At<>(src), count, static_cast<aclrtMemcpyKind>(kind));
      },
      NoLock(), py::arg("dst"), py::arg("dest_max"), py::arg("src"), py::arg("count"), py::arg("kind"),
      "memcpy(dst, dest_max, src, count, kind) -> ret; kind 0 host to host, 1 to device, 2 to host, 3 on the "
      "device");
  m.def(
      "memcpy_async",
      [](Address dst, size_t dest_max, Address src, size_t count, int kind, Address s) {
        return aclrtMemcpyAsync(At<>(dst), dest_max, At<>(src), count, static_cast<aclrtMemcpyKind>(kind),
                                At<>(s));
      },
      NoLock(), py::arg("dst"), py::arg("dest_max"), py::arg("src"), py::arg("count"), py::arg("kind"),
      py::arg("stream"), "memcpy_async(dst, dest_max, src, count, kind, stream) -> ret");
  m.def(
      "get_mem_info",
      [](int attr) {
        size_t free = 0, total = 0;
        const aclError ret = aclrtGetMemInfo(static_cast<aclrtMemAttr>(attr), &free, &total);
        return std::tuple(free, total, ret);
      },
      NoLock(), py::arg("attr"), "get_mem_info(attr) -> free, total, ret");
}

}  // namespace

void BindRuntime(py::module_ m) {
  BindDevices(m);
  BindStreams(m);
  BindEvents(m);
  BindMemory(m);
}

}  // namespace npuprof::python
