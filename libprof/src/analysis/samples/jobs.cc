// SPDX-License-Identifier: Apache-2.0
#include "analysis/samples/jobs.h"

namespace npuprof::analysis {

const std::vector<SampleJob>& SampleJobs() {
  static const std::vector<SampleJob> kJobs = {
      {{"hbm"}, HbmTable},
      {{"llc_read_write"}, LlcTable},
      {{"npu_mem"}, NpuMemoryTable},
      {{"npu_module_mem"}, ModuleMemoryTable},
      {{"nic"}, NicTable},
      {{"roce"}, RoceTable},
      {{"hccs"}, HccsTable},
      {{"pcie"}, PcieTable},
      {{"dvpp"}, DvppTable},
      {{"cpu_usage"}, CpuUsageTable},
      {{"sys_mem"}, SystemMemoryTable},
      {{"host_cpu_usage"}, HostCpuTable},
      {{"host_mem_usage"}, HostMemoryTable},
      {{"host_network_usage"}, HostNetworkTable},
      {{"host_disk_usage"}, HostDiskTable},
      {{"memory_record", "operator_memory"}, OperatorMemoryTables},
      {{"l2_cache", "soc_pmu"}, SocPmuTables},
      {{"aicpu", "dp", "aicpu_mi"}, AicpuTables},
      {{"msprof_tx"}, MarkTable},
      {{}, UnitCounters},
      {{}, FrequencyCounters},
  };
  return kJobs;
}

}  // namespace npuprof::analysis
