// SPDX-License-Identifier: Apache-2.0
// Loading, describing and executing models.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/acl/api.h"
#include "runtime/acl/convert.h"
#include "runtime/acl/model_memory.h"

using namespace npusim;

struct aclmdlDesc {
  std::vector<ops::Tensor> inputs, outputs;
};

struct aclmdlDataset {
  std::vector<aclDataBuffer*> buffers;
};

namespace {

struct LoadedModel {
  std::vector<ops::Tensor> inputs, outputs;
  std::vector<RtOperator> ops;
  std::vector<std::optional<ops::Operator>> dynamic;  // of those whose shapes are settled at each execution
  ModelMemory memory;
  uint32_t device;           // as the program numbers it
  uint32_t reported_device;  // as the driver does
  mutable std::atomic<uint64_t> executions{0};
};

struct Registry {
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<const LoadedModel>> models;
  uint32_t next_id = 1;
};

Registry& Models() {
  static auto* registry = new Registry;  // outlives every thread
  return *registry;
}

// Marks in the device's track: every execution is an iteration of its model.
constexpr uint16_t kModelStartTag = 0, kModelEndTag = 1, kIterationEndTag = 4;

constexpr uint64_t kModelBits = PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_TASK_TIME_L2 | PROF_TASK_TIME_L3;

enum ScheduleStep : uint32_t { kScheduleOperator, kInferShape, kTiling };

Span StepSpan(ScheduleStep step, uint64_t bits, uint64_t name) {
  return Span(rtGraphEngineWants(bits), MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_GE_API_BASE_TYPE + step,
              name);
}

// What the host does for an operator of dynamic shape before each launch.
void Schedule(const ops::Operator& op, uint64_t name) {
  const Span whole = StepSpan(kScheduleOperator, PROF_GE_API_L0 | PROF_GE_API_L1, name);
  {
    const Span span = StepSpan(kInferShape, PROF_GE_API_L1, name);
    uint64_t bytes = 0;
    for (const ops::Tensor& tensor : op.outputs) bytes += tensor.StorageBytes();
    static_cast<void>(bytes);
  }
  const Span span = StepSpan(kTiling, PROF_GE_API_L1, name);
  static_cast<void>(ops::PlanOperator(op, PlanningCores()));
}

std::shared_ptr<const LoadedModel> FindModel(uint32_t id) {
  std::lock_guard lock(Models().mutex);
  auto it = Models().models.find(id);
  if (it != Models().models.end()) return it->second;
  rtFail(ACL_ERROR_INVALID_MODEL_ID, fmt::format("no model {} is loaded", id));
  return nullptr;
}

// Loads what @p read delivers; the span of the load carries the model's id.
template <typename Read>
int Load(uint32_t* id, Read read) {
  int32_t device = 0;
  if (int code = rtGetDevice(&device)) return code;
  const uint64_t begin = rtGraphEngineWants(kModelBits) ? MsprofSysCycleTime() : 0;
  ops::ModelFile file;
  if (int code = read(&file)) return code;
  auto model = std::make_shared<LoadedModel>();
  model->inputs = file.inputs;
  model->outputs = file.outputs;
  model->device = static_cast<uint32_t>(device);
  int32_t reported = device;
  if (int code = rtGetVisibleDeviceIdByLogicDeviceId(device, &reported)) return code;
  model->reported_device = static_cast<uint32_t>(reported);
  for (size_t i = 0; i < file.ops.size(); i++) {
    model->ops.push_back(ToLaunchable(file.ops[i], file.plans[i]));
    model->dynamic.push_back(file.ops[i].is_static ? std::nullopt : std::optional(file.ops[i]));
    uint64_t outputs = 0;
    for (const auto& tensor : file.ops[i].outputs) outputs += tensor.StorageBytes();
    model->memory.Add(outputs);
  }
  {
    std::lock_guard lock(Models().mutex);
    *id = Models().next_id++;
    model->memory.Place(*id);
    Models().models[*id] = model;
  }
  MsprofSetDeviceIdByGeModelIdx(*id, model->reported_device);
  rtAnnounceModel(*id, HashOf(file.name));
  if (begin != 0)
    ReportApi(MSPROF_REPORT_MODEL_LEVEL, MSPROF_REPORT_MODEL_LOAD_TYPE, *id, begin,
              std::max(MsprofSysCycleTime(), begin + 1));
  return ACL_SUCCESS;
}

int CheckBuffers(const char* what, const std::vector<ops::Tensor>& tensors, const aclmdlDataset* set,
                 int code) {
  if (set->buffers.size() != tensors.size())
    return rtFail(code, fmt::format("the model has {} {}s, {} buffers are given", tensors.size(), what,
                                    set->buffers.size()));
  for (size_t i = 0; i < tensors.size(); i++) {
    const aclDataBuffer* b = set->buffers[i];
    if (b->data == nullptr || b->size < tensors[i].StorageBytes())
      return rtFail(code,
                    fmt::format("{} {} ({}) needs {} bytes, the buffer has {}", what, i, tensors[i].name,
                                tensors[i].StorageBytes(), b->data == nullptr ? 0 : b->size));
  }
  return ACL_SUCCESS;
}

int Execute(uint32_t id, const aclmdlDataset* input, const aclmdlDataset* output, aclrtStream stream) {
  if (int code = NotNull({{"input", input}, {"output", output}})) return code;
  const auto model = FindModel(id);
  if (model == nullptr) return ACL_ERROR_INVALID_MODEL_ID;
  if (int code = CheckBuffers("input", model->inputs, input, ACL_ERROR_MODEL_INPUT_NOT_MATCH)) return code;
  if (int code = CheckBuffers("output", model->outputs, output, ACL_ERROR_MODEL_OUTPUT_NOT_MATCH))
    return code;
  int32_t device = 0;
  if (int code = rtStreamGetDevice(stream, &device)) return code;
  if (static_cast<uint32_t>(device) != model->device)
    return rtFail(
        ACL_ERROR_RT_MODEL_CONTEXT,
        fmt::format("model {} was loaded on device {}, the stream is on {}", id, model->device, device));
  const uint64_t iteration = ++model->executions;
  void* graph = nullptr;
  if (int code = rtCaptureInfo(stream, &graph)) return code;
  const bool marked = graph == nullptr && AclSwitches().Any(PROF_TRAINING_TRACE);
  Span span(rtGraphEngineWants(kModelBits), MSPROF_REPORT_MODEL_LEVEL, MSPROF_REPORT_MODEL_EXECUTE_TYPE, id);
  if (marked) rtProfilerTraceEx(iteration, id, kModelStartTag, stream);
  MemoryTrace memory(model->memory, model->reported_device, graph == nullptr);
  for (size_t i = 0; i < model->ops.size(); i++) {
    if (model->dynamic[i]) Schedule(*model->dynamic[i], model->ops[i].name);
    if (int code = rtLaunchOperator(model->ops[i], stream)) return code;
    memory.Launched(i, model->ops[i].name);
  }
  if (marked) {
    rtProfilerTraceEx(iteration, id, kIterationEndTag, stream);
    rtProfilerTraceEx(iteration, id, kModelEndTag, stream);
  }
  return ACL_SUCCESS;
}

const ops::Tensor* At(const std::vector<ops::Tensor>& tensors, size_t index) {
  return index < tensors.size() ? &tensors[index] : nullptr;
}

int IndexOf(const std::vector<ops::Tensor>& tensors, const char* name, size_t* index) {
  for (size_t i = 0; i < tensors.size(); i++)
    if (tensors[i].name == name) {
      *index = i;
      return ACL_SUCCESS;
    }
  return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("the model has no tensor {} on this side", name));
}

