// SPDX-License-Identifier: Apache-2.0
// How a session's directory is completed, and what its manifest says.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>

#include "drain/staging_pool.h"
#include "drain/storage.h"
#include "npuprof_records.h"
#include "session/manifest_writer.h"
#include "session/mark_record.h"
#include "session/mstx.h"
#include "session/session.h"
#include "session/stamps.h"
#include "session/unkept.h"
#include "session/version.h"

namespace npuprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kFinishPatience{30};
// For all that is staged to be written, and then for a manifest, before a directory ends that needs not.
constexpr milliseconds kLookPatience{200};
// For the last files behind a disk that did not answer for so long as Finish() waited.
constexpr seconds kLatePatience{1};

}  // namespace

std::vector<std::string> Session::OpenRanges(uint64_t marks_from) {
  std::vector<std::string> notes = mstx::Notes(marks_from);
  std::ranges::move(stamps::RangeNotes(marks_from), std::back_inserter(notes));
  return notes;
}

bool Session::DiskAnswers() {
  // A disk that is only slow does some of it from one look to the next.
  const auto bytes = [this] { return collection_->cost().bytes_written; };
  const auto manifests = [this] { return manifest_writer_->written(); };
  const auto [bytes_before, manifests_before] = last_look_.value_or(std::pair(bytes(), manifests()));
  const bool written =
      collection_->Flush(kLookPatience).kind != ErrorKind::kTimeout || bytes() != bytes_before;
  const bool told = written && (manifest_writer_->Tell(kLookPatience) || manifests() != manifests_before);
  if (told) {
    last_look_.reset();
    return true;
  }
  last_look_ = {bytes(), manifests()};
  messages_.Add(
      drain::Severity::kInfo,
      "the disk did not answer when the next directory was to begin; this one goes on until it does");
  return false;
}

Result Session::Stop(Then then) {
  StopDevices(then);  // those opened meanwhile
  if (wanted_.data_types & ACL_PROF_MSPROFTX) {
    for (const std::string& note : stamps::CategoryNotes()) messages_.Add(drain::Severity::kInfo, note);
    // In the next directory they may still end.
    if (then == Then::kNothing) {
      for (const std::string& note : OpenRanges(marks_from_)) messages_.Add(drain::Severity::kInfo, note);
    }
  }
  if (const uint64_t cut = marks::Cut() - cut_before_; marks_ && cut > 0)
    messages_.Add(
        drain::Severity::kWarning,
        fmt::format("{} messages of marks were longer than {} pieces of {} bytes; the rest is not recorded",
                    cut, marks::kMostPieces, marks::kMostText));
  for (const std::string& note : unkept::Notes(unkept_before_))
    messages_.Add(drain::Severity::kWarning, note);
  CloseHost(then);
  const trace::Instant end = begin_.Later(host::MonotonicRawNs());

  Result result = Result::Ok();
  auto check = [&](const Status& status) {
    if (status.ok()) return;
    Complain(status);
    if (result.ok()) result = Result::Fail(code::kFailure, status.text);
  };
  const Status finished = collection_->Finish(kFinishPatience);
  // After a timeout the drain thread may still be at it.
  const bool done = finished.kind != ErrorKind::kTimeout;
  check(finished);
  finished_ = true;
  host_source_->Leave();
  end_monotonic_raw_ns_ = end.monotonic_raw_ns;
  // The rate of the counter is known better now than at the start.
  host_.cycle_mhz = host::MeasureHz() / 1e6;
  if (!done) {
    EndLate(end);
    return result;
  }
  if (const uint64_t early = host_source_->marks_before(); early > 0)
    messages_.Add(
        drain::Severity::kInfo,
        fmt::format("{} ranges of marks ended here, but began before; they are not recorded", early));
  kept_->GiveBack();
  if (const unsigned left = collection_->storage()->WriteLeftOver(); left > 0) {
    messages_.Add(drain::Severity::kWarning,
                  fmt::format("{} slices have no .done, for want of room; npuprof repair writes it", left));
  }
  for (const auto& collector : collectors_) {
    if (!collector->closed()) check(collector->End()());
  }
  NameUnseenDevices();
  check(trace::WriteEndInfo(directory_, end, std::nullopt));
  check(trace::WriteInfo(directory_, host_, std::nullopt));
  complete_ = result.ok();
  NoteStopped();
  check(trace::WriteManifest(directory_, Describe(), true));
  lock_->Release();
  return result;
}

void Session::NoteStopped() {
  stopped_ = true;
  if (end_monotonic_raw_ns_ > begin_.monotonic_raw_ns) {
    bytes_per_second_ =
        static_cast<uint64_t>(static_cast<double>(collection_->cost().bytes_staged) * 1e9 /
                              static_cast<double>(end_monotonic_raw_ns_ - begin_.monotonic_raw_ns));
  }
  stop_ns_ = host::MonotonicRawNs() - stop_begin_ns_;
}

