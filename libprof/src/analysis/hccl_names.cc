// SPDX-License-Identifier: Apache-2.0
#include "analysis/hccl_names.h"

namespace npuprof::analysis {

const NamedValues& HcclDataTypes() {
  static const NamedValues kNames = {
      {0, "INT8"},     {1, "INT16"},    {2, "INT32"},      {3, "FP16"},    {4, "FP32"},
      {5, "INT64"},    {6, "UINT64"},   {7, "UINT8"},      {8, "UINT16"},  {9, "UINT32"},
      {10, "FP64"},    {11, "BFP16"},   {12, "INT128"},    {14, "HIF8"},   {15, "FP8E4M3"},
      {16, "FP8E5M2"}, {17, "FP8E8M0"}, {255, "RESERVED"}, {65534, "N/A"}, {65535, "INVALID_TYPE"}};
  return kNames;
}

const NamedValues& HcclLinkTypes() {
  static const NamedValues kNames = {{0, "ON_CHIP"},       {1, "HCCS"},    {2, "PCIE"},
                                     {3, "ROCE"},          {4, "SIO"},     {5, "HCCS_SW"},
                                     {6, "STANDARD_ROCE"}, {7, "UB"},      {8, "UBoE"},
                                     {255, "RESERVED"},    {65534, "N/A"}, {65535, "INVALID_TYPE"}};
  return kNames;
}

const NamedValues& HcclTransportTypes() {
  static const NamedValues kNames = {{0, "SDMA"}, {1, "RDMA"},       {2, "LOCAL"},   {3, "UB"},
                                     {4, "ROCE"}, {255, "RESERVED"}, {65534, "N/A"}, {65535, "INVALID_TYPE"}};
  return kNames;
}

const NamedValues& HcclRdmaTypes() {
  static const NamedValues kNames = {{0, "RDMA_SEND_NOTIFY"},
                                     {1, "RDMA_SEND_PAYLOAD"},
                                     {255, "RESERVED"},
                                     {65534, "N/A"},
                                     {65535, "INVALID_TYPE"}};
  return kNames;
}

const char* NameIn(const NamedValues& names, uint32_t value) {
  for (const auto& [number, name] : names) {
    if (number == value) return name;
  }
  return "INVALID_TYPE";
}

}  // namespace npuprof::analysis