int CopyDims(const std::vector<ops::Tensor>& tensors, size_t index, aclmdlIODims* dims) {
  const ops::Tensor* t = At(tensors, index);
  if (t == nullptr || t->shape.size() > ACL_MAX_DIM_CNT)
    return rtFail(ACL_ERROR_INVALID_PARAM, fmt::format("tensor {} of {}", index, tensors.size()));
  *dims = {};
  t->name.copy(dims->name, sizeof dims->name - 1);
  dims->dimCount = t->shape.size();
  std::copy(t->shape.begin(), t->shape.end(), dims->dims);
  return ACL_SUCCESS;
}

}  // namespace

aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId) {
  AclSpan span(AclCall::kModelLoad);
  if (int code = NotNull({{"modelPath", modelPath}, {"modelId", modelId}})) return code;
  return Load(modelId, [&](ops::ModelFile* file) { return ReadModel(modelPath, file); });
}

aclError aclmdlLoadFromMem(const void* model, size_t modelSize, uint32_t* modelId) {
  AclSpan span(AclCall::kModelLoadMem);
  if (int code = NotNull({{"model", model}, {"modelId", modelId}})) return code;
  return Load(modelId, [&](ops::ModelFile* file) {
    try {
      *file = ops::ParseModel({static_cast<const char*>(model), modelSize}, "in memory", PlanningCores());
      return ACL_SUCCESS;
    } catch (const ops::ModelError& e) {
      return rtFail(ACL_ERROR_PARSE_MODEL, e.what());
    }
  });
}

aclError aclmdlUnload(uint32_t modelId) {
  AclSpan span(AclCall::kModelUnload);
  const auto model = FindModel(modelId);
  if (model == nullptr) return ACL_ERROR_INVALID_MODEL_ID;
  {
    std::lock_guard lock(Models().mutex);
    Models().models.erase(modelId);
  }
  rtForgetModel(modelId);
  MsprofUnsetDeviceIdByGeModelIdx(modelId, model->reported_device);
  return ACL_SUCCESS;
}

aclError aclmdlQuerySize(const char* fileName, size_t* workSize, size_t* weightSize) {
  if (int code = NotNull({{"fileName", fileName}, {"workSize", workSize}, {"weightSize", weightSize}}))
    return code;
  ops::ModelFile file;
  if (int code = ReadModel(fileName, &file)) return code;
  *workSize = file.work_bytes;
  *weightSize = file.weight_bytes;
  return ACL_SUCCESS;
}

