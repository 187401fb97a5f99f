// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "drain/storage.h"
#include "session/caught.h"
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

// The program waits as long when the disk does not answer; the drain thread tells within a second anyway.
constexpr milliseconds kTellPatience{100};
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

Result FromStatus(const Status& status) {
  Result result = Result::Fail(
      status.kind == ErrorKind::kPath || status.kind == ErrorKind::kIo ? code::kInvalidFile : code::kFailure,
      status.text);
  if (MeansDiskIsFull(status)) result.family = "EK0204";
  return result;
}

}  // namespace

Session::~Session() {
  // One that was made ready and not opened, for whatever reason.
  if (!opened_ && !finished_ && !directory_.path().empty()) {
    static_cast<void>(Caught([this] {
      Discard();
      return Result::Ok();
    }));
  }
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
  const Result result = session->OrUndo(request, [&] {
    session->wanted_ = request.wanted;
    return session->Prepare(request);
  });
  if (result.ok()) *out = std::move(session);
  return result;
}

template <typename Body>
Result Session::OrUndo(const Request& request, Body&& body) {
  std::exception_ptr thrown;
  try {
    return body();
  } catch (...) {
    thrown = std::current_exception();
  }
  // As much of it as there is memory for.
  static_cast<void>(Caught([&] {
    Undo(request);
    return Result::Ok();
  }));
  return FromException(std::move(thrown));
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
    Undo(request);
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
  const Result result = OrUndo(request, [&] { return OpenNow(request); });
  opened_ = result.ok();
  return result;
}

Result Session::OpenNow(const Request& request) {
  const uint64_t begin = host::MonotonicRawNs();
  for (const std::string& text : request.notes) messages_.Add(drain::Severity::kInfo, text);
  if (const Status status = BeginWindow(); !status.ok()) {
    Undo(request);
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
    Undo(request);
    return Result::Fail(
        code::kFailure,
        "there is no memory for host records; NPUPROF_HOST_RING_MB sets how much is asked for");
  }
  if (marks) BeginMarks(request);
  AddHostSources();
  if (request.start_components) {
    components_started_ = true;
    for (const std::string& text : request.start_components(*this))
      messages_.Add(drain::Severity::kWarning, text);
  }
  if (Result result = StartDevices(request); !result.ok()) {
    Undo(request);
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
    Undo(request);
    return FromStatus(status);
  }
  kept_ = std::make_shared<KeptRoom>();
  for (const Status& status : {lock_->Take(directory_), kept_->end.Take(directory_.own(), kReserveBytes),
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
      Undo(request);
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
  Undo({});
}

void Session::AddHostSources() {
  collection_->Add(host_source_);
  for (host::Sample sample : plan_.samples) {
    samplers_.push_back(
        std::make_shared<host::Sampler>(*collection_, directory_.host_data(), sample, plan_.host_period));
    collection_->Add(samplers_.back());
  }
}

void Session::Undo(const Request& request) {
  if (components_started_ && request.stop_components) static_cast<void>(request.stop_components(*this));
  CloseHost();
  if (collection_) static_cast<void>(collection_->Finish(seconds(1)));
  finished_ = true;
  if (host_source_) host_source_->Leave();
  // Made by this start and told to nobody.
  std::error_code ignored;
  std::filesystem::remove_all(directory_.path(), ignored);
}

}  // namespace npuprof
