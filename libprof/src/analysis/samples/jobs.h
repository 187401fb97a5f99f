// SPDX-License-Identifier: Apache-2.0
// One function per file or group of files: reads it for all devices and writes its tables and counters.
#pragma once

#include "analysis/samples/run.h"

namespace npuprof::analysis {

void HbmTable(SampleRun& run);
void LlcTable(SampleRun& run);
void NpuMemoryTable(SampleRun& run);
void ModuleMemoryTable(SampleRun& run);
void NicTable(SampleRun& run);
void RoceTable(SampleRun& run);
void HccsTable(SampleRun& run);
void PcieTable(SampleRun& run);
void DvppTable(SampleRun& run);
/// Of devices and of the host's machine.
void CpuUsageTable(SampleRun& run);
void SystemMemoryTable(SampleRun& run);
/// Of the process that was profiled.
void HostCpuTable(SampleRun& run);
void HostMemoryTable(SampleRun& run);
void HostNetworkTable(SampleRun& run);
void HostDiskTable(SampleRun& run);
/// memory_record and operator_memory.
void OperatorMemoryTables(SampleRun& run);
/// l2_cache and soc_pmu.
void SocPmuTables(SampleRun& run);
/// aicpu, dp and aicpu_mi.
void AicpuTables(SampleRun& run);
void MarkTable(SampleRun& run);
/// qos.data and stars_soc_profile.data, which have no table.
void UnitCounters(SampleRun& run);
/// The clock of the cores.
void FrequencyCounters(SampleRun& run);

}  // namespace npuprof::analysis
