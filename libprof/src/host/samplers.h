// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "drain/drain.h"
#include "drain/ledger.h"
#include "trace/manifest.h"
#include "trace/record_file.h"
#include "trace/sampling.h"

namespace npuprof::host {

/// What is sampled, and how the file is called (host/data/<file>.slice_<k>).
enum class Sample {
  kProcessCpu,     ///< host_cpu.data: CPU time of each thread of this process
  kProcessMemory,  ///< host_mem.data: memory of this process
  kSystemCpu,      ///< host_sys_cpu.data: CPU time of the machine
  kSystemMemory,   ///< host_sys_mem.data: memory of the machine
  kProcessDisk,    ///< host_disk.data: what this process reads from and writes to disks
  kNetwork,        ///< host_network.data: traffic of the network cards that this process sees
};
const char* SampleFileName(Sample sample);

/// What a sample before has to be known for.
struct SampleHistory {
  uint64_t time_ns = 0;  ///< 0: there was none
  uint64_t read_bytes = 0, written_bytes = 0;
};

/// Appends the text of one sample taken at @p now_ns to @p out. @return false if /proc did not answer
bool TakeSample(Sample sample, uint64_t now_ns, SampleHistory* history, std::string* out);

/// Samples once per period on the drain thread, for as long as the collection lives, and once when it is finished.
class Sampler final : public drain::Source {
 public:
  Sampler(drain::Collection& collection, const std::string& host_data, Sample sample,
          std::chrono::nanoseconds period);

  drain::Progress Poll(const drain::Pass& pass) override;
  std::chrono::nanoseconds Interval() const override { return period_; }
  bool Periodic() const override { return true; }

  /// Samples kept, and lost because no memory for them was left. Drain thread, or any thread after Finish().
  trace::Manifest::Kind Describe() const;
  trace::FileReport Report(const std::string& root) const { return file_.Report(root); }

 private:
  const Sample sample_;
  const std::chrono::nanoseconds period_;
  trace::RecordFile file_;
  drain::Ledger ledger_;
  uint64_t dropped_ = 0;
  SampleHistory history_;
  trace::IntervalMeter meter_;
  bool ended_ = false;  // the last sample was taken
  std::string text_;
};

}  // namespace npuprof::host
