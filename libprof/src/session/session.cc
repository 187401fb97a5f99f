// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "drain/staging_pool.h"
#include "drain/storage.h"
#include "npuprof_records.h"
#include "session/log.h"
#include "session/manifest_writer.h"
#include "session/mark_record.h"
#include "session/mstx.h"
#include "session/stamps.h"
#include "session/unkept.h"
#include "session/version.h"

namespace npuprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Tasks of the window may run on for so long after Stop; later ends are missing and counted.
constexpr seconds kTaskPatience{5};
constexpr milliseconds kTaskPatienceBetween{20};  // where the next directory waits to begin
constexpr seconds kFinishPatience{30};
// The program waits as long when the disk does not answer; the drain thread tells within a second anyway.
constexpr milliseconds kTellPatience{100};
// For all that is staged to be written, and then for a manifest, before a directory ends that needs not.
constexpr milliseconds kLookPatience{200};
constexpr size_t kNamesReserveBytes = 128 << 10;  // names of the last second before the disk was full
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

int32_t Rank() {
  const char* text = std::getenv("RANK_ID");
  if (!text || !*text) return -1;
  char* end = nullptr;
  const long rank = std::strtol(text, &end, 10);
  return *end == '\0' && rank >= 0 && rank <= INT32_MAX ? static_cast<int32_t>(rank) : -1;
}

bool DiskIsFull(const Status& status) {
  return !status.ok() && (status.error == ENOSPC || status.error == EDQUOT);
}

Result FromStatus(const Status& status) {
  Result result = Result::Fail(
      status.kind == ErrorKind::kPath || status.kind == ErrorKind::kIo ? code::kInvalidFile : code::kFailure,
      status.text);
  if (DiskIsFull(status)) result.family = "EK0204";
  return result;
}

}  // namespace

std::vector<std::string> Session::OpenRanges(uint64_t marks_from) {
  std::vector<std::string> notes = mstx::Notes(marks_from);
  std::ranges::move(stamps::RangeNotes(marks_from), std::back_inserter(notes));
  return notes;
}

Session::~Session() {
  CloseHost();
  if (collection_ && !finished_) static_cast<void>(collection_->Finish(seconds(1)));
}

void Session::CloseHost(Then then) {
  if (marks_ && then == Then::kNextDirectory) {
    marks::BeginTurn();
  } else if (marks_) {
    stamps::Record(false);
  }
  marks_ = false;
  if (host_source_) host_source_->Close();
}

Result Session::Prepare(const Request& request, std::unique_ptr<Session>* out) {
  std::unique_ptr<Session> session(new Session);
  session->wanted_ = request.wanted;
  if (Result result = session->Prepare(request); !result.ok()) return result;
  *out = std::move(session);
  return Result::Ok();
}

Result Session::Prepare(const Request& request) {
  const uint64_t begin = host::MonotonicRawNs();
  command_line_ = CommandLine();
  tap_ = request.tap;
  settings_ = request.settings->All();
  if (Result result = MakePlan(wanted_, *request.settings, &plan_); !result.ok()) return result;
  for (const std::string& text : plan_.not_collected) messages_.Add(drain::Severity::kWarning, text);

  std::string reason;
  if (const Status status = device::ChooseBackend(&backend_, &reason); !status.ok())
    return FromStatus(status);
  messages_.Add(drain::Severity::kInfo,
                fmt::format("device backend {}: {}", device::BackendName(backend_), reason));
  runtime_ = device::RuntimeVersion(backend_);
  std::vector<std::string> warnings;
  task_slots_ = TaskRingSlots(&warnings).value_or(0);
  host_ring_bytes_ = HostRingBytes(&warnings);
  CheckLogWish(&warnings);

  storage_limit_ = StorageLimit(*request.settings, &warnings);
  keeping_ = ReadKeeping(&warnings);
  filter_ = mstx::ReadFilter(&warnings);
  const auto options = drain::Options::FromEnvironment(&warnings);
  staging_bytes_ = options.staging_bytes;
  for (const std::string& text : warnings) messages_.Add(drain::Severity::kWarning, text);
  if (Result result = BeginDirectory(request); !result.ok()) return result;

  Status status;
  collection_ = drain::Drain::Process().Open(
      options, [this](drain::Severity severity, const std::string& text) { messages_.Add(severity, text); },
      &status);
  if (!collection_) {
    Undo(false, request);
    Result result = Result::Fail(code::kFailure, status.text);
    if (status.kind == ErrorKind::kThread) result.family = "EK0203";
    return result;
  }
  collection_->KeepWithin(directory_.path(), storage_limit_);
  collection_->storage()->OnDiskFull([kept = kept_] {
    std::lock_guard<std::mutex> lock(kept->mutex);
    kept->names.Release();
  });
  start_ns_ = host::MonotonicRawNs() - begin;
  return Result::Ok();
}

