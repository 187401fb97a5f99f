// SPDX-License-Identifier: Apache-2.0
#include "acl/acl_mdl.h"

#include <pybind11/stl.h>

#include <vector>

#include "binding.h"

namespace npuprof::python {
namespace {

aclmdlDesc* Desc(Address address) {
  return At<aclmdlDesc*>(address);
}
aclmdlDataset* Dataset(Address address) {
  return At<aclmdlDataset*>(address);
}

std::pair<py::dict, aclError> Dims(aclError (*get)(const aclmdlDesc*, size_t, aclmdlIODims*), Address desc,
                                   size_t index) {
  aclmdlIODims dims{};
  const aclError ret = get(Desc(desc), index, &dims);
  py::dict out;
  if (ret == ACL_SUCCESS) {
    out["name"] = py::str(dims.name);
    out["dimCount"] = dims.dimCount;
    out["dims"] = std::vector<int64_t>(dims.dims, dims.dims + dims.dimCount);
  }
  return {out, ret};
}

void BindDescription(py::module_& m) {
  m.def(
      "create_desc", [] { return AddressOf(aclmdlCreateDesc()); }, "create_desc() -> desc, 0 on failure");
  m.def(
      "destroy_desc", [](Address d) { return aclmdlDestroyDesc(Desc(d)); }, py::arg("desc"),
      "destroy_desc(desc) -> ret");
  m.def(
      "get_desc", [](Address d, uint32_t id) { return aclmdlGetDesc(Desc(d), id); }, NoLock(),
      py::arg("desc"), py::arg("model_id"), "get_desc(desc, model_id) -> ret");
  m.def(
      "get_num_inputs", [](Address d) { return aclmdlGetNumInputs(Desc(d)); }, py::arg("desc"),
      "get_num_inputs(desc) -> n");
  m.def(
      "get_num_outputs", [](Address d) { return aclmdlGetNumOutputs(Desc(d)); }, py::arg("desc"),
      "get_num_outputs(desc) -> n");
  m.def(
      "get_input_size_by_index", [](Address d, size_t i) { return aclmdlGetInputSizeByIndex(Desc(d), i); },
      py::arg("desc"), py::arg("index"),
      "get_input_size_by_index(desc, index) -> bytes, 0 for a wrong index");
  m.def(
      "get_output_size_by_index", [](Address d, size_t i) { return aclmdlGetOutputSizeByIndex(Desc(d), i); },
      py::arg("desc"), py::arg("index"),
      "get_output_size_by_index(desc, index) -> bytes, 0 for a wrong index");
  m.def(
      "get_input_name_by_index", [](Address d, size_t i) { return aclmdlGetInputNameByIndex(Desc(d), i); },
      py::arg("desc"), py::arg("index"), "get_input_name_by_index(desc, index) -> str");
  m.def(
      "get_output_name_by_index", [](Address d, size_t i) { return aclmdlGetOutputNameByIndex(Desc(d), i); },
      py::arg("desc"), py::arg("index"), "get_output_name_by_index(desc, index) -> str");
  m.def(
      "get_input_dims", [](Address d, size_t i) { return Dims(aclmdlGetInputDims, d, i); }, py::arg("desc"),
      py::arg("index"), "get_input_dims(desc, index) -> {name, dimCount, dims}, ret");
  m.def(
      "get_output_dims", [](Address d, size_t i) { return Dims(aclmdlGetOutputDims, d, i); }, py::arg("desc"),
      py::arg("index"), "get_output_dims(desc, index) -> {name, dimCount, dims}, ret");
  m.def(
      "get_input_data_type",
      [](Address d, size_t i) { return static_cast<int>(aclmdlGetInputDataType(Desc(d), i)); },
      py::arg("desc"), py::arg("index"), "get_input_data_type(desc, index) -> aclDataType");
  m.def(
      "get_output_data_type",
      [](Address d, size_t i) { return static_cast<int>(aclmdlGetOutputDataType(Desc(d), i)); },
      py::arg("desc"), py::arg("index"), "get_output_data_type(desc, index) -> aclDataType");
  m.def(
      "get_input_format",
      [](Address d, size_t i) { return static_cast<int>(aclmdlGetInputFormat(Desc(d), i)); }, py::arg("desc"),
      py::arg("index"), "get_input_format(desc, index) -> aclFormat");
  m.def(
      "get_output_format",
      [](Address d, size_t i) { return static_cast<int>(aclmdlGetOutputFormat(Desc(d), i)); },
      py::arg("desc"), py::arg("index"), "get_output_format(desc, index) -> aclFormat");
}

void BindDatasets(py::module_& m) {
  m.def(
      "create_dataset", [] { return AddressOf(aclmdlCreateDataset()); },
      "create_dataset() -> dataset, 0 on failure");
  m.def(
      "destroy_dataset", [](Address d) { return aclmdlDestroyDataset(Dataset(d)); }, py::arg("dataset"),
      "destroy_dataset(dataset) -> ret; its buffers stay the caller's");
  m.def(
      "add_dataset_buffer",
      [](Address d, Address buffer) {
        return std::pair(d, aclmdlAddDatasetBuffer(Dataset(d), At<aclDataBuffer*>(buffer)));
      },
      py::arg("dataset"), py::arg("buffer"), "add_dataset_buffer(dataset, buffer) -> dataset, ret");
  m.def(
      "get_dataset_num_buffers", [](Address d) { return aclmdlGetDatasetNumBuffers(Dataset(d)); },
      py::arg("dataset"), "get_dataset_num_buffers(dataset) -> n");
  m.def(
      "get_dataset_buffer",
      [](Address d, size_t i) { return AddressOf(aclmdlGetDatasetBuffer(Dataset(d), i)); },
      py::arg("dataset"), py::arg("index"),
      "get_dataset_buffer(dataset, index) -> buffer, 0 for a wrong index");
}

}  // namespace

void BindModel(py::module_ m) {
  m.def(
      "load_from_file",
      [](const py::object& file) {
        const std::string path = Text(file, "model_path");
        py::gil_scoped_release unlock;
        uint32_t id = 0;
        const aclError ret = aclmdlLoadFromFile(path.c_str(), &id);
        return std::pair(id, ret);
      },
      py::arg("model_path"), "load_from_file(model_path) -> model_id, ret");
  m.def(
      "load_from_mem",
      [](Address model, size_t size) {
        uint32_t id = 0;
        const aclError ret = aclmdlLoadFromMem(At<>(model), size, &id);
        return std::pair(id, ret);
      },
      NoLock(), py::arg("model"), py::arg("size"), "load_from_mem(address, size) -> model_id, ret");
  m.def("unload", &aclmdlUnload, NoLock(), py::arg("model_id"), "unload(model_id) -> ret");
  m.def(
      "query_size",
      [](const py::object& file) {
        const std::string path = Text(file, "file_name");
        py::gil_scoped_release unlock;
        size_t work = 0, weight = 0;
        const aclError ret = aclmdlQuerySize(path.c_str(), &work, &weight);
        return std::tuple(work, weight, ret);
      },
      py::arg("file_name"), "query_size(file_name) -> work_size, weight_size, ret");
  BindDescription(m);
  BindDatasets(m);
  m.def(
      "execute",
      [](uint32_t id, Address input, Address output) {
        return aclmdlExecute(id, Dataset(input), Dataset(output));
      },
      NoLock(), py::arg("model_id"), py::arg("input"), py::arg("output"),
      "execute(model_id, input, output) -> ret");
  m.def(
      "execute_async",
      [](uint32_t id, Address input, Address output, Address stream) {
        return aclmdlExecuteAsync(id, Dataset(input), Dataset(output), At<>(stream));
      },
      NoLock(), py::arg("model_id"), py::arg("input"), py::arg("output"), py::arg("stream"),
      "execute_async(model_id, input, output, stream) -> ret");
}

}  // namespace npuprof::python
