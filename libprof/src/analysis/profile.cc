// SPDX-License-Identifier: Apache-2.0
#include "analysis/profile.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "analysis/manifest.h"
#include "analysis/metadata.h"
#include "analysis/record_reader.h"
#include "analysis/slices.h"
#include "npuprof_records.h"

namespace npuprof::analysis {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPlatform = "5";
constexpr const char* kManifest = "npuprof/manifest.json";

bool IsProfile(const fs::path& directory) {
  std::error_code error;
  if (fs::is_regular_file(directory / "host" / "info.json", error)) return true;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("device_")) continue;
    std::error_code ignored;
    if (fs::is_regular_file(it->path() / ("info.json." + name.substr(7)), ignored)) return true;
  }
  return false;
}

std::vector<std::pair<int, std::string>> DeviceDirectories(const fs::path& root) {
  std::vector<std::pair<int, std::string>> out;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with("device_") || !it->is_directory(ignored)) continue;
    const auto id = ParseUnsigned(std::string_view(name).substr(7));
    // "device_00" is a copy somebody made, not device 0 once more.
    if (id && *id < 4096 && name == "device_" + std::to_string(*id))
      out.emplace_back(static_cast<int>(*id), name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<uint32_t> ParseEvents(std::string_view text) {
  std::vector<uint32_t> out;
  while (!text.empty()) {
    auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.starts_with("0x") || item.starts_with("0X")) item.remove_prefix(2);
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), value, 16);
    if (code != std::errc() || end != item.data() + item.size()) return {};
    out.push_back(value);
  }
  return out;
}

int64_t WallMinusRaw(const Metadata& start) {
  const uint64_t begin_us = start.Number("collectionTimeBegin");
  const uint64_t raw_ns = start.Number("clockMonotonicRaw");
  if (begin_us > INT64_MAX / 1000) start.Fail("collectionTimeBegin", "lies beyond any date");
  if (raw_ns > INT64_MAX) start.Fail("clockMonotonicRaw", "lies beyond any date");
  return static_cast<int64_t>(begin_us * 1000) - static_cast<int64_t>(raw_ns);
}

}  // namespace

uint32_t RecordBytesOf(std::string_view path, bool sampled_cores) {
  const auto file = path.substr(path.rfind('/') + 1);
  const auto starts = [&](std::string_view prefix) { return file.starts_with(prefix); };
  if (path.starts_with("host/")) {
    if (file.find("_dic") != std::string_view::npos || file.find(".variable.") != std::string_view::npos)
      return 0;
    if (file.find(".api_event.") != std::string_view::npos) return kApiFormat.bytes;
    if (file.find(".compact.") != std::string_view::npos) return kCompactFormat.bytes;
    if (file.find(".additional.") != std::string_view::npos) return kAdditionalFormat.bytes;
    return 0;
  }
  if (starts("stars_soc.data")) return kTaskLogFormat.bytes;
  if (starts("ffts_profile.data"))
    return sampled_cores ? sizeof(npuprof_rec_core_sample) : kTaskPmuFormat.bytes;
  if (starts("ts_track.data")) return kTsTrackFormat.bytes;
  if (starts("lpmFreqConv.data") || starts("lpmInfoConv.data")) return kFrequencyFormat.bytes;
  if (starts("aicpu.data")) return kAdditionalFormat.bytes;
  return 0;
}

class ProfileReader {
 public:
  static Profile Read(const fs::path& root) {
    Profile profile;
    profile.path_ = root;
    std::string first_error;
    const auto attempt = [&](const std::string& part, auto&& read) {
      try {
        read();
        return true;
      } catch (const Error& error) {
        if (first_error.empty()) first_error = error.what();
        profile.warnings_.push_back({part, 0, 0, fmt::format("left out, because {}", error.what())});
        if (part != kManifest) profile.failures_.push_back(profile.warnings_.back());
        return false;
      }
    };
    std::vector<std::string> parts;
    std::error_code ignored;
    if (fs::is_directory(root / "host", ignored)) {
      profile.has_host_ = attempt("host", [&] { ReadHost(&profile); });
      if (profile.has_host_) parts.push_back("host");
    }
    if (parts.empty() && first_error.empty()) {
      profile.warnings_.push_back({"", 0, 0, "no host part: names, operators and host activity are unknown"});
    }
    const auto directories = DeviceDirectories(root);
    for (const auto& [id, name] : directories) {
      if (attempt(name, [&, id = id, name = name] { ReadDevice(&profile, id, name); })) parts.push_back(name);
    }
    if (directories.empty()) {
      profile.warnings_.push_back({"", 0, 0, "no device part: only host activity can be shown"});
    }
    if (parts.empty())
      throw Error(first_error.empty() ? root.string() + " holds no usable part" : first_error);
    Diagnostics diagnostics;
    const SliceIndex index(root, parts, &diagnostics);
    const auto& unread = diagnostics.warnings();
    profile.warnings_.insert(profile.warnings_.end(), unread.begin(), unread.end());
    const auto& failed = diagnostics.failures();
    profile.failures_.insert(profile.failures_.end(), failed.begin(), failed.end());
    for (const auto& [path, slices] : index.all()) {
      const bool sampled =
          std::any_of(profile.devices_.begin(), profile.devices_.end(), [&path = path](const auto& d) {
            return d.mode == "sample-based" && path.starts_with(d.directory + "/");
          });
      DataFile file{path, static_cast<unsigned>(slices.size()), TotalBytes(slices),
                    RecordBytesOf(path, sampled), 0};
      if (file.record_bytes != 0) file.records = file.bytes / file.record_bytes;
      profile.files_.push_back(std::move(file));
    }
    if (Metadata::Exists(root, kManifest)) attempt(kManifest, [&] { ReadRunManifest(&profile); });
    if (!profile.aged_) {  // which says it better
      for (const auto& [base, slices] : index.MissingInFront())
        profile.warnings_.push_back(
            {base, 0, 0,
             slices + (slices.starts_with("slices") ? " were" : " was") + " removed, the oldest"});
    }
    return profile;
  }