Result Session::Open(const Request& request) {
  const uint64_t begin = host::MonotonicRawNs();
  for (const std::string& text : request.notes) messages_.Add(drain::Severity::kInfo, text);
  if (const Status status = BeginWindow(); !status.ok()) {
    Undo(false, request);
    return FromStatus(status);
  }
  host_source_ = std::make_shared<host::HostSource>(
      *collection_, directory_.host_data(),
      [this](drain::Severity severity, const std::string& text) { messages_.Add(severity, text); });
  if (tap_) host_source_->OnRecord([tap = tap_](const host::Entry& entry) { tap->Host(entry); });
  const bool marks = (wanted_.data_types & ACL_PROF_MSPROFTX) != 0;
  if (marks) {
    marks_from_ = request.previous.empty() ? begin_cycles_ : request.marks_from;
    host_source_->LeaveOutMarksBefore(marks_from_);
  } else {
    host_source_->LeaveOutMarks();
  }
  if (!host_source_->Open(host_ring_bytes_ / host::Segment::kBytes)) {
    Undo(false, request);
    return Result::Fail(
        code::kFailure,
        "there is no memory for host records; NPUPROF_HOST_RING_MB sets how much is asked for");
  }
  if (marks) BeginMarks(request);
  AddHostSources();
  if (request.start_components) {
    for (const std::string& text : request.start_components(*this))
      messages_.Add(drain::Severity::kWarning, text);
  }
  if (Result result = StartDevices(request); !result.ok()) {
    Undo(true, request);
    return result;
  }
  // Last of all: from here on the drain thread describes the session, what it reads no longer changes until the
  // collection is finished, or has a lock.
  start_ns_ += host::MonotonicRawNs() - begin;
  if (!request.previous.empty()) {
    continues_ = request.previous;
    gap_ns_ = host::MonotonicRawNs() - request.previous_end_ns;
    messages_.Add(drain::Severity::kInfo,
                  fmt::format("goes on from {}; in between nothing was recorded for {:.3f} ms", continues_,
                              static_cast<double>(gap_ns_) / 1e6));
  }
  manifest_writer_ = std::make_shared<ManifestWriter>(*this);
  collection_->Add(manifest_writer_);
  TellOfDevices();
  return Result::Ok();
}

// The program knows nothing of directories: what it has begun or set since the window began goes on.
void Session::BeginMarks(const Request& request) {
  marks_ = true;
  if (request.previous.empty()) {
    mstx::Use(filter_);
    stamps::Record(true);
  } else if (const uint64_t between = marks::EndTurn(true); between > 0) {
    messages_.Add(drain::Severity::kWarning,
                  fmt::format("{} marks and ends of ranges fell between this directory and {}; they are not "
                              "recorded",
                              between, request.previous));
  }
}

void Session::TellOfDevices() {
  if (!manifest_writer_) return;  // Open() calls once more
  static_cast<void>(manifest_writer_->Tell(kTellPatience));
}

