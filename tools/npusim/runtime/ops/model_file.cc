// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/model_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace npusim::ops {
namespace {

using nlohmann::json;

[[noreturn]] void Bad(const std::string& what) {
  throw std::invalid_argument(what);
}

const json& Need(const json& object, const char* key, json::value_t type, const char* type_name) {
  if (!object.is_object() || !object.contains(key)) Bad(fmt::format("key \"{}\" is missing", key));
  const json& value = object[key];
  const bool number = type == json::value_t::number_unsigned && value.is_number_unsigned();
  if (value.type() != type && !number) Bad(fmt::format("\"{}\" must be {}", key, type_name));
  return value;
}

std::string NeedText(const json& object, const char* key) {
  return Need(object, key, json::value_t::string, "a text").get<std::string>();
}

const json& NeedList(const json& object, const char* key) {
  return Need(object, key, json::value_t::array, "a list");
}

std::vector<int64_t> Dims(const json& list) {
  std::vector<int64_t> dims;
  if (!list.is_array()) Bad("a shape must be a list of whole numbers");
  for (const json& d : list) {
    if (!d.is_number_integer()) Bad(fmt::format("shape {} must hold whole numbers", list.dump()));
    dims.push_back(d.get<int64_t>());
  }
  return dims;
}

Tensor ParseTensor(const json& j) {
  Tensor t;
  const std::string dtype = NeedText(j, "dtype"), format = NeedText(j, "format");
  t.dtype = DTypeByName(dtype);
  if (t.dtype == -1000) Bad(fmt::format("data type {} is unknown", dtype));
  t.format = FormatByName(format);
  if (t.format == -1000) Bad(fmt::format("format {} is unknown", format));
  t.shape = Dims(NeedList(j, "shape"));
  if (j.contains("origin")) t.origin = Dims(j["origin"]);
  if (j.contains("name")) t.name = NeedText(j, "name");
  if (j.contains("weight")) t.weight = Need(j, "weight", json::value_t::boolean, "true or false").get<bool>();
  return t;
}

std::vector<Tensor> ParseTensors(const json& list) {
  std::vector<Tensor> tensors;
  for (const json& t : list) tensors.push_back(ParseTensor(t));
  return tensors;
}

Operator ParseOperator(const json& j) {
  Operator op;
  op.name = NeedText(j, "name");
  op.type = NeedText(j, "type");
  try {
    const std::string state = j.contains("state") ? NeedText(j, "state") : "static";
    if (state != "static" && state != "dynamic")
      Bad(fmt::format("state {} must be static or dynamic", state));
    op.is_static = state == "static";
    op.inputs = ParseTensors(NeedList(j, "inputs"));
    op.outputs = ParseTensors(NeedList(j, "outputs"));
    if (j.contains("attrs"))
      for (const auto& [key, value] : j["attrs"].items())
        op.attrs[key] = value.is_array() ? Dims(value) : Dims(json::array({value}));
  } catch (const std::invalid_argument& e) {
    Bad(fmt::format("operator {} ({}): {}", op.name, op.type, e.what()));
  }
  return op;
}

}  // namespace

ModelFile ParseModel(std::string_view text, const std::string& source, const Cores& cores) {
  ModelFile m;
  try {
    const json j = json::parse(text);
    const auto format = Need(j, "format", json::value_t::number_unsigned, "a number").get<uint64_t>();
    if (format != 1) Bad(fmt::format("format {} is unknown, only 1 is", format));
    m.name = NeedText(j, "name");
    m.work_bytes = Need(j, "work_bytes", json::value_t::number_unsigned, "a number of bytes").get<uint64_t>();
    m.weight_bytes =
        Need(j, "weight_bytes", json::value_t::number_unsigned, "a number of bytes").get<uint64_t>();
    m.inputs = ParseTensors(NeedList(j, "inputs"));
    m.outputs = ParseTensors(NeedList(j, "outputs"));
    const json& ops = NeedList(j, "ops");
    if (ops.empty()) Bad("the list of operators is empty");
    for (const json& op : ops) {
      m.ops.push_back(ParseOperator(op));
      m.plans.push_back(PlanOperator(m.ops.back(), cores));
    }
  } catch (const json::exception& e) {
    throw ModelError(fmt::format(
        "model {} is not valid JSON; the simulated runtime takes lists of operators in JSON, compiled "
        "models (.om) cannot be run: {}",
        source, e.what()));
  } catch (const std::exception& e) {  // from Bad() and PlanOperator()
    throw ModelError(fmt::format("model {}: {}", source, e.what()));
  }
  return m;
}

}  // namespace npusim::ops
