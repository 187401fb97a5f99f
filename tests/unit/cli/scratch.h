// SPDX-License-Identifier: Apache-2.0
// A directory of a test, a manifest to put into it, and a command run to its end.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace npuprof::cli {

/// Removed with all it holds when destroyed.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "npuprof_cli.XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// Two rings and one kind of host data: kept 100 + 7 + 50, lost 5 + 2 on the device and 3 on the host.
inline constexpr const char* kManifest = R"({"format":1,"npuprof":"0.1.0","simulated":true,"pid":42,
 "command":"./infer a b","data_types":"0x7","complete":false,
 "window":{"begin_realtime_us":1700000000000000,"begin_monotonic_raw_ns":1000,"end_monotonic_raw_ns":2501000},
 "drain":{"path":"uring","reason":"default","staging_peak_bytes":4096},
 "versions":{"library":"0.1.0","abi":"0.7","record_formats":3,"file_formats":"9.0.0","runtime":"npusim 0.1.9"},
 "devices":[{"id":0,"backend":"sim","name":"some NPU","chip":5,"simulated":true,
   "tasks":{"started":50,"ended":50,"straddling_start":0,"straddling_stop":0},
   "rings":[{"ring":1,"channel":"task_log","core_kind":"none","core":65535,"slots":64,"records":105,"kept":100,"lost":5,
             "lost_by_cause":{"ring_full":5,"fifo_overflow":0}},
            {"ring":2,"channel":"task_pmu","core_kind":"cube","core":3,"slots":64,"records":9,"kept":7,"lost":2,
             "lost_by_cause":{"fifo_overflow":2}}],
   "gaps":[],"clock":[],"driver":{"version":"npusim 0.1.9","abi":"0.6","record_formats":3,"interrupts":1,"register_reads":2,"register_writes":3,"busy_ns":4}}],
 "host":{"cycle_hz":1000000000,"threads":1,"kinds":[{"kind":"api_event","records":50,"lost":3}],
         "lost_by_cause":{"ring_full":3,"nested":0,"no_ring":0},
         "losses":[{"thread":4711,"cause":"ring_full","count":3,"first_monotonic_raw_ns":1001000,
                    "last_monotonic_raw_ns":2001000}]},
 "files":[],"cost":{"drain_cpu_ns":1,"wakeups":2,"bytes_written":3,"start_ns":4,"stop_ns":5,"device_busy_ns":6},
 "messages":[{"severity":"info","text":"quiet"},{"severity":"warning","text":"look here"}]})";

struct Finished {
  int status = 0;  ///< exit status, or 128 + signal
  std::string out, err;
};

/// Runs @p command in a shell, standard output and error apart.
inline Finished Shell(const Scratch& scratch, const std::string& command) {
  const std::string err = (scratch.path() / "stderr.txt").string();
  std::FILE* pipe = popen(("{ " + command + "\n} 2>" + err).c_str(), "r");
  if (!pipe) throw std::runtime_error("popen");
  Finished finished;
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    finished.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  finished.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  std::ifstream in(err);
  finished.err.assign(std::istreambuf_iterator<char>(in), {});
  return finished;
}

}  // namespace npuprof::cli
