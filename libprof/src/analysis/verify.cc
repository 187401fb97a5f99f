// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/error.h"
#include "analysis/manifest.h"
#include "analysis/metadata.h"
#include "analysis/profile.h"
#include "analysis/slice_end.h"
#include "analysis/slices.h"
#include "base/crc32c.h"

namespace npuprof::analysis {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

// Slices are of 2 MiB; what is a hundred times as large is none.
constexpr uint64_t kLargestSlice = 256u << 20;

struct Noted {
  uint64_t bytes = 0, records = 0;
  std::optional<uint32_t> crc32c;
};

/// npuprof/slices.jsonl.
struct List {
  std::map<std::string, Noted> slices;
  std::set<std::string> aged;
  bool exists = false;
};

List ReadList(const fs::path& root) {
  List list;
  std::ifstream in(root / "npuprof/slices.jsonl");
  list.exists = in.good();
  for (std::string line; std::getline(in, line);) {
    const json entry = json::parse(line, nullptr, false);
    if (!entry.is_object()) continue;  // torn by the death of the process
    try {
      if (entry.contains("aged")) list.aged.insert(entry.at("aged").get<std::string>());
      if (!entry.contains("slice")) continue;
      Noted noted{entry.at("bytes").get<uint64_t>(), entry.at("records").get<uint64_t>(), std::nullopt};
      if (entry.contains("crc32c")) {
        noted.crc32c = static_cast<uint32_t>(std::stoul(entry.at("crc32c").get<std::string>(), nullptr, 16));
      }
      const auto name = entry.at("slice").get<std::string>();
      list.aged.erase(name);
      list.slices[name] = noted;
    } catch (const std::exception&) {
      continue;
    }
  }
  return list;
}

std::optional<uint64_t> NoteSize(const fs::path& slice) {
  std::ifstream in(slice.string() + ".done");
  std::string word;
  if (!std::getline(in, word) || !word.starts_with("filesize:")) return std::nullopt;
  return ParseUnsigned(std::string_view(word).substr(9));
}

// Not by a stream, which takes an error in the middle for the end.
std::string ReadAll(const fs::path& path) {
  const auto fail = [&] {
    throw Error(fmt::format("{} cannot be read: {}", path.filename().string(), std::strerror(errno)));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail();
  std::string text;
  for (;;) {
    char buffer[1 << 16];
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      close(fd);
      errno = error;
      fail();
    }
    if (n == 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

// Rings by the file that their records go to.
std::string FileOfChannel(const std::string& channel) {
  if (channel.starts_with("task_log")) return "stars_soc";
  for (const char* counters : {"task_pmu", "block_pmu", "core_sample"}) {
    if (channel.starts_with(counters)) return "ffts_profile";
  }
  if (channel == "soc_pmu") return "socpmu";
  if (channel == "link") return "hccs";
  if (channel == "flows") return "qos";
  if (channel == "accelerators" || channel == "l2") return "stars_soc_profile";
  return channel;
}

// Host files are named after their kind, with what they are of before it and a suffix behind it.
bool IsOfKind(const std::string& path, const std::string& kind) {
  const size_t at = path.find(kind, path.rfind('/') + 1);
  if (kind.empty() || at == std::string::npos || (path[at - 1] != '/' && path[at - 1] != '.')) return false;
  const size_t end = at + kind.size();
  return end == path.size() || path[end] == '.';
}

bool IsText(const std::string& path) {
  return path.find("_dic") != std::string::npos || path.starts_with("host/data/host_");
}

class Verifier {
 public:
  Verifier(const fs::path& root, const std::function<void(uint64_t)>& progress)
      : root_(root), progress_(progress), list_(ReadList(root)) {
    out_.path = root;
  }

  Verification Run() {
    const std::vector<std::string> parts = Parts();
    const SliceIndex index(root_, parts);
    if (NeverBegan(index)) {
      Problem(State::kTorn, "the process ended while collection was being started; nothing was recorded");
      FindLitter();
      return std::move(out_);
    }
    ReadManifestFile();
    CheckMetadata(parts, index);
    for (const auto& [path, slices] : index.all()) CheckFile(path, slices);
    for (const Loss& loss : losses_) Attribute(loss);
    FindMissing(parts, index);
    FindLitter();
    for (const FileCheck& file : out_.files) Worsen(file.state);
    return std::move(out_);
  }

 private:
  void Worsen(State state) { out_.state = std::max(out_.state, state); }
  void Problem(State state, std::string text) {
    Worsen(state);
    out_.problems.push_back(std::move(text));
  }

  void ReadManifestFile() {
    if (!fs::exists(root_ / "npuprof/manifest.json")) {
      Problem(State::kComplete, "no manifest: losses, and what should be here, are not known");
      out_.stopped = true;  // by another tool
      return;
    }
    try {
      manifest_ = json::parse(ReadAll(root_ / "npuprof/manifest.json"), nullptr, false);
      if (!manifest_.is_object()) throw Error("npuprof/manifest.json is no JSON object");
      const RunManifest run = ReadManifest(root_);
      out_.has_manifest = true;
      out_.stopped = run.complete || manifest_.value("stopped", false);
      out_.simulated = run.simulated;
      out_.repaired = manifest_.contains("repaired");
      losses_ = run.losses;
    } catch (const Error& error) {
      manifest_ = json();
      Problem(State::kDamaged, error.what());
      return;
    }
    if (!out_.stopped) Problem(State::kTorn, "collection was cut off before it was stopped");
    for (const Loss& loss : losses_) {
      Problem(State::kLossy, fmt::format("lost while collecting: {} records of {}, {}{}", loss.records,
                                         loss.device < 0 ? "the host" : fmt::format("device {}", loss.device),
                                         loss.where, loss.cause.empty() ? "" : " (" + loss.cause + ")"));
    }
  }

  std::vector<std::string> Parts() const {
    std::vector<std::string> parts;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root_, ignored)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && (name == "host" || name.starts_with("device_"))) parts.push_back(name);
    }
    std::sort(parts.begin(), parts.end());
    return parts;
  }

  // The manifest is there before the first record, and before it there is only what is ours alone and metadata.
  bool NeverBegan(const SliceIndex& index) const {
    return index.all().empty() && fs::exists(root_ / "npuprof") &&
           !fs::exists(root_ / "npuprof/manifest.json");
  }

  // Everything that readers need beside the records. It is there before the first of them, so without any the process ended too
  // early for either.
  void CheckMetadata(const std::vector<std::string>& parts, const SliceIndex& index) {
    for (const std::string& part : parts) {
      const std::vector<std::string> missing = MissingMetadata(part);
      const auto is_here = [&](const auto& file) { return file.first.starts_with(part + "/"); };
      const bool recorded = std::any_of(index.all().begin(), index.all().end(), is_here);
      if (!missing.empty() && !out_.stopped && !recorded) {
        Problem(State::kTorn, part + ": the process ended while collection was being started there");
        continue;
      }
      for (const std::string& what : missing) Problem(State::kDamaged, what);
    }
    if (parts.empty()) Problem(State::kDamaged, "neither host nor a device is there");
  }

  std::vector<std::string> MissingMetadata(const std::string& part) const {
    std::vector<std::string> missing;
    const std::string suffix = part == "host" ? "" : "." + part.substr(7);
    std::vector<std::string> names = {"info.json" + suffix, "sample.json", "start_info" + suffix};
    // A device that was opened again or not yet closed has its own; the host's is written at the end.
    if (out_.stopped && part == "host") names.push_back("end_info");
    for (const std::string& name : names) {
      try {
        static_cast<void>(Metadata::Read(root_, part + "/" + name));
      } catch (const Error& error) {
        missing.emplace_back(error.what());
      }
    }
    for (const std::string& name : {"host_start.log" + suffix, "dev_start.log" + suffix}) {
      if (part == "host" && name == "dev_start.log") continue;
      try {
        static_cast<void>(ClockLog::Read(root_, part + "/" + name).Number("cntvct"));
      } catch (const Error& error) {
        missing.emplace_back(error.what());
      }
    }
    return missing;
  }

  const json* Entry(const std::string& path) const {
    const auto files = manifest_.find("files");
    if (files == manifest_.end() || !files->is_array()) return nullptr;
    for (const json& file : *files) {
      if (file.is_object() && file.value("path", "") == path + ".slice_0") return &file;
    }
    return nullptr;
  }

  // By the metadata of the device that @p path is of; they are there before the first record.
  bool CoresAreSampled(const std::string& path) const {
    std::ifstream in(root_ / path.substr(0, path.find('/')) / "sample.json");
    const json sample = json::parse(in, nullptr, false);
    return sample.is_object() && sample.value("ai_core_profiling_mode", "") == "sample-based";
  }

  void CheckFile(const std::string& path, const Slices& slices) {
    FileCheck file;
    file.path = path;
    const json* entry = Entry(path);
    if (entry != nullptr && entry->contains("record_bytes")) {
      file.record_bytes = entry->value("record_bytes", 0u);
      file.fixed = file.record_bytes > 0;
    } else {
      file.record_bytes = RecordBytesOf(path, CoresAreSampled(path));
      file.fixed = file.record_bytes > 0;
    }
    uint64_t expected = slices.empty() ? 0 : slices.front().number;
    for (const Slice& slice : slices) {
      for (; expected < slice.number; ++expected) {
        const std::string name = fmt::format("{}.slice_{}", path, expected);
        if (list_.aged.contains(name)) continue;
        file.problems.push_back(name + " is missing");
        file.state = State::kDamaged;
      }
      ++expected;
      CheckSlice(slice, &file);
    }
    CountAged(path, entry, &file);
    Compare(entry, &file);
    if (file.lost > 0) file.state = std::max(file.state, State::kLossy);
    out_.files.push_back(std::move(file));
  }

  void CheckSlice(const Slice& slice, FileCheck* file) {
    SliceCheck check;
    check.name = slice.name;
    check.bytes = check.whole_bytes = slice.bytes;
    const auto bad = [&](State state, std::string text) {
      if (state >= check.state) check.problem = std::move(text);
      check.state = std::max(check.state, state);
    };
    if (slice.bytes > kLargestSlice) {
      bad(State::kDamaged, fmt::format("has {} bytes; no slice is that large", slice.bytes));
    } else if (std::string contents; Read(slice, &contents, bad)) {
      if (progress_) progress_(contents.size());
      check.bytes = contents.size();
      check.crc32c = Crc32c(0, contents.data(), contents.size());
      const std::optional<uint64_t> note = NoteSize(slice.path);
      check.has_note = note == check.bytes;
      const auto noted = list_.slices.find(slice.name);
      check.listed = noted != list_.slices.end();
      if (check.listed) {
        Agree(noted->second, check, bad);
      } else if (note && !check.has_note) {
        bad(State::kDamaged, fmt::format("has {} bytes, but {} when it was finished", check.bytes, *note));
      }
      JudgeEnd(contents, *file, &check, bad);
      if (!check.has_note && check.state < State::kTorn) {
        bad(State::kTorn, note ? "its .done has another size" : "has no .done");
      }
    }
    file->records += check.records;
    file->bytes += check.bytes;
    file->state = std::max(file->state, check.state);
    file->slices.push_back(std::move(check));
  }

  // One slice that cannot be read says nothing of the others.
  template <typename Bad>
  static bool Read(const Slice& slice, std::string* contents, const Bad& bad) {
    try {
      *contents = ReadAll(slice.path);
      return true;
    } catch (const Error& error) {
      bad(State::kDamaged, error.what());
      return false;
    }
  }

  template <typename Bad>
  static void Agree(const Noted& noted, const SliceCheck& check, const Bad& bad) {
    if (noted.bytes != check.bytes) {
      bad(State::kDamaged,
          fmt::format("has {} bytes, but {} when it was finished", check.bytes, noted.bytes));
    } else if (noted.crc32c && *noted.crc32c != check.crc32c) {
      bad(State::kDamaged,
          fmt::format("its contents were changed: CRC-32C is {:08x}, was {:08x} when it was finished",
                      check.crc32c, *noted.crc32c));
    }
  }

  template <typename Bad>
  void JudgeEnd(const std::string& contents, const FileCheck& file, SliceCheck* check, const Bad& bad) {
    const bool finished = check->listed || check->has_note;
    if (!file.fixed && !IsText(file.path)) {
      // Whole as far as anybody can tell.
      check->records = check->listed ? list_.slices.at(check->name).records : 0;
      return;
    }
    const SliceEnd end = FindEnd(contents, file.record_bytes);
    if (file.fixed && finished) {
      // A finished slice ends where it ends, whatever its records hold.
      check->records = contents.size() / file.record_bytes;
      if (contents.size() % file.record_bytes != 0) {
        bad(State::kDamaged,
            fmt::format("has {} bytes, no multiple of a record's {}", contents.size(), file.record_bytes));
      }
      return;
    }
    check->records = end.records;
    check->whole_bytes = end.bytes;
    if (end.bytes == contents.size()) return;
    bad(finished ? State::kDamaged : State::kTorn,
        fmt::format("ends in {} bytes of a torn record and {} bytes that were never written", end.torn,
                    end.unused));
  }

  void CountAged(const std::string& path, const json* entry, FileCheck* file) {
    for (const std::string& name : list_.aged) {
      if (name.starts_with(path + ".slice_")) {
        ++file->aged_slices;
        const auto noted = list_.slices.find(name);
        if (noted != list_.slices.end()) file->aged_records += noted->second.records;
      }
    }
    if (entry != nullptr) {
      file->aged_slices = std::max(file->aged_slices, entry->value("aged_slices", uint64_t{0}));
      file->aged_records = std::max(file->aged_records, entry->value("aged_records", uint64_t{0}));
      file->lost = entry->value("lost", uint64_t{0});
    }
    if (file->aged_slices > 0) file->state = std::max(file->state, State::kAged);
  }

  // The counts of a run that was stopped in order are final.
  void Compare(const json* entry, FileCheck* file) {
    if (!out_.has_manifest || !out_.stopped || entry == nullptr || !file->fixed) return;
    const uint64_t told = entry->value("records", uint64_t{0});
    if (told == file->records) return;
    file->problems.push_back(fmt::format("{} records are there, the manifest says {}", file->records, told));
    file->state = std::max(file->state, State::kDamaged);
  }

  // Rings and kinds count what could not be written, and so do the files; it was lost once.
  void Attribute(const Loss& loss) {
    const bool host = loss.device < 0;
    const std::string name =
        fmt::format("device_{0}/data/{1}.data.{0}", loss.device, FileOfChannel(loss.where));
    std::vector<FileCheck*> files;
    uint64_t unwritten = 0;
    for (FileCheck& file : out_.files) {
      if (host ? !file.path.starts_with("host/") || !IsOfKind(file.path, loss.where) : file.path != name)
        continue;
      files.push_back(&file);
      unwritten += file.lost;
    }
    if (files.empty()) return;
    // Kinds of the host do not tell their causes apart.
    const uint64_t rest = host                           ? loss.records - std::min(loss.records, unwritten)
                          : loss.cause == "write_failed" ? 0
                                                         : loss.records;
    if (rest == 0) return;
    // Which of several files would have held it nobody knows: all may lack it, and it is counted once.
    files.front()->lost += rest;
    for (FileCheck* file : files) file->state = std::max(file->state, State::kLossy);
  }

  // Slices that were noted as finished, and are neither there nor removed for want of room.
  void FindMissing(const std::vector<std::string>&, const SliceIndex& index) {
    for (const auto& [name, noted] : list_.slices) {
      if (list_.aged.contains(name) || fs::exists(root_ / name)) continue;
      const std::string base = name.substr(0, name.rfind(".slice_"));
      const auto file = std::find_if(out_.files.begin(), out_.files.end(),
                                     [&](const FileCheck& f) { return f.path == base; });
      const std::string text = fmt::format("{} is missing; it had {} bytes", name, noted.bytes);
      if (file == out_.files.end() || index.Get(base).empty()) {
        Problem(State::kDamaged, text);
      } else if (std::find(file->problems.begin(), file->problems.end(), name + " is missing") ==
                 file->problems.end()) {
        file->problems.push_back(text);
        file->state = State::kDamaged;
      }
    }
  }

  void FindLitter() {
    std::error_code ignored;
    for (fs::recursive_directory_iterator it(root_, ignored), end; it != end; it.increment(ignored)) {
      const std::string name = it->path().filename().string();
      const bool half = name.starts_with(".") && name.ends_with(".new");
      bool note = false;
      if (name.ends_with(".done")) {
        const fs::path of = it->path().parent_path() / name.substr(0, name.size() - 5);
        const std::string slice = fs::relative(of, root_).string();
        // A slice that should be there leaves its note as a trace of it.
        note = !fs::exists(of) && (!list_.slices.contains(slice) || list_.aged.contains(slice));
      }
      if (half || note) out_.litter.push_back(it->path());
    }
    std::sort(out_.litter.begin(), out_.litter.end());
    for (const fs::path& path : out_.litter) {
      Problem(State::kTorn, fmt::format("{} was left behind", fs::relative(path, root_).string()));
    }
  }

  const fs::path root_;
  const std::function<void(uint64_t)>& progress_;
  const List list_;
  Verification out_;
  json manifest_;
  std::vector<Loss> losses_;
};

}  // namespace