aclmdlDesc* aclmdlCreateDesc(void) {
  return new aclmdlDesc;
}

aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc) {
  if (int code = NotNull({{"modelDesc", modelDesc}})) return code;
  delete modelDesc;
  return ACL_SUCCESS;
}

aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId) {
  if (int code = NotNull({{"modelDesc", modelDesc}})) return code;
  const auto model = FindModel(modelId);
  if (model == nullptr) return ACL_ERROR_INVALID_MODEL_ID;
  modelDesc->inputs = model->inputs;
  modelDesc->outputs = model->outputs;
  return ACL_SUCCESS;
}

size_t aclmdlGetNumInputs(aclmdlDesc* d) {
  return d == nullptr ? 0 : d->inputs.size();
}
size_t aclmdlGetNumOutputs(aclmdlDesc* d) {
  return d == nullptr ? 0 : d->outputs.size();
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->inputs, index);
  return t == nullptr ? 0 : t->StorageBytes();
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->outputs, index);
  return t == nullptr ? 0 : t->StorageBytes();
}

const char* aclmdlGetInputNameByIndex(const aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->inputs, index);
  return t == nullptr ? "" : t->name.c_str();
}

const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->outputs, index);
  return t == nullptr ? "" : t->name.c_str();
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc* d, const char* name, size_t* index) {
  if (int code = NotNull({{"modelDesc", d}, {"name", name}, {"index", index}})) return code;
  return IndexOf(d->inputs, name, index);
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc* d, const char* name, size_t* index) {
  if (int code = NotNull({{"modelDesc", d}, {"name", name}, {"index", index}})) return code;
  return IndexOf(d->outputs, name, index);
}

aclError aclmdlGetInputDims(const aclmdlDesc* d, size_t index, aclmdlIODims* dims) {
  if (int code = NotNull({{"modelDesc", d}, {"dims", dims}})) return code;
  return CopyDims(d->inputs, index, dims);
}

aclError aclmdlGetOutputDims(const aclmdlDesc* d, size_t index, aclmdlIODims* dims) {
  if (int code = NotNull({{"modelDesc", d}, {"dims", dims}})) return code;
  return CopyDims(d->outputs, index, dims);
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->inputs, index);
  return t == nullptr ? ACL_DT_UNDEFINED : static_cast<aclDataType>(t->dtype);
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->outputs, index);
  return t == nullptr ? ACL_DT_UNDEFINED : static_cast<aclDataType>(t->dtype);
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->inputs, index);
  return t == nullptr ? ACL_FORMAT_UNDEFINED : static_cast<aclFormat>(t->format);
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc* d, size_t index) {
  const ops::Tensor* t = d == nullptr ? nullptr : At(d->outputs, index);
  return t == nullptr ? ACL_FORMAT_UNDEFINED : static_cast<aclFormat>(t->format);
}

aclmdlDataset* aclmdlCreateDataset(void) {
  return new aclmdlDataset;
}

aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  if (int code = NotNull({{"dataset", dataset}})) return code;
  delete dataset;
  return ACL_SUCCESS;
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer) {
  if (int code = NotNull({{"dataset", dataset}, {"dataBuffer", dataBuffer}})) return code;
  dataset->buffers.push_back(dataBuffer);
  return ACL_SUCCESS;
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) {
  return dataset == nullptr ? 0 : dataset->buffers.size();
}

aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  return dataset == nullptr || index >= dataset->buffers.size() ? nullptr : dataset->buffers[index];
}

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output) {
  AclSpan span(AclCall::kModelExecute);
  if (int code = Execute(modelId, input, output, nullptr)) return code;
  return rtStreamSynchronize(nullptr, -1);
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output,
                            aclrtStream stream) {
  AclSpan span(AclCall::kModelExecuteAsync);
  return Execute(modelId, input, output, stream);
}

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  AclSpan span(AclCall::kCaptureBegin);
  if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
    return rtFail(ACL_ERROR_INVALID_PARAM,
                  fmt::format("capture mode {} must be 0 to 2", static_cast<int>(mode)));
  return rtCaptureBegin(stream);
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
  if (int code = NotNull({{"status", status}})) return code;
  void* graph = nullptr;
  if (int code = rtCaptureInfo(stream, &graph)) return code;
  *status = graph == nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_NONE : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  if (modelRI != nullptr) *modelRI = graph;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
  AclSpan span(AclCall::kCaptureEnd);
  if (int code = NotNull({{"modelRI", modelRI}})) return code;
  return rtCaptureEnd(stream, modelRI);
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  AclSpan span(AclCall::kGraphExecute);
  if (int code = NotNull({{"modelRI", modelRI}})) return code;
  return rtGraphExecute(modelRI, stream);
}

aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  AclSpan span(AclCall::kGraphDestroy);
  if (int code = NotNull({{"modelRI", modelRI}})) return code;
  return rtGraphDestroy(modelRI);
}