Result Session::BeginDirectory(const Request& request) {
  if (const Status status = trace::PrepareOutputDirectory(request.output); !status.ok())
    return FromStatus(status);
  if (const Status status = trace::ProfDirectory::Create(request.output, request.index, &directory_);
      !status.ok()) {
    return FromStatus(status);
  }
  kept_ = std::make_shared<KeptRoom>();
  for (const Status& status : {lock_.Take(directory_), kept_->end.Take(directory_.own(), kReserveBytes),
                               kept_->names.Take(directory_.own(), kNamesReserveBytes)}) {
    if (!status.ok()) messages_.Add(drain::Severity::kWarning, status.text);
  }
  host_ = trace::HostFacts::Probe();
  host_.cycle_mhz = host::MeasureHz() / 1e6;
  host_.cann_version = kCannVersion;
  host_.rank = Rank();
  if (!request.job.empty()) host_.job_info = request.job;
  for (const Status& status : {trace::WriteInfo(directory_, host_, std::nullopt),
                               trace::WriteSample(directory_, plan_.sample, std::nullopt)}) {
    if (!status.ok()) {
      Undo(false, request);
      return FromStatus(status);
    }
  }
  return Result::Ok();
}

Status Session::BeginWindow() {
  begin_ = trace::Instant::Now();
  const host::ClockPair pair = host::ReadPair();
  begin_cycles_ = pair.cycles;
  unkept_before_ = unkept::Count();
  cut_before_ = marks::Cut();
  const trace::HostStart start{pair.monotonic_raw_ns, pair.cycles};
  for (Status status : {trace::WriteStartInfo(directory_, begin_, std::nullopt),
                        trace::WriteHostStart(directory_, start, std::nullopt),
                        trace::WriteManifest(directory_, Describe(), true)}) {
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void Session::Discard() {
  Undo(false, {});
}

void Session::AddHostSources() {
  collection_->Add(host_source_);
  for (host::Sample sample : plan_.samples) {
    samplers_.push_back(
        std::make_shared<host::Sampler>(*collection_, directory_.host_data(), sample, plan_.host_period));
    collection_->Add(samplers_.back());
  }
}

Result Session::StartDevices(const Request& request) {
  Result last = Result::Ok();
  bool any = false;
  for (uint32_t id : wanted_.devices) {
    if (!request.open_devices.contains(id)) continue;
    if (Result result = StartDevice(id); result.ok()) {
      any = true;
    } else {
      last = std::move(result);
    }
  }
  if (any || last.ok()) return Result::Ok();
  return last;
}

Result Session::StartDevice(uint32_t id) {
  if (backend_ == device::Backend::kNone) return Result::Ok();
  DeviceFiles* files = nullptr;
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    files = &device_files_[id];
    for (const auto& collector : collectors_) {
      if (collector->id() == id && !collector->stopped()) return Result::Ok();
    }
  }
  std::unique_ptr<DeviceCollector> collector;
  const Status status = DeviceCollector::Start(
      {backend_, plan_, directory_, host_, begin_, *collection_, messages_, *files, task_slots_, tap_}, id,
      &collector);
  if (!status.ok()) {
    messages_.Add(drain::Severity::kError, status.text);
    return Result::Fail(code::kFailure, status.text);
  }
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    collector->before = newest_collector_;
    newest_collector_ = collector.get();
    collectors_.push_back(std::move(collector));
  }
  TellOfDevices();
  return Result::Ok();
}

void Session::Undo(bool components_started, const Request& request) {
  if (components_started && request.stop_components) static_cast<void>(request.stop_components(*this));
  CloseHost();
  if (collection_) static_cast<void>(collection_->Finish(seconds(1)));
  finished_ = true;
  if (host_source_) host_source_->Leave();
  // Made by this start and told to nobody.
  std::error_code ignored;
  std::filesystem::remove_all(directory_.path(), ignored);
}

bool Session::Lists(uint32_t id) const {
  return std::find(wanted_.devices.begin(), wanted_.devices.end(), id) != wanted_.devices.end();
}