const char* StateName(State state) {
  constexpr const char* kNames[] = {"complete", "aged", "lossy", "torn", "damaged"};
  return kNames[static_cast<int>(state)];
}

fs::path FindForVerify(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw Error(fmt::format("{} is no directory; give a PROF_* directory", directory.string()));
  }
  const auto is_one = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path / "npuprof", ignored) || fs::is_directory(path / "host/data", ignored);
  };
  if (is_one(directory)) return directory;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (is_one(entry.path())) found.push_back(entry.path());
  }
  if (found.empty()) found = Profile::Find(directory);
  if (found.empty()) throw Error(fmt::format("{} is no PROF directory, and holds none", directory.string()));
  if (found.size() > 1) {
    std::sort(found.begin(), found.end());
    throw Error(fmt::format("{} holds {} PROF directories; give one of them, for example {}",
                            directory.string(), found.size(), found.back().string()));
  }
  return found.front();
}

Verification Verify(const fs::path& root, const std::function<void(uint64_t)>& progress) {
  return Verifier(root, progress).Run();
}

std::optional<uint64_t> Writer(const fs::path& root) {
  std::ifstream in(root / "npuprof/manifest.json");
  const json manifest = json::parse(in, nullptr, false);
  const bool known = manifest.is_object();
  const uint64_t pid = known && manifest.contains("pid") && manifest["pid"].is_number_unsigned()
                           ? manifest["pid"].get<uint64_t>()
                           : 0;
  const int fd = open((root / "npuprof/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const bool taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  if (taken) return pid;
  return std::nullopt;
}

}  // namespace npuprof::analysis