 private:
  static void ReadCommon(Profile* profile, const Metadata& info, const Metadata& start,
                         const std::string& end_name) {
    const std::string platform = info.Text("platform_version");
    if (platform != kPlatform) {
      info.Fail("platform_version",
                fmt::format("is \"{}\"; this version reads \"{}\" (A2)", platform, kPlatform));
    }
    if (!profile->platform_version_.empty()) return;
    profile->begin_us_ = start.Number("collectionTimeBegin");
    if (Metadata::Exists(profile->path_, end_name)) {
      try {
        profile->end_us_ = Metadata::Read(profile->path_, end_name).Number("collectionTimeEnd");
      } catch (const Error& error) {
        profile->warnings_.push_back({end_name, 0, 0, error.what()});
      }
    }
    profile->platform_version_ = platform;
    profile->process_name_ = info.Text("pid_name", "");
    profile->hostname_ = info.Text("hostname", "");
    profile->pid_ = ParseUnsigned(info.Text("pid", "0")).value_or(0);
  }

  static void ReadHost(Profile* profile) {
    const auto& root = profile->path_;
    const Metadata info = Metadata::Read(root, "host/info.json");
    const Metadata start = Metadata::Read(root, "host/start_info");
    Profile::HostAnchor anchor;
    anchor.wall_minus_raw_ns = WallMinusRaw(start);
    // Without a valid frequency the public readers take host counters as nanoseconds.
    uint64_t hertz = 0;
    if (info.Has("CPU")) hertz = MegahertzToHertz(info.First("CPU").Text("Frequency", "")).value_or(0);
    if (hertz == 0) {
      profile->warnings_.push_back(
          {"host/info.json", 0, 0, "CPU[0].Frequency gives no rate; host counters are taken as nanoseconds"});
    } else {
      const ClockLog log = ClockLog::Read(root, "host/host_start.log");
      anchor.cycles = log.Number("cntvct");
      anchor.monotonic_raw_ns = log.Number("clock_monotonic_raw") + DiffNs(log, hertz);
    }
    ReadCommon(profile, info, start, "host/end_info");
    profile->host_hz_ = hertz;
    profile->host_anchor_ = anchor;
  }

  static uint64_t DiffNs(const ClockLog& log, uint64_t hertz) {
    const auto diff = static_cast<unsigned __int128>(log.Number("cntvct_diff")) * 1'000'000'000u;
    return static_cast<uint64_t>((diff + hertz / 2) / hertz);
  }

