/* SPDX-License-Identifier: Apache-2.0 */
/* aclprofSetConfig: every type, and what it takes. */
#include "rows.h"

ROW(set_type_minus_1, 100000) {
  return set_config(-1, "1");
}
ROW(set_type_0, 100000) {
  return set_config(0, "1");
}
ROW(set_type_2, 100010) {
  return set_config(2, "1");
}
ROW(set_type_17, 100000) {
  return set_config(17, "1");
}
ROW(set_type_18, 100000) {
  return set_config(18, "1");
}
ROW(set_257_bytes, 100000) {
  char text[258];
  memset(text, '1', 257);
  text[257] = '\0';
  return aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, text, 257);
}
ROW(set_null, 100000, EK0006) {
  return aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, NULL, 2);
}
ROW(set_length_is_not_strlen, 100000) {
  return aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, "15", 3);
}
ROW(set_before_init, 0) {
  return set_config(ACL_PROF_SYS_IO_FREQ, "15");
}
ROW(set_while_running, 0) {
  start_marks();
  return set_config(ACL_PROF_SYS_IO_FREQ, "15");
}
ROW(set_storage_50, 100010) {
  return set_config(ACL_PROF_STORAGE_LIMIT, "50");
}
ROW(set_storage_199MB, 100010) {
  return set_config(ACL_PROF_STORAGE_LIMIT, "199MB");
}
ROW(set_storage_200MB, 0) {
  return set_config(ACL_PROF_STORAGE_LIMIT, "200MB");
}
ROW(set_storage_4294967295MB, 0) {
  return set_config(ACL_PROF_STORAGE_LIMIT, "4294967295MB");
}
ROW(set_storage_4294967296MB, 0) {
  return set_config(ACL_PROF_STORAGE_LIMIT, "4294967296MB");
}
ROW(set_storage_empty, 0) {
  return set_config(ACL_PROF_STORAGE_LIMIT, "");
}
ROW(set_memory_frequency_100, 0) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "100");
}
ROW(set_memory_frequency_101, 100010) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "101");
}
ROW(set_memory_frequency_0, 100010) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "0");
}
ROW(set_memory_frequency_050, 0) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "050");
}
ROW(set_memory_frequency_0050, 100010) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "0050");
}
ROW(set_memory_frequency_signed, 100010) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "+5");
}
ROW(set_memory_frequency_empty, 100010) {
  return set_config(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "");
}
ROW(set_llc_read, 0) {
  return set_config(ACL_PROF_LLC_MODE, "read");
}
ROW(set_llc_write, 0) {
  return set_config(ACL_PROF_LLC_MODE, "write");
}
ROW(set_llc_other, 100010) {
  return set_config(ACL_PROF_LLC_MODE, "both");
}
ROW(set_io_frequency_100, 0) {
  return set_config(ACL_PROF_SYS_IO_FREQ, "100");
}
ROW(set_io_frequency_101, 100010) {
  return set_config(ACL_PROF_SYS_IO_FREQ, "101");
}
ROW(set_links_50, 0) {
  return set_config(ACL_PROF_SYS_INTERCONNECTION_FREQ, "50");
}
ROW(set_links_51, 100010) {
  return set_config(ACL_PROF_SYS_INTERCONNECTION_FREQ, "51");
}
ROW(set_dvpp_100, 0) {
  return set_config(ACL_PROF_DVPP_FREQ, "100");
}
ROW(set_dvpp_101, 100010) {
  return set_config(ACL_PROF_DVPP_FREQ, "101");
}
ROW(set_host_cpu_mem, 0) {
  return set_config(ACL_PROF_HOST_SYS, "cpu,mem");
}
ROW(set_host_disk, 0) {
  return set_config(ACL_PROF_HOST_SYS, "disk");
}
ROW(set_host_network, 0) {
  return set_config(ACL_PROF_HOST_SYS, "network");
}
ROW(set_host_osrt, 0) {
  return set_config(ACL_PROF_HOST_SYS, "osrt");
}
ROW(set_host_numa, 0) {
  return set_config(ACL_PROF_HOST_SYS, "numa");
}
ROW(set_host_all, 0) {
  return set_config(ACL_PROF_HOST_SYS, "cpu,mem,disk,network,osrt,numa");
}
ROW(set_host_upper_case, 100010) {
  return set_config(ACL_PROF_HOST_SYS, "CPU");
}
ROW(set_host_comma_at_the_end, 100010) {
  return set_config(ACL_PROF_HOST_SYS, "cpu,");
}
ROW(set_host_comma_alone, 100010) {
  return set_config(ACL_PROF_HOST_SYS, ",");
}
ROW(set_host_other_comma, 100010) {
  return set_config(ACL_PROF_HOST_SYS, "cpu;mem");
}
ROW(set_host_twice_the_same, 0) {
  return set_config(ACL_PROF_HOST_SYS, "cpu,cpu");
}
ROW(set_host_256_bytes, 100010) {
  char text[257];
  memset(text, 'c', 256);
  text[256] = '\0';
  return set_config(ACL_PROF_HOST_SYS, text);
}
ROW(set_host_257_bytes, 100000) {
  char text[258];
  memset(text, 'c', 257);
  text[257] = '\0';
  return set_config(ACL_PROF_HOST_SYS, text);
}
ROW(set_host_other, 100010) {
  return set_config(ACL_PROF_HOST_SYS, "cpu,gpu");
}
ROW(set_host_empty, 0) {
  return set_config(ACL_PROF_HOST_SYS, "");
}
ROW(set_usage_cpu_mem, 0) {
  return set_config(ACL_PROF_HOST_SYS_USAGE, "cpu,mem");
}
ROW(set_usage_empty, 0) {
  return set_config(ACL_PROF_HOST_SYS_USAGE, "");
}
ROW(set_usage_frequency_1, 0) {
  return set_config(ACL_PROF_HOST_SYS_USAGE_FREQ, "1");
}
ROW(set_usage_frequency_0, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE_FREQ, "0");
}
ROW(set_usage_frequency_empty, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE_FREQ, "");
}
ROW(set_usage_network, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE, "network");
}
ROW(set_usage_osrt, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE, "cpu,osrt");
}
ROW(set_usage_numa, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE, "numa");
}
ROW(set_usage_disk, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE, "disk");
}
ROW(set_usage_frequency_50, 0) {
  return set_config(ACL_PROF_HOST_SYS_USAGE_FREQ, "50");
}
ROW(set_usage_frequency_51, 100010) {
  return set_config(ACL_PROF_HOST_SYS_USAGE_FREQ, "51");
}
ROW(set_low_power_not_on_this_chip, 100010) {
  return set_config(ACL_PROF_LOW_POWER_FREQ, "50");
}
ROW(set_service_flow, 0) {
  return set_config(ACL_PROF_SYS_MEM_SERVICEFLOW, "flow");
}
ROW(set_service_flow_empty, 100010) {
  return set_config(ACL_PROF_SYS_MEM_SERVICEFLOW, "");
}
ROW(set_cpu_frequency_not_on_this_chip, 100010) {
  return set_config(ACL_PROF_SYS_CPU_FREQ, "50");
}
ROW(set_optype_not_on_this_chip, 100010) {
  return set_config(ACL_PROF_OPTYPE, "Add");
}
ROW(set_nts_not_on_this_chip, 100000) {
  return set_config(ACL_PROF_NTS_METRICS, "PipeUtilization");
}
ROW(set_path, 0) {
  return set_config(ACL_PROF_PATH, "/tmp/elsewhere");
}
ROW(set_path_with_a_forbidden_character, 100010) {
  MUST(init());
  return set_config(ACL_PROF_PATH, "/tmp/a;b");
}
