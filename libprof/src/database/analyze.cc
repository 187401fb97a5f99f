// SPDX-License-Identifier: Apache-2.0
#include "database/analyze.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "analysis/clock.h"
#include "analysis/communication.h"
#include "analysis/device_trace.h"
#include "analysis/host_trace.h"
#include "analysis/output_claim.h"
#include "analysis/text.h"
#include "database/sqlite_file.h"
#include "database/summary.h"
#include "database/table_set.h"

namespace npuprof::database {

using namespace analysis;  // NOLINT: the decoder's words are used in every line
using nlohmann::ordered_json;

namespace {

ordered_json TimesJson(const Times& t) {
  return {{"Start Timestamp(us)", t.start_us},
          {"Elapse Time(ms)", t.elapse},
          {"Transit Time(ms)", t.transit},
          {"Wait Time(ms)", t.wait},
          {"Synchronization Time(ms)", t.synchronization},
          {"Idle Time(ms)", t.idle},
          {"Wait Time Ratio", Ratio(t.wait, t.transit)},
          {"Synchronization Time Ratio", Ratio(t.synchronization, t.transit)}};
}

ordered_json TrafficJson(const std::array<Traffic, kKinds>& traffic) {
  ordered_json out = ordered_json::object();
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Traffic& t = traffic[kind];
    ordered_json sizes = ordered_json::object();
    for (const auto& [size, sum] : t.sizes) sizes[fmt::format("{}", size)] = {sum.first, sum.second};
    out[kKindNames[kind]] = {{"Transit Size(MB)", t.megabytes},
                             {"Transit Time(ms)", t.milliseconds},
                             {"Bandwidth(GB/s)", Rate(t.megabytes, t.milliseconds)},
                             {"Large Packet Ratio", t.LargeRatio()},
                             {"Size Distribution", sizes}};
  }
  return out;
}

ordered_json MatrixJson(const Matrix& matrix) {
  ordered_json out = ordered_json::object();
  for (const auto& [ranks, pair] : matrix) {
    out[fmt::format("{}-{}", ranks.first, ranks.second)] = {
        {"Transport Type", pair.transport ? ordered_json(pair.transport) : ordered_json()},
        {"Transit Size(MB)", pair.megabytes},
        {"Transit Time(ms)", pair.milliseconds},
        {"Bandwidth(GB/s)", Rate(pair.megabytes, pair.milliseconds)}};
  }
  return out;
}

void WriteJson(const std::filesystem::path& path, const ordered_json& object) {
  OutputFile file(path);
  file.Write(object.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  file.Commit();
}

void WriteText(const std::filesystem::path& directory, const Collected& collected, Analysis* out) {
  constexpr const char* kTotal = "Total HCCL Operators";
  ordered_json communication, matrix;
  const auto add = [&](const std::string& key, const Summary& summary) {
    communication[key] = {{"Communication Time Info", TimesJson(summary.times)},
                          {"Communication Bandwidth Info", TrafficJson(summary.traffic)}};
    matrix[key] = MatrixJson(summary.matrix);
  };
  for (const std::string& key : collected.order) add(key, collected.by_key.at(key));
  add(kTotal, collected.Total());
  WriteJson(directory / "communication.json", communication);
  WriteJson(directory / "communication_matrix.json", matrix);
  out->files = {directory / "communication.json", directory / "communication_matrix.json"};
}

void WriteTables(const std::filesystem::path& path, const Collected& collected) {
  static constexpr TableSpec kTime{
      "CommAnalyzerTime",
      "hccl_op_name:t group_name:t start_timestamp:n elapse_time:n transit_time:n "
      "wait_time:n synchronization_time:n idle_time:n"};
  static constexpr TableSpec kBandwidth{
      "CommAnalyzerBandwidth",
      "hccl_op_name:t group_name:t transport_type:t transit_size:n transit_time:n "
      "bandwidth:n large_packet_ratio:n package_size:n count:n total_duration:n"};
  static constexpr TableSpec kMatrix{"CommAnalyzerMatrix",
                                     "hccl_op_name:t group_name:t src_rank:t dst_rank:t transport_type:t "
                                     "transit_size:n transit_time:n bandwidth:n"};
  SqliteFile file(path);
  {
    Strings strings(nullptr);
    Table time(kTime, &file, &strings), bandwidth(kBandwidth, &file, &strings),
        matrix(kMatrix, &file, &strings);
    for (const std::string& key : collected.order) {
      const Summary& one = collected.by_key.at(key);
      const std::string group = std::to_string(one.group);
      const Times& t = one.times;
      time.Row({one.label, group, t.start_us, t.elapse, t.transit, t.wait, t.synchronization, t.idle});
      for (size_t kind = 0; kind < kKinds; ++kind) {
        const Traffic& of = one.traffic[kind];
        if (of.megabytes == 0 && of.milliseconds == 0) continue;
        const double rate = Rate(of.megabytes, of.milliseconds);
        const auto row = [&](double size, uint64_t count, double total) {
          bandwidth.Row({one.label, group, kKindNames[kind], of.megabytes, of.milliseconds, rate,
                         of.LargeRatio(), size, count, total});
        };
        for (const auto& [size, sum] : of.sizes) row(size, sum.first, sum.second);
        if (of.sizes.empty()) row(0, 0, 0);
      }
      for (const auto& [ranks, pair] : one.matrix) {
        matrix.Row({one.label, group, std::to_string(ranks.first), std::to_string(ranks.second),
                    pair.transport ? pair.transport : "", pair.megabytes, pair.milliseconds,
                    Rate(pair.megabytes, pair.milliseconds)});
      }
    }
    for (Table* table : {&time, &bandwidth, &matrix}) {
      table->Create();
      table->Flush();
    }
  }
  file.Commit();
}

// Is there before the first result is, for temporary files: those never go into a profile whose results go elsewhere. What
// was made in vain goes again.
class OutputDirectory {
 public:
  explicit OutputDirectory(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    made_ = std::filesystem::create_directories(path_, error);
    if (error) throw Error(fmt::format("{} cannot be created: {}", path_.string(), error.message()));
  }
  ~OutputDirectory() {
    if (made_) ::rmdir(path_.c_str());  // refused if something is in it
  }
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool made_ = false;
};

}  // namespace

Analysis Analyze(const Profile& profile, const ExportOptions& options, bool text) {
  const OutputDirectory base(options.output.empty() ? profile.path() : options.output);
  std::vector<std::string> parts;
  if (profile.has_host()) parts.push_back("host");
  for (const auto& device : profile.devices()) parts.push_back(device.directory);
  const SliceIndex index(profile.path(), parts);
  Diagnostics diagnostics;
  SpillSpace space(base.path(), options.memory != 0 ? options.memory : SpillSpace::kInMemory);
  StringPool pool(&space);
  HostTrace host(&pool, &space, &diagnostics);
  const auto progress = [&](uint64_t) {
    if (options.check) options.check();
  };
  host.Load(profile, index, progress);
  Communication communication(&space);
  communication.LoadHost(index, &host, pool, &diagnostics, progress);
  Flips flips;
  std::vector<std::unique_ptr<DeviceTrace>> traces;
  for (const auto& device : profile.devices()) {
    traces.push_back(std::make_unique<DeviceTrace>(device.id, index, &space, &diagnostics));
    traces.back()->LoadMarks(progress);
    flips.insert(traces.back()->flips().begin(), traces.back()->flips().end());
  }
  host.AssignBatches(flips);
  for (size_t i = 0; i < traces.size(); ++i) {
    const DeviceInfo& info = profile.devices()[i];
    const DeviceClock clock(profile, i, &diagnostics);
    communication.LoadDevice(info.id,
                             index.Get(fmt::format("{}/data/aicpu.data.{}", info.directory, info.id)), &host,
                             &diagnostics, progress);
    traces[i]->LoadTasks(false, progress);
    traces[i]->Join(host, clock, true);
    traces[i]->SortByStart();
    for (const DeviceTask& task : traces[i]->tasks())
      communication.Add(DescribeTask(host, info.id, clock, task), &host, 0);
    traces[i].reset();
  }
  std::vector<std::vector<const CollectiveTask*>> tasks(communication.collectives().size());
  for (const CollectiveTask& task : communication.tasks()) tasks[task.collective].push_back(&task);
  Collected collected;
  for (auto device = profile.devices().rbegin(); device != profile.devices().rend(); ++device) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (communication.collectives()[i].device == device->id && !tasks[i].empty())
        collected.Take(Summarise(communication.collectives()[i], tasks[i], pool));
    }
  }
  Analysis out;
  out.operators = collected.order.size();
  out.unusable = diagnostics.failures();
  if (collected.order.empty()) return out;
  const auto directory = base.path() / "analyze";
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error(fmt::format("{} cannot be created: {}", directory.string(), error.message()));
  OutputClaim claim;
  while (!claim.Take(directory, "analysis")) {
    if (options.check) options.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (text) WriteText(directory, collected, &out);
  WriteTables(directory / "communication_analyzer.db", collected);
  out.files.push_back(directory / "communication_analyzer.db");
  return out;
}

}  // namespace npuprof::database
