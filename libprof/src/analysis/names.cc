// SPDX-License-Identifier: Apache-2.0
#include "analysis/names.h"

#include <array>
#include <map>

namespace npuprof::analysis {
namespace {

template <size_t N>
const char* At(const std::array<const char*, N>& names, uint64_t index, const char* otherwise) {
  return index < N && names[index] ? names[index] : otherwise;
}

const char* Find(const std::map<uint64_t, const char*>& names, uint64_t key) {
  const auto it = names.find(key);
  return it == names.end() ? nullptr : it->second;
}

}  // namespace

bool IsKnownLevel(uint16_t level) {
  switch (level) {
    case kLevelPytorchTx:
    case kLevelPta:
    case kLevelMsprofTx:
    case kLevelAcl:
    case kLevelModel:
    case kLevelNode:
    case kLevelAicpu:
    case kLevelHccl:
    case kLevelRuntime:
      return true;
    default:
      return false;
  }
}

const char* LevelName(uint16_t level) {
  switch (level) {
    case kLevelAcl:
      return "acl";
    case kLevelModel:
      return "model";
    case kLevelNode:
      return "node";
    case kLevelHccl:
      return "communication";
    case kLevelRuntime:
      return "runtime";
    default:
      return "";
  }
}

const char* LevelPrefix(uint16_t level) {
  switch (level) {
    case kLevelAcl:
      return "AscendCL@";
    case kLevelModel:
      return "Model@";
    case kLevelNode:
      return "Node@";
    case kLevelHccl:
      return "Communication@";
    case kLevelRuntime:
      return "Runtime@";
    default:
      return "";
  }
}

const char* AclMode(uint32_t type) {
  static constexpr std::array<const char*, 13> kModes = {
      nullptr,     "ACL_OP", "ACL_MODEL", "ACL_RTS",   "ACL_OTHERS", "ACL_NN", "ACL_ASCENDC",
      "HOST_HCCL", nullptr,  "ACL_DVPP",  "ACL_GRAPH", "ACL_ATB",    "HIXL"};
  return At(kModes, type >> 16, "ACL_OTHERS");
}

const char* NodeTaskType(uint32_t type) {
  static constexpr std::array<const char*, 12> kTypes = {
      "AI_CORE",   "AI_CPU",  "AI_VECTOR_CORE", "WRITE_BACK",    "MIX_AIC", "MIX_AIV",
      "FFTS_PLUS", "DSA_SQE", "DVPP",           "COMMUNICATION", "FUSION",  "INVALID"};
  return At(kTypes, type, "INVALID");
}

const char* SqeName(unsigned type) {
  static constexpr std::array<const char*, 21> kTypes = {
      "AI_CORE",          "AI_CPU",         "AIV_SQE",           "PLACE_HOLDER_SQE",
      "EVENT_RECORD_SQE", "EVENT_WAIT_SQE", "NOTIFY_RECORD_SQE", "NOTIFY_WAIT_SQE",
      "WRITE_VALUE_SQE",  "VQ6_SQE",        "TOF_SQE",           "SDMA_SQE",
      "VPC_SQE",          "JPEGE_SQE",      "JPEGD_SQE",         "DSA_SQE",
      "ROCCE_SQE",        "PCIE_DMA_SQE",   "HOST_CPU_SQE",      "CDQM_SQE",
      "C_CORE_SQE"};
  return At(kTypes, type, "UNKNOWN_SQE");
}

const char* RuntimeTaskName(uint64_t type) {
  static const std::map<uint64_t, const char*> kNames = {
      {0, "KERNEL_AICORE"},    {1, "KERNEL_AICPU"},      {2, "EVENT_RECORD"},       {3, "EVENT_WAIT"},
      {5, "MEMCPY_ASYNC"},     {6, "MAINTENANCE"},       {7, "CREATE_STREAM"},      {12, "MODEL_MAINTAINCE"},
      {13, "MODEL_EXECUTE"},   {14, "NOTIFY_WAIT"},      {15, "NOTIFY_RECORD"},     {16, "RDMA_SEND"},
      {18, "STREAM_SWITCH"},   {19, "STREAM_ACTIVE"},    {25, "RDMA_DB_SEND"},      {26, "PROFILER_TRACE_EX"},
      {32, "MEMSET_ASYNC"},    {50, "STARS_COMMON"},     {52, "FFTS_PLUS"},         {53, "CMO"},
      {55, "WriteValueTask"},  {64, "PROFILING_ENABLE"}, {65, "PROFILING_DISABLE"}, {66, "KERNEL_AIVEC"},
      {92, "REDUCE_ASYNC_V2"}, {98, "FLIP_TASK"},        {107, "KERNEL_FUSION"},    {108, "KERNEL_MIX_AIC"},
      {109, "KERNEL_MIX_AIV"}, {113, "MEM_WRITE_VALUE"}, {114, "MEM_WAIT_VALUE"},   {126, "CAPTURE_RECORD"},
      {127, "CAPTURE_WAIT"}};
  return Find(kNames, type);
}

bool RunsOperator(const std::string& name) {
  return name.starts_with("KERNEL_") || name == "FFTS_PLUS" || name == "STARS_COMMON";
}

const char* CopyDirection(uint16_t direction) {
  static constexpr std::array<const char*, 8> kDirections = {
      "host to host",   "host to device",        "device to host",    "device to device",
      "managed memory", "addr device to device", "host to device ex", "device to host ex"};
  return At(kDirections, direction, "other");
}

std::string ModuleName(uint32_t module) {
  static const std::map<uint64_t, const char*> kModules = {
      {0, "SLOG"},        {1, "IDEDD"},     {2, "SCC"},
      {3, "HCCL"},        {4, "FMK"},       {5, "CCU"},
      {6, "DVPP"},        {7, "RUNTIME"},   {8, "CCE"},
      {9, "HDC"},         {10, "DRV"},      {11, "NET"},
      {22, "DEVMM"},      {23, "KERNEL"},   {24, "LIBMEDIA"},
      {25, "CCECPU"},     {27, "ROS"},      {28, "HCCP"},
      {29, "ROCE"},       {30, "TEFUSION"}, {31, "PROFILING"},
      {32, "DP"},         {33, "APP"},      {34, "TS"},
      {35, "TSDUMP"},     {36, "AICPU"},    {37, "LP"},
      {38, "TDT"},        {39, "FE"},       {40, "MD"},
      {41, "MB"},         {42, "ME"},       {43, "IMU"},
      {44, "IMP"},        {45, "GE"},       {47, "CAMERA"},
      {48, "ASCENDCL"},   {49, "TEEOS"},    {50, "ISP"},
      {51, "SIS"},        {52, "HSM"},      {53, "DSS"},
      {54, "PROCMGR"},    {55, "BBOX"},     {56, "AIVECTOR"},
      {57, "TBE"},        {58, "FV"},       {60, "TUNE"},
      {61, "HSS"},        {62, "FFTS"},     {63, "OP"},
      {64, "UDF"},        {65, "HICAID"},   {66, "TSYNC"},
      {67, "AUDIO"},      {68, "TPRT"},     {69, "ASCENDCKERNEL"},
      {70, "ASYS"},       {71, "ATRACE"},   {72, "RTC"},
      {73, "SYSMONITOR"}, {74, "AMP"},      {75, "ADETECT"},
      {76, "MBUFF"},      {77, "CUSTOM"}};
  const char* name = Find(kModules, module);
  return name ? name : std::to_string(module);
}

std::string TensorDataType(uint32_t type) {
  static const std::map<uint64_t, const char*> kTypes = {
      {0, "FLOAT"},     {1, "FLOAT16"},      {2, "INT8"},           {3, "INT32"},
      {4, "UINT8"},     {6, "INT16"},        {7, "UINT16"},         {8, "UINT32"},
      {9, "INT64"},     {10, "UINT64"},      {11, "DOUBLE"},        {12, "BOOL"},
      {13, "STRING"},   {16, "COMPLEX64"},   {27, "DT_BF16"},       {29, "DT_INT4"},
      {34, "HIFLOAT8"}, {35, "FLOAT8_E5M2"}, {36, "FLOAT8_E4M3FN"}, {0xffffffff, "UNDEFINED"}};
  const char* name = Find(kTypes, type);
  return name ? name : std::to_string(type);
}

std::string TensorFormat(uint32_t format) {
  static const std::map<uint64_t, const char*> kFormats = {
      {0, "NCHW"}, {1, "NHWC"}, {2, "ND"}, {3, "NC1HWC0"}, {4, "FRACTAL_Z"}, {29, "FRACTAL_NZ"}};
  if (format == 0xffffffff) return "UNDEFINED";
  const char* name = Find(kFormats, format & 0xff);
  return name ? name : std::to_string(format & 0xff);
}

}  // namespace npuprof::analysis