  static void ReadDevice(Profile* profile, int id, const std::string& directory) {
    const auto& root = profile->path_;
    const std::string suffix = "." + std::to_string(id);
    const Metadata info = Metadata::Read(root, directory + "/info.json" + suffix);
    const Metadata sample = Metadata::Read(root, directory + "/sample.json");
    const Metadata start = Metadata::Read(root, directory + "/start_info" + suffix);
    const ClockLog host_log = ClockLog::Read(root, directory + "/host_start.log" + suffix);
    const ClockLog device_log = ClockLog::Read(root, directory + "/dev_start.log" + suffix);
    const Metadata chip = info.First("DeviceInfo");

    DeviceInfo device;
    device.id = id;
    device.directory = directory;
    const std::string rate = chip.Text("hwts_frequency");
    const auto hertz = MegahertzToHertz(rate);
    if (!hertz) chip.Fail("hwts_frequency", fmt::format("is '{}'; a rate in MHz is needed", rate));
    device.clock_hz = *hertz;
    const auto core_mhz = [&](const char* key) {
      return static_cast<double>(MegahertzToHertz(chip.Text(key, "")).value_or(0)) / 1e6;
    };
    device.cube_mhz = core_mhz("aic_frequency");
    device.vector_mhz = core_mhz("aiv_frequency");
    device.cube_cores = static_cast<unsigned>(std::min<uint64_t>(chip.Number("ai_core_num"), 65535));
    device.vector_cores = static_cast<unsigned>(std::min<uint64_t>(chip.Number("aiv_num"), 65535));
    device.mode = sample.Text("ai_core_profiling_mode", "");
    device.cube_metrics = sample.Text("ai_core_metrics", "");
    device.vector_metrics = sample.Text("aiv_metrics", "");
    device.cube_events = ParseEvents(sample.Text("ai_core_profiling_events", ""));
    device.vector_events = ParseEvents(sample.Text("aiv_profiling_events", ""));

    Profile::DeviceAnchor anchor;
    anchor.wall_minus_raw_ns = WallMinusRaw(start);
    anchor.clock = device_log.Number("cntvct");
    anchor.device_ns = device_log.Number("clock_monotonic_raw");
    anchor.host_raw_ns = host_log.Number("clock_monotonic_raw");
    if (info.Has("CPU")) {
      const auto host_hz = MegahertzToHertz(info.First("CPU").Text("Frequency", ""));
      if (host_hz) anchor.host_raw_ns += DiffNs(host_log, *host_hz);
    }
    ReadCommon(profile, info, start, directory + "/end_info" + suffix);
    profile->devices_.push_back(std::move(device));
    profile->device_anchors_.push_back(anchor);
  }

  static void ReadRunManifest(Profile* profile) {
    const RunManifest manifest = ReadManifest(profile->path_);
    profile->has_manifest_ = true;
    profile->simulated_ = manifest.simulated;
    profile->complete_ = manifest.complete;
    profile->command_ = manifest.command;
    profile->drain_path_ = manifest.drain_path;
    profile->losses_ = manifest.losses;
    profile->aged_ = manifest.aged;
    profile->warnings_.insert(profile->warnings_.end(), manifest.warnings.begin(), manifest.warnings.end());
    for (auto& device : profile->devices_) {
      for (const auto& entry : manifest.devices) {
        if (entry.id != device.id) continue;
        device.backend = entry.backend;
        device.simulated = entry.simulated;
        device.tasks = entry.tasks;
        device.brackets = entry.brackets;
        profile->simulated_ |= entry.simulated;
      }
    }
    if (!manifest.complete) {
      profile->warnings_.push_back({kManifest, 0, 0, "the run was cut off before it was closed"});
    }
  }
};

Profile Profile::Open(const fs::path& directory) {
  std::error_code error;
  const fs::path root = fs::weakly_canonical(directory, error);
  if (error || !fs::exists(root, error)) {
    throw Error(fmt::format("{} does not exist", directory.string()));
  }
  if (!fs::is_directory(root, error)) {
    throw Error(fmt::format("{} is no directory; give a PROF_* directory", directory.string()));
  }
  const auto found = Find(root);
  if (found.empty()) {
    throw Error(
        fmt::format("{} is no PROF directory: neither host/info.json nor device_<N>/info.json.<N> is there",
                    directory.string()));
  }
  if (found.size() > 1) {
    throw Error(fmt::format("{} holds {} PROF directories; give one of them, for example {}",
                            directory.string(), found.size(),
                            (directory / found.back().filename()).string()));
  }
  return ProfileReader::Read(found.front());
}

std::vector<fs::path> Profile::Find(const fs::path& directory) {
  if (IsProfile(directory)) return {directory};
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) && IsProfile(it->path())) out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

const DataFile* Profile::FindFile(const std::string& path) const {
  const auto it =
      std::find_if(files_.begin(), files_.end(), [&](const DataFile& f) { return f.path == path; });
  return it == files_.end() ? nullptr : &*it;
}

std::string Profile::AgedText() const {
  if (!aged_) return "";
  const auto seconds = static_cast<std::time_t>(aged_->complete_from_us / 1'000'000);
  return fmt::format(
      "collection starts at {:%Y-%m-%d %H:%M:%S}.{:06}, {:.3f} s after profiling began: {} older records "
      "were removed to "
      "keep the storage limit of {} MB",
      fmt::localtime(seconds), aged_->complete_from_us % 1'000'000,
      static_cast<double>(aged_->complete_from_us - std::min(aged_->complete_from_us, begin_us_)) / 1e6,
      aged_->records, aged_->limit_bytes / 1'000'000);
}

uint64_t Profile::lost() const {
  uint64_t total = 0;
  for (const auto& loss : losses_) total += loss.records;
  return total;
}

}  // namespace npuprof::analysis
