// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/error.h"
#include "analysis/verify.h"
#include "base/crc32c.h"

namespace npuprof::analysis {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void Fail(const fs::path& path, int error) {
  throw Error(fmt::format("{} cannot be written: {}", path.string(), std::strerror(error)));
}

void WriteFully(const fs::path& path, int flags, const std::string& text, bool keep) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0640);
  if (fd < 0) Fail(path, errno);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int error = written ? 0 : errno ? errno : EIO;
  if (error == 0 && keep && fsync(fd) != 0) error = errno;
  close(fd);
  if (error != 0) Fail(path, error);
}

class Repairer {
 public:
  Repairer(const Verification& found, bool dry) : found_(found), dry_(dry) {}

  Repair Run() {
    for (const FileCheck& file : found_.files) {
      for (const SliceCheck& slice : file.slices) Mend(file, slice);
    }
    for (const fs::path& path : found_.litter) {
      Act(fmt::format("removed {}", fs::relative(path, found_.path).string()));
      if (!dry_) fs::remove(path);
    }
    if (!done_.actions.empty() && found_.has_manifest) Note();
    return std::move(done_);
  }

 private:
  void Act(std::string text) { done_.actions.push_back(std::move(text)); }

  void Mend(const FileCheck& file, const SliceCheck& slice) {
    if (slice.state == State::kDamaged) return;  // nobody knows what it was
    const fs::path path = found_.path / slice.name;
    uint64_t bytes = slice.bytes;
    if (slice.whole_bytes < slice.bytes) {
      bytes = slice.whole_bytes;
      Act(bytes == 0 ? fmt::format("removed {}: it has no whole record", slice.name)
                     : fmt::format("cut {} from {} to {} bytes, {} {}", slice.name, slice.bytes, bytes,
                                   slice.records, file.fixed ? "whole records" : "whole lines"));
      done_.cut_bytes += slice.bytes - bytes;
      ++done_.cut_slices;
      removed_[file.path] += bytes == 0;
      if (bytes == 0) {
        if (!dry_) fs::remove(path);
        if (!dry_) fs::remove(path.string() + ".done");
        return;
      }
      if (!dry_) fs::resize_file(path, bytes);
    } else if (bytes == 0 && !slice.has_note) {
      Act(fmt::format("removed {}: it is empty", slice.name));
      removed_[file.path] += 1;
      if (!dry_) fs::remove(path);
      return;
    }
    if (!slice.has_note || bytes != slice.bytes) {
      Act(fmt::format("wrote {}.done", slice.name));
      ++done_.notes;
      if (!dry_) {
        WriteFully(path.string() + ".done", O_TRUNC,
                   fmt::format("filesize:{}\nstarttime:0\nendtime  :0\n", bytes), false);
      }
    }
    if (!slice.listed && found_.has_manifest) List(slice, path, bytes);
  }

  void List(const SliceCheck& slice, const fs::path& path, uint64_t bytes) {
    if (dry_) return;
    std::ifstream in(path, std::ios::binary);
    const std::string contents{std::istreambuf_iterator<char>(in), {}};
    if (contents.size() != bytes) Fail(path, EIO);
    // The last line may have been torn together with the process.
    const fs::path list = found_.path / "npuprof/slices.jsonl";
    std::string line =
        fmt::format("{{\"slice\":\"{}\",\"bytes\":{},\"records\":{},\"crc32c\":\"{:08x}\"}}\n", slice.name,
                    bytes, slice.records, Crc32c(0, contents.data(), contents.size()));
    std::ifstream before(list, std::ios::binary | std::ios::ate);
    if (before && before.tellg() > 0) {
      before.seekg(-1, std::ios::end);
      if (before.get() != '\n') line.insert(line.begin(), '\n');
    }
    WriteFully(list, O_APPEND, line, false);
  }

  // The counts of files become those of what is there.
  void Note() {
    Act("noted the repair in npuprof/manifest.json");
    if (dry_) return;
    const fs::path path = found_.path / "npuprof/manifest.json";
    std::ifstream in(path);
    auto manifest = nlohmann::ordered_json::parse(in, nullptr, false);
    if (!manifest.is_object()) Fail(path, EIO);
    if (!manifest["files"].is_array()) manifest["files"] = nlohmann::ordered_json::array();
    for (const FileCheck& file : found_.files) {
      uint64_t bytes = 0;
      for (const SliceCheck& slice : file.slices) bytes += slice.whole_bytes;
      nlohmann::ordered_json* entry = nullptr;
      for (auto& known : manifest["files"]) {
        if (known.value("path", "") == file.path + ".slice_0") entry = &known;
      }
      if (entry == nullptr) {
        manifest["files"].push_back({{"path", file.path + ".slice_0"}});
        entry = &manifest["files"].back();
        if (file.fixed) (*entry)["record_bytes"] = file.record_bytes;
      }
      (*entry)["records"] = file.records;
      (*entry)["bytes"] = bytes;
      (*entry)["slices"] = file.slices.size() - removed_[file.path];
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    manifest["repaired"] = {
        {"realtime_us", std::chrono::duration_cast<std::chrono::microseconds>(now).count()},
        {"cut_slices", done_.cut_slices},
        {"cut_bytes", done_.cut_bytes},
        {"notes", done_.notes}};
    const fs::path fresh = found_.path / "npuprof/.manifest.json.new";
    WriteFully(fresh, O_TRUNC,
               manifest.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n", true);
    std::error_code error;
    fs::rename(fresh, path, error);
    if (error) Fail(path, error.value());
  }

  const Verification& found_;
  const bool dry_;
  Repair done_;
  std::map<std::string, uint64_t> removed_;
};

}  // namespace

Repair RepairDirectory(const Verification& found, bool dry) {
  try {
    return Repairer(found, dry).Run();
  } catch (const fs::filesystem_error& error) {
    throw Error(error.what());
  }
}

}  // namespace npuprof::analysis