// The program goes on; the last files follow behind everything else that waits for the disk.
void Session::EndLate(const trace::Instant& end) {
  std::vector<std::function<Status()>> files;
  for (const auto& collector : collectors_) {
    if (!collector->closed()) files.push_back(collector->End());
  }
  NameUnseenDevices();
  NoteStopped();
  files.push_back(
      [directory = directory_, end] { return trace::WriteEndInfo(directory, end, std::nullopt); });
  files.push_back(
      [directory = directory_, host = host_] { return trace::WriteInfo(directory, host, std::nullopt); });
  files.push_back([directory = directory_, manifest = std::make_shared<const trace::Manifest>(Describe())] {
    return trace::WriteManifest(directory, *manifest, true);
  });
  const auto failures = std::make_shared<std::vector<Status>>();
  const Status ended = collection_->CallAtEnd(
      drain::FileCall::kManifest,
      [files = std::move(files), failures, kept = kept_, lock = lock_] {
        kept->GiveBack();
        for (const auto& write : files) {
          if (Status status = write(); !status.ok()) failures->push_back(std::move(status));
        }
        lock->Release();
      },
      kLatePatience);
  if (ended.ok()) {
    for (const Status& failure : *failures) Complain(failure);
  } else {
    messages_.Add(
        drain::Severity::kError,
        fmt::format("{}: end_info, info.json and the manifest are not written: {}; they will be when it "
                    "does, if the process is still there",
                    directory_.path(), ended.text));
  }
}

bool Session::FollowsFromKnown(const Status& status) const {
  if (MeansDiskIsFull(status) && collection_ && collection_->storage()->disk_full() != 0) return true;
  // Told by the drain once it had something to write.
  return status.error == ENOENT && access(directory_.path().c_str(), F_OK) != 0 && messages_.HasError();
}

void Session::Complain(const Status& status) {
  // That a file failed was said when it did, with the reason.
  const bool repeats = status.kind == ErrorKind::kIo && status.error == 0 && messages_.HasError();
  if (!repeats && !FollowsFromKnown(status)) messages_.Add(drain::Severity::kError, status.text);
}

uint64_t Session::used_bytes() const {
  return collection_->storage()->used_bytes();
}

trace::Manifest Session::Describe() const {
  trace::Manifest manifest;
  manifest.versions = {kVersion, fmt::format("{}.{}", NPUPROF_ABI_MAJOR, NPUPROF_ABI_MINOR),
                       NPUPROF_RECORDS_VERSION, kCannVersion, runtime_};
  manifest.pid = static_cast<uint32_t>(getpid());
  manifest.command = command_line_;
  manifest.data_types = wanted_.data_types;
  manifest.settings = settings_;
  manifest.complete = complete_;
  manifest.stopped = stopped_;
  manifest.continues = {continues_, gap_ns_};
  manifest.window = {begin_.realtime_us, begin_.monotonic_raw_ns, end_monotonic_raw_ns_};
  const std::string& root = directory_.path();
  manifest.host.cycle_hz = static_cast<uint64_t>(host_.cycle_mhz * 1e6 + 0.5);
  if (host_source_) {
    host_source_->Describe(&manifest.host);
    host_source_->DescribeFiles(root, &manifest.files);
  }
  for (const auto& sampler : samplers_) {
    manifest.host.kinds.push_back(sampler->Describe());
    manifest.files.push_back(sampler->Report(root));
  }
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    for (const auto& collector : collectors_) {
      manifest.devices.push_back(collector->Describe());
      manifest.cost.device_busy_ns += manifest.devices.back().driver.busy_ns;
      manifest.simulated |= collector->simulated();
    }
    for (const auto& [id, files] : device_files_) {
      std::lock_guard<std::mutex> files_lock(files.mutex);
      for (const auto& [name, file] : files.by_name) manifest.files.push_back(file->Report(root));
    }
  }
  std::erase_if(manifest.files,
                [](const trace::FileReport& file) { return file.slices == 0 && file.lost == 0; });
  if (collection_) {
    const drain::Storage& storage = *collection_->storage();
    manifest.storage.limit_bytes = storage.limit();
    manifest.storage.used_bytes = storage.used_bytes();
    manifest.storage.aged = {storage.aged().records, storage.aged().bytes, storage.aged().slices,
                             storage.complete_from_ns()};
    const drain::Cost cost = collection_->cost();
    manifest.drain = {drain::PathName(collection_->path()),
                      collection_->reason(),
                      cost.staging_peak_bytes,
                      staging_bytes_,
                      drain::StagingHolds(staging_bytes_, manifest.files.size(),
                                          storage.SliceBytes(trace::RecordSpec{}.slice_bytes, true)),
                      host_ring_bytes_,
                      bytes_per_second_};
    manifest.cost.drain_cpu_ns = cost.cpu_ns;
    manifest.cost.wakeups = cost.wakeups;
    manifest.cost.bytes_written = cost.bytes_written;
  }
  manifest.cost.start_ns = start_ns_;
  manifest.cost.stop_ns = stop_ns_;
  manifest.messages = messages_.All();
  return manifest;
}

std::string Session::SampleText() const {
  std::ifstream file(directory_.host() + "/sample.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace npuprof
