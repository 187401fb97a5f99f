// SPDX-License-Identifier: Apache-2.0
#include "database/schema.h"

#include <algorithm>
#include <array>

#include "analysis/hccl_names.h"

namespace npuprof::database {
namespace {

// By name, for FindTable().
constexpr std::array kTables = {
    TableSpec{"ACC_PMU", "accId readBwLevel writeBwLevel readOstLevel writeOstLevel timestampNs:n deviceId"},
    TableSpec{"AICORE_FREQ", "deviceId timestampNs:n freq dieId:n"},
    TableSpec{"CANN_API", "startNs endNs type globalTid connectionId:k name"},
    TableSpec{"COMMUNICATION_OP",
              "opName startNs endNs connectionId groupName opId:k relay retry dataType algType count:n "
              "opType deviceId rankSize"},
    TableSpec{"COMMUNICATION_SCHEDULE_TASK_INFO", "name globalTaskId:k taskType opType"},
    TableSpec{"COMMUNICATION_TASK_INFO",
              "name globalTaskId taskType planeId groupName notifyId rdmaType srcRank dstRank transportType "
              "size dataType linkType opId isMaster bandwidth:n",
              "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)"},
    TableSpec{
        "COMPUTE_TASK_INFO",
        "name globalTaskId:k blockNum mixBlockNum taskType opType inputFormats inputDataTypes inputShapes "
        "outputFormats outputDataTypes outputShapes attrInfo opState hf32Eligible gridDim blockDim"},
    TableSpec{"CPU_USAGE", "timestampNs:n cpuId:n usage:n"},
    TableSpec{"ENUM_API_TYPE", "id:k name:t"},
    TableSpec{"ENUM_HCCL_DATA_TYPE", "id:k name:t"},
    TableSpec{"ENUM_HCCL_LINK_TYPE", "id:k name:t"},
    TableSpec{"ENUM_HCCL_RDMA_TYPE", "id:k name:t"},
    TableSpec{"ENUM_HCCL_TRANSPORT_TYPE", "id:k name:t"},
    TableSpec{"ENUM_MEMCPY_OPERATION", "id:k name:t"},
    TableSpec{"ENUM_MODULE", "id:k name:t"},
    TableSpec{"ENUM_MSTX_EVENT_TYPE", "id:k name:t"},
    TableSpec{"ENUM_OVERLAP_ANALYSIS_TYPE", "id:k name:t"},
    TableSpec{"HBM", "deviceId timestampNs bandwidth:n hbmId type"},
    TableSpec{"HCCS", "deviceId timestampNs txThroughput:n rxThroughput:n"},
    TableSpec{"HOST_INFO", "hostUid:t hostName:t"},
    TableSpec{"HOST_MEM_USAGE", "timestampNs:n usage:n"},
    TableSpec{"HOST_NETWORK_USAGE", "timestampNs:n usage:n speed:n"},
    TableSpec{"LLC", "deviceId llcId timestampNs hitRate:r throughput mode"},
    TableSpec{"MEMCPY_INFO", "globalTaskId:n size:n memcpyOperation:n"},
    TableSpec{"META_DATA", "name:t value:t"},
    TableSpec{
        "MSTX_EVENTS",
        "startNs endNs eventType rangeId category message globalTid endGlobalTid domainId connectionId"},
    TableSpec{"NIC",
              "deviceId timestampNs bandwidth rxPacketRate:n rxByteRate:n rxPackets rxBytes rxErrors "
              "rxDropped txPacketRate:n txByteRate:n txPackets txBytes txErrors txDropped funcId"},
    TableSpec{"NPU_INFO", "id name:t"},
    TableSpec{"NPU_MEM", "type ddr:n hbm:n timestampNs deviceId"},
    TableSpec{"NPU_MODULE_MEM", "moduleId timestampNs totalReserved:n deviceId"},
    TableSpec{"NPU_OP_MEM",
              "operatorName addr type size timestampNs globalTid totalAllocate:n totalReserve:n component "
              "deviceId"},
    TableSpec{"OVERLAP_ANALYSIS", "id:k deviceId startNs:n endNs:n type"},
    TableSpec{"PCIE",
              "deviceId timestampNs txPostMin:n txPostMax:n txPostAvg:n txNonpostMin:n txNonpostMax:n "
              "txNonpostAvg:n txCplMin:n txCplMax:n txCplAvg:n txNonpostLatencyMin:n txNonpostLatencyMax:n "
              "txNonpostLatencyAvg:n rxPostMin:n rxPostMax:n rxPostAvg:n rxNonpostMin:n rxNonpostMax:n "
              "rxNonpostAvg:n rxCplMin:n rxCplMax:n rxCplAvg:n"},
    TableSpec{"QOS", "deviceId eventName:n bandwidth:n timestampNs:n dieId:n"},
    TableSpec{"RANK_DEVICE_MAP", "rankId deviceId"},
    TableSpec{"ROCE",
              "deviceId timestampNs bandwidth rxPacketRate:n rxByteRate:n rxPackets rxBytes rxErrors "
              "rxDropped txPacketRate:n txByteRate:n txPackets txBytes txErrors txDropped funcId"},
    TableSpec{"SESSION_TIME_INFO", "startTimeNs endTimeNs"},
    TableSpec{
        "SIO",
        "deviceId:n name:n timestampNs:n rxReq:n rxRsp:n rxSnp:n rxDat:n txReq:n txRsp:n txSnp:n txDat:n"},
    TableSpec{"SOC_BANDWIDTH_LEVEL", "l2BufferBwLevel mataBwLevel timestampNs:n deviceId"},
    TableSpec{"STRING_IDS", "id:k value:t"},
    TableSpec{"TASK",
              "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId taskId "
              "modelId",
              "CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId)"},
    TableSpec{"TASK_PMU_INFO", "globalTaskId name value:n"},
};
static_assert(std::is_sorted(kTables.begin(), kTables.end(),
                             [](const TableSpec& a, const TableSpec& b) { return a.name < b.name; }));

}  // namespace

const TableSpec* FindTable(std::string_view name) {
  const auto found =
      std::lower_bound(kTables.begin(), kTables.end(), name,
                       [](const TableSpec& spec, std::string_view n) { return spec.name < n; });
  return found != kTables.end() && found->name == name ? &*found : nullptr;
}

std::vector<Column> ColumnsOf(const TableSpec& spec) {
  std::vector<Column> columns;
  for (std::string_view rest = spec.columns; !rest.empty();) {
    const auto word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto name = word.substr(0, word.find(':'));
    Column column{std::string(name)};
    const char mark = name.size() == word.size() ? 'i' : word.back();
    column.kind = mark == 'n'   ? Column::kNumeric
                  : mark == 'r' ? Column::kReal
                  : mark == 't' ? Column::kText
                                : Column::kInteger;
    column.primary = mark == 'k';
    columns.push_back(std::move(column));
  }
  return columns;
}

const char* SqlType(Column::Kind kind) {
  constexpr std::array kTypes = {"INTEGER", "NUMERIC", "REAL", "TEXT"};
  return kTypes[static_cast<size_t>(kind)];
}

const std::vector<Enumeration>& Enumerations() {
  static const std::vector<Enumeration> kEnumerations = {
      {"ENUM_API_TYPE",
       {{5000, "runtime"}, {5500, "communication"}, {10000, "node"}, {15000, "model"}, {20000, "acl"}}},
      {"ENUM_HCCL_DATA_TYPE", analysis::HcclDataTypes()},
      {"ENUM_HCCL_LINK_TYPE", analysis::HcclLinkTypes()},
      {"ENUM_HCCL_RDMA_TYPE", analysis::HcclRdmaTypes()},
      {"ENUM_HCCL_TRANSPORT_TYPE", analysis::HcclTransportTypes()},
      {"ENUM_MEMCPY_OPERATION",
       {{0, "host to host"},
        {1, "host to device"},
        {2, "device to host"},
        {3, "device to device"},
        {4, "managed memory"},
        {5, "addr device to device"},
        {6, "host to device ex"},
        {7, "device to host ex"},
        {65535, "other"}}},
      {"ENUM_MODULE", {{0, "SLOG"},        {1, "IDEDD"},     {2, "SCC"},
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
                       {76, "MBUFF"},      {77, "CUSTOM"}}},
      {"ENUM_MSTX_EVENT_TYPE", {{0, "marker"}, {1, "push/pop"}, {2, "start/end"}, {3, "marker_ex"}}},
      {"ENUM_OVERLAP_ANALYSIS_TYPE",
       {{0, "COMPUTE"}, {1, "COMMUNICATION"}, {2, "COMM_NOT_OVERLAP_COMP"}, {3, "FREE"}, {65535, "RESERVE"}}},
  };
  return kEnumerations;
}

}  // namespace npuprof::database