Result Session::AddDevices(const std::vector<uint32_t>& devices, const std::set<uint32_t>& open_devices) {
  Result worst = Result::Ok();
  for (uint32_t id : devices) {
    if (Lists(id)) continue;
    wanted_.devices.push_back(id);
    if (!open_devices.contains(id)) continue;
    if (Result result = StartDevice(id); !result.ok()) worst = std::move(result);
  }
  return worst;
}

Result Session::DeviceOpened(uint32_t id) {
  return Lists(id) ? StartDevice(id) : Result::Ok();
}

void Session::Settle() {
  // Rings are looked at in time, not on demand: the longest that any of them waits, and a bit.
  constexpr milliseconds kLongest{250};
  std::this_thread::sleep_for(kLongest);
}

void Session::DeviceClosed(uint32_t id) {
  DeviceCollector* closing = nullptr;
  {
    std::lock_guard<std::mutex> lock(collectors_mutex_);
    for (const auto& collector : collectors_) {
      if (collector->id() == id && !collector->stopped()) closing = collector.get();
    }
  }
  if (!closing) return;
  closing->Stop(kTaskPatience);
  closing->Close();
}

// Without a word, a session of a wrong id would look like one of a device that had nothing to do.
void Session::NameUnseenDevices() {
  if (backend_ == device::Backend::kNone) return;  // said at the start
  for (uint32_t id : wanted_.devices) {
    if (device_files_.contains(id)) continue;
    messages_.Add(
        drain::Severity::kWarning,
        fmt::format("device {} is listed, but the program did not open it; nothing is recorded of it", id));
  }
}

void Session::StopDevices(Then then) {
  if (stop_begin_ns_ == 0) stop_begin_ns_ = host::MonotonicRawNs();
  const std::chrono::nanoseconds patience =
      then == Then::kNextDirectory ? kTaskPatienceBetween : std::chrono::nanoseconds(kTaskPatience);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& collector : collectors_) {
    collector->Stop(
        std::max<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), milliseconds(1)));
  }
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
  if (const uint64_t early = done ? host_source_->marks_before() : 0; early > 0)
    messages_.Add(
        drain::Severity::kInfo,
        fmt::format("{} ranges of marks ended here, but began before; they are not recorded", early));
  kept_->GiveBack(done);
  if (const unsigned left = done ? collection_->storage()->WriteLeftOver() : 0; left > 0) {
    messages_.Add(drain::Severity::kWarning,
                  fmt::format("{} slices have no .done, for want of room; npuprof repair writes it", left));
  }
  end_monotonic_raw_ns_ = end.monotonic_raw_ns;
  for (const auto& collector : collectors_) {
    if (!collector->closed()) check(collector->WriteEnd());
  }
  NameUnseenDevices();
  check(trace::WriteEndInfo(directory_, end, std::nullopt));
  // The rate of the counter is known better now than at the start.
  host_.cycle_mhz = host::MeasureHz() / 1e6;
  check(trace::WriteInfo(directory_, host_, std::nullopt));
  complete_ = result.ok();
  stopped_ = true;
  if (end_monotonic_raw_ns_ > begin_.monotonic_raw_ns) {
    bytes_per_second_ =
        static_cast<uint64_t>(static_cast<double>(collection_->cost().bytes_staged) * 1e9 /
                              static_cast<double>(end_monotonic_raw_ns_ - begin_.monotonic_raw_ns));
  }
  stop_ns_ = host::MonotonicRawNs() - stop_begin_ns_;
  check(trace::WriteManifest(directory_, Describe(), true));
  lock_.Release();
  return result;
}

bool Session::FollowsFromKnown(const Status& status) const {
  if (DiskIsFull(status) && collection_ && collection_->storage()->disk_full() != 0) return true;
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

void Session::AbandonInChild() {
  for (DeviceCollector* collector = newest_collector_; collector; collector = collector->before)
    collector->AbandonInChild();
}

}  // namespace npuprof
