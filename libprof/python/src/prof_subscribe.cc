// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl_prof.h"
#include "prof.h"

namespace npuprof::python {
namespace {

constexpr size_t kMostText = 4096;
constexpr int kInvalid = 100000;

// The library reads the descriptor through a pointer for as long as a subscription lives, and writes -1 there when it has
// closed it. So each number has a place of its own that lives as long as its configuration or a subscription with it.
class Descriptors {
 public:
  Address Create(int8_t switch_on, int32_t metrics, int fd) {
    auto place = std::make_shared<int>(fd);
    const Address config = AddressOf(
        aclprofCreateSubscribeConfig(switch_on, static_cast<aclprofAicoreMetrics>(metrics), place.get()));
    if (config == 0) return 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    of_config_[config] = std::move(place);
    return config;
  }
  int Destroy(Address config) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int ret = aclprofDestroySubscribeConfig(At<aclprofSubscribeConfig*>(config));
    if (ret == 0) of_config_.erase(config);
    return ret;
  }
  int Subscribe(uint32_t model, Address config) {
    // The library reads the configuration somewhere in the call, and meanwhile another thread may destroy it, and get
    // the same address for a new one. So what is there before and after the call lives on.
    const Place before = Of(config);
    const int ret = aclprofModelSubscribe(model, At<aclprofSubscribeConfig*>(config));
    if (ret != 0) return ret;
    const Place after = Of(config);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Place& place : {before, after}) {
      if (place) of_model_[model].push_back(place);
    }
    return ret;
  }
  int Unsubscribe(uint32_t model) {
    Places ended;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto found = of_model_.find(model); found != of_model_.end()) ended = found->second;
    }
    const int ret = aclprofModelUnSubscribe(model);
    if (ret != 0) return ret;
    // Those that came meanwhile are of a subscription that lives.
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = of_model_.find(model);
    if (found == of_model_.end()) return ret;
    for (const Place& place : ended) {
      if (const auto one = std::ranges::find(found->second, place); one != found->second.end())
        found->second.erase(one);
    }
    if (found->second.empty()) of_model_.erase(found);
    return ret;
  }
  static Descriptors& Process() {
    static Descriptors& all = *new Descriptors;
    return all;
  }

 private:
  using Place = std::shared_ptr<int>;
  using Places = std::vector<Place>;

  Place Of(Address config) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = of_config_.find(config);
    return found == of_config_.end() ? nullptr : found->second;
  }

  std::mutex mutex_;
  std::map<Address, Place> of_config_;
  std::map<uint32_t, Places> of_model_;
};

using Length = aclError (*)(const void*, size_t, uint32_t, size_t*);
using Copy = aclError (*)(const void*, size_t, uint32_t, char*, size_t);

py::tuple GetText(Copy copy, Address info, size_t length, uint32_t index, size_t room) {
  if (room == 0 || room > kMostText) return py::make_tuple("", kInvalid);
  std::string text(room, '\0');
  int ret;
  {
    py::gil_scoped_release unlock;
    ret = copy(At<>(info), length, index, text.data(), room);
  }
  if (ret != 0) return py::make_tuple("", ret);
  return py::make_tuple(FromText(text.data(), strnlen(text.data(), room)), ret);
}

py::tuple GetWholeText(Length measure, Copy copy, Address info, size_t length, uint32_t index) {
  size_t room = 0;
  int ret;
  {
    py::gil_scoped_release unlock;
    ret = measure(At<>(info), length, index, &room);
  }
  if (ret != 0) return py::make_tuple(py::none(), ret);
  return GetText(copy, info, length, index, room);
}

template <typename Get>
void BindNumber(py::module_& m, const char* name, Get get, const char* doc) {
  m.def(
      name, [get](Address info, size_t length, uint32_t index) { return get(At<>(info), length, index); },
      NoLock(), py::arg("op_info"), py::arg("op_info_len"), py::arg("index"), doc);
}

void BindTexts(py::module_& m, const std::string& what, Length measure, Copy copy) {
  const std::string arguments = "(op_info, op_info_len, index";
  m.def(("get_op_" + what + "_len").c_str(),
        [measure](Address info, size_t length, uint32_t index) {
          size_t size = 0;
          const int ret = measure(At<>(info), length, index, &size);
          return std::pair(size, ret);
        },
        NoLock(), py::arg("op_info"), py::arg("op_info_len"), py::arg("index"),
        ("get_op_" + what + "_len" + arguments + ") -> bytes with the terminator, ret").c_str());
  m.def(("get_op_" + what).c_str(),
        [copy](Address info, size_t length, uint32_t index, size_t room) {
          return GetText(copy, info, length, index, room);
        },
        py::arg("op_info"), py::arg("op_info_len"), py::arg("index"), py::arg("buf_len"),
        ("get_op_" + what + arguments + ", buf_len) -> " + what +
         ", ret\n\nbuf_len: 1 to 4096, else '' and 100000.")
            .c_str());
  m.def(("get_op_" + what + "_v2").c_str(),
        [measure, copy](Address info, size_t length, uint32_t index) {
          return GetWholeText(measure, copy, info, length, index);
        },
        py::arg("op_info"), py::arg("op_info_len"), py::arg("index"),
        ("get_op_" + what + "_v2" + arguments + ") -> " + what +
         " of any length, ret; None and the code on failure")
            .c_str());
}

}  // namespace

void BindSubscribe(py::module_& m) {
  m.def(
      "create_subscribe_config",
      [](int8_t time_info_switch, int32_t metrics, int fd) {
        return Descriptors::Process().Create(time_info_switch, metrics, fd);
      },
      NoLock(), py::arg("time_info_switch"), py::arg("aicore_metrics"), py::arg("fd"),
      "create_subscribe_config(time_info_switch, aicore_metrics, fd) -> config, 0 on failure\n\n"
      "fd: the end of a pipe that is written to. 1 as switch: with times of operators.");
  m.def(
      "destroy_subscribe_config", [](Address config) { return Descriptors::Process().Destroy(config); },
      NoLock(), py::arg("config"), "destroy_subscribe_config(config) -> ret");
  m.def(
      "model_subscribe",
      [](uint32_t model, Address config) { return Descriptors::Process().Subscribe(model, config); },
      NoLock(), py::arg("model_id"), py::arg("config"),
      "model_subscribe(model_id, config) -> ret\n\n"
      "From now on what the operators of the model took comes out of the pipe, in items of "
      "get_op_desc_size() bytes.");
  for (const char* name : {"model_unsubscribe", "model_un_subscribe"}) {
    m.def(
        name, [](uint32_t model) { return Descriptors::Process().Unsubscribe(model); }, NoLock(),
        py::arg("model_id"),
        "-> ret\n\nEnds a subscription. With the last one of a pipe the library closes its end.");
  }
  m.def(
      "get_op_desc_size",
      [] {
        size_t size = 0;
        const int ret = aclprofGetOpDescSize(&size);
        return std::pair(size, ret);
      },
      NoLock(), "get_op_desc_size() -> bytes of one item, ret");
  m.def(
      "get_op_num",
      [](Address info, size_t length) {
        uint32_t count = 0;
        const int ret = aclprofGetOpNum(At<>(info), length, &count);
        return std::pair(count, ret);
      },
      NoLock(), py::arg("op_info"), py::arg("op_info_len"),
      "get_op_num(op_info, op_info_len) -> items, ret\n\nop_info: address of what was read from the pipe.");
  BindTexts(m, "type", &aclprofGetOpTypeLen, &aclprofGetOpType);
  BindTexts(m, "name", &aclprofGetOpNameLen, &aclprofGetOpName);
  BindNumber(m, "get_op_start", &aclprofGetOpStart,
             "get_op_start(op_info, op_info_len, index) -> microseconds, 0 on failure");
  BindNumber(m, "get_op_end", &aclprofGetOpEnd,
             "get_op_end(op_info, op_info_len, index) -> microseconds, 0 on failure");
  BindNumber(m, "get_op_duration", &aclprofGetOpDuration,
             "get_op_duration(op_info, op_info_len, index) -> microseconds, 0 on failure");
  BindNumber(m, "get_model_id", &aclprofGetModelId, "get_model_id(op_info, op_info_len, index) -> model_id");
}

}  // namespace npuprof::python
