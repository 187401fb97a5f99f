// SPDX-License-Identifier: Apache-2.0
#include "session/device_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>

#include "host/clock.h"
#include "npuprof_records.h"
#include "session/caught.h"
#include "session/chip_rules.h"

namespace npuprof {
namespace {

// Enough for 100 ms of a device that starts half a million tasks a second.
constexpr uint32_t kTaskLogSlots = 1u << 17;
constexpr uint32_t kTaskPmuSlots = 1u << 16;
constexpr uint32_t kTrackSlots = 1u << 14;
constexpr uint32_t kUnitSlots = 1u << 14;
constexpr uint32_t kSampleSlots = 1u << 8;
// Links of both kinds share a file.
constexpr const char* kTransferFile = "stars_soc_profile";
// All rings of blocks together. Each core of 72 has 1024 slots then, and a core runs a block in microseconds.
constexpr uint64_t kBlockRingBytes = 9u << 20;
constexpr uint32_t kFewestBlockSlots = 64;

// Counters of tasks and of blocks share a file, so records of both must be of one size.
constexpr const char* kCounterFile = "ffts_profile";
static_assert(sizeof(npuprof_rec_task_pmu) == sizeof(npuprof_rec_block_pmu));

uint32_t BlockRingSlots(uint32_t cores) {
  return std::max<uint32_t>(
      kFewestBlockSlots,
      static_cast<uint32_t>(std::bit_floor(kBlockRingBytes / sizeof(npuprof_rec_block_pmu) / cores)));
}

uint32_t Mhz(uint64_t hz) {
  return static_cast<uint32_t>((hz + 500'000) / 1'000'000);
}

uint64_t TicksToNs(uint64_t ticks, uint64_t hz) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * 1'000'000'000u / (hz ? hz : 1));
}

}  // namespace

Status DeviceCollector::Start(const Context& context, uint32_t id, std::unique_ptr<DeviceCollector>* out) {
  std::unique_ptr<DeviceCollector> collector(new DeviceCollector(context, id));
  collector->again_ = std::filesystem::exists(context.directory.device(id));
  Status status;
  std::exception_ptr thrown;
  try {
    status = collector->Begin();
  } catch (...) {
    thrown = std::current_exception();
  }
  if (!thrown && status.ok()) {
    *out = std::move(collector);
    return status;
  }
  if (collector->RemoveSources()) {
    std::error_code ignored;
    if (!collector->again_) std::filesystem::remove_all(context.directory.device(id), ignored);
  } else {
    // A source that may still be visited must live; this happens only behind a disk that hangs, or without memory.
    static_cast<void>(collector.release());
  }
  if (thrown) std::rethrow_exception(std::move(thrown));
  return status;
}

bool DeviceCollector::RemoveSources() {
  if (!added_) return true;
  const Result removed = Caught([this] {
    Status status = context_.collection.Remove(source_);
    if (status.ok() && module_memory_) status = context_.collection.Remove(module_memory_);
    return status.ok() ? Result::Ok() : Result::Fail(code::kFailure, status.text);
  });
  return removed.ok();
}

DeviceCollector::~DeviceCollector() = default;

Status DeviceCollector::Begin() {
  if (Status status = device::DeviceSession::Open(context_.backend, id_, &session_); !status.ok())
    return status;
  const npuprof_query& query = session_->query();
  description_.id = id_;
  description_.backend = device::BackendName(context_.backend);
  description_.name.assign(query.name, strnlen(query.name, sizeof query.name));
  description_.chip = query.chip;
  description_.driver.version = session_->file().version();
  description_.driver.abi = fmt::format("{}.{}", query.abi_major, query.abi_minor);
  description_.driver.record_formats = query.record_formats;
  description_.simulated = (query.device_flags & NPUPROF_DEVICE_SIMULATED) != 0;
  if (const Result result = chips::CheckDataTypes(query.chip, context_.plan.data_types); !result.ok())
    return Status::Fail(ErrorKind::kUnsupported, fmt::format("device {}: {}", id_, result.text));
  context_.files.context.clock_hz = query.clock_hz;
  context_.files.context.device = id_;
  if (Status status = session_->Clock(&begin_); !status.ok()) return status;
  // One base and one start for all files of the device, also after it was closed and opened again.
  if (!again_) {
    context_.files.context.base = device::ClockBase(begin_.device);
    context_.files.context.start = begin_.device;
  }
  description_.clock_base = context_.files.context.base;

  if (Status status = context_.directory.AddDevice(id_); !status.ok()) return status;
  if (Status status = AddRings(); !status.ok()) return status;
  if (Status status = session_->Map(); !status.ok()) return status;
  source_ = std::make_shared<device::DeviceSource>(*session_);
  source_->SetBase(context_.files.context.base);
  for (const auto& [ring, file] : routes_) source_->Route(ring, *file);
  for (const auto& [ring, rendering] : renderings_) source_->Route(ring, *rendering.file, rendering.renderer);
  if (Status status = WriteMetadata(); !status.ok()) return status;

  if (RecordTap* tap = context_.tap) ShowTo(tap);
  context_.collection.Add(source_);
  added_ = true;
  AddModuleMemory();
  npuprof_control control = {};
  if (Status status = session_->Start(&control); !status.ok()) return status;
  description_.tasks.straddling_start = control.straddling;
  return Status::Ok();
}

void DeviceCollector::ShowTo(RecordTap* tap) {
  using Clock = std::chrono::steady_clock;

  source_->OnRecords([this, tap, hz = session_->query().clock_hz, bracket = begin_, due = Clock::time_point{},
                      records = DeviceRecords{}](uint32_t channel, const std::byte* data, size_t count,
                                                 size_t size) mutable {
    if (const auto now = Clock::now(); now >= due) {
      // The first reading is that of the begin. Where a later one fails, the one before goes on.
      if (due != Clock::time_point{}) static_cast<void>(session_->Clock(&bracket));
      due = now + std::chrono::seconds(1);
      const double host_hz = host::MeasureHz();
      records.device_at = bracket.device;
      records.host_at = host::CyclesAt(bracket.host_ns, host::ReadPair(), host_hz);
      records.host_ticks = host_hz / static_cast<double>(hz);
    }
    records.device = id_;
    records.clock_hz = hz;
    records.channel = channel;
    records.data = data;
    records.count = count;
    records.size = size;
    tap->Device(records);
  });
}

Status DeviceCollector::AskForRing(npuprof_add_ring request, std::optional<unsigned>* ring) {
  if (!session_->Has(request.channel)) {
    context_.messages.Add(drain::Severity::kWarning,
                          fmt::format("device {} has no channel {}; its data are not collected", id_,
                                      device::ChannelName(request.channel)));
    return Status::Ok();
  }
  unsigned index = 0;
  if (Status status = session_->AddRing(request, &index); !status.ok()) return status;
  *ring = index;
  return Status::Ok();
}

// With a converter the ring's records differ from the file's.
trace::RecordFile* DeviceCollector::File(const char* kind, size_t record, bool stamp,
                                         trace::Converter convert, size_t ring_record) {
  std::lock_guard<std::mutex> lock(context_.files.mutex);
  auto& file = context_.files.by_name[kind];
  if (!file) {
    trace::RecordSpec spec;
    spec.directory = context_.directory.device_data(id_);
    spec.name = trace::DeviceFileName(kind, id_);
    spec.record_size = record;
    spec.stamp_counter = stamp;
    spec.ring_record_size = ring_record;
    spec.convert = convert;
    spec.context = &context_.files.context;
    file = std::make_unique<trace::RecordFile>(context_.collection, std::move(spec));
  }
  return file.get();
}

Status DeviceCollector::AddRing(npuprof_add_ring request, const char* kind, size_t file_record, bool stamp,
                                trace::Converter convert, size_t ring_record) {
  std::optional<unsigned> ring;
  if (Status status = AskForRing(request, &ring); !status.ok() || !ring) return status;
  routes_[*ring] = File(kind, file_record, stamp, convert, ring_record);
  return Status::Ok();
}

Status DeviceCollector::AddRendered(uint32_t channel, std::chrono::nanoseconds period,
                                    std::initializer_list<RenderedFile> files) {
  npuprof_add_ring request = device::MakeRing(channel, kUnitSlots);
  request.period_ns = static_cast<uint64_t>(period.count());
  std::optional<unsigned> ring;
  if (Status status = AskForRing(request, &ring); !status.ok() || !ring) return status;
  for (const RenderedFile& wanted : files) {
    // One for each ring that goes into the file, as sums are of the ring.
    auto& renderer = context_.files.renderers[fmt::format("{}.{}", wanted.kind, channel)];
    if (!renderer)
      renderer =
          wanted.make({session_->query().clock_hz, request.period_ns, context_.files.context.base}, id_);
    renderings_.emplace(*ring, Rendering{File(wanted.kind, wanted.record, wanted.stamp), renderer});
  }
  return Status::Ok();
}

Status DeviceCollector::AddRings() {
  if (Status status = AddTaskRings(); !status.ok()) return status;
  return AddUnitRings();
}

Status DeviceCollector::AddTaskRings() {
  const Plan& plan = context_.plan;
  auto slots = [&](uint32_t fallback) { return context_.task_slots ? context_.task_slots : fallback; };
  if (plan.tasks) {
    Status status = AddRing(device::MakeRing(NPUPROF_CHANNEL_TASK_LOG, slots(kTaskLogSlots)), "stars_soc",
                            sizeof(npuprof_rec_task_log), true, Rebased(device::RebaseTaskLog));
    if (!status.ok()) return status;
  }
  if (plan.track) {
    Status status = AddRing(device::MakeRing(NPUPROF_CHANNEL_TS_TRACK, slots(kTrackSlots)), "ts_track",
                            sizeof(npuprof_rec_ts_track), false, Rebased(device::RebaseTrack));
    if (!status.ok()) return status;
  }
  if (plan.aicpu) {
    Status status = AddRing(device::MakeRing(NPUPROF_CHANNEL_AICPU, slots(kTrackSlots)), "aicpu",
                            device::kAicpuFileRecord, false, device::ConvertAicpu, sizeof(npuprof_rec_aicpu));
    if (!status.ok()) return status;
  }
  if (plan.l2) {
    Status status = AddRing(device::MakeRing(NPUPROF_CHANNEL_SOC_PMU, slots(kTaskPmuSlots)), "socpmu",
                            sizeof(npuprof_rec_soc_pmu), false);
    if (!status.ok()) return status;
  }
  if (!plan.counters) return Status::Ok();
  if (plan.core_period.count() > 0) return AddSampledCores();
  npuprof_add_ring request = device::MakeRing(NPUPROF_CHANNEL_TASK_PMU, slots(kTaskPmuSlots));
  request.cube_event_count = static_cast<uint8_t>(plan.cube_events.size());
  request.vector_event_count = static_cast<uint8_t>(plan.vector_events.size());
  std::copy(plan.cube_events.begin(), plan.cube_events.end(), request.cube_events);
  std::copy(plan.vector_events.begin(), plan.vector_events.end(), request.vector_events);
  if (Status status =
          AddRing(request, kCounterFile, sizeof(npuprof_rec_task_pmu), true, Rebased(device::RebasePmu));
      !status.ok())
    return status;
  return AddBlockRings();
}

Status DeviceCollector::AddUnitRings() {
  const Plan& plan = context_.plan;
  if (plan.memory_period.count() > 0) {
    npuprof_add_ring request = device::MakeRing(NPUPROF_CHANNEL_HBM, kUnitSlots);
    request.period_ns = static_cast<uint64_t>(plan.memory_period.count());
    Status status = AddRing(request, "hbm", device::kBandwidthFileRecord, false, device::ConvertHbm,
                            sizeof(npuprof_rec_bandwidth));
    if (!status.ok()) return status;
    request.channel = NPUPROF_CHANNEL_LLC;
    request.options = plan.llc_write ? 1 : 0;
    status = AddRing(request, "llc", device::kBandwidthFileRecord, false, device::ConvertLlc,
                     sizeof(npuprof_rec_bandwidth));
    if (!status.ok()) return status;
  }
  if (Status status = AddMemoryUse(); !status.ok()) return status;
  using device::SampleTimes;
  using Made = std::shared_ptr<device::Renderer>;
  if (plan.network_period.count() > 0) {
    // The port of the device speaks RoCE, so both files are about the same bytes.
    const auto network = [](const SampleTimes& times, uint32_t) -> Made {
      return device::RenderNetwork(times);
    };
    Status status = AddRendered(NPUPROF_CHANNEL_NIC, plan.network_period,
                                {{"nic", 0, false, network}, {"roce", 0, false, network}});
    if (!status.ok()) return status;
  }
  if (plan.media_period.count() > 0) {
    Status status = AddRendered(NPUPROF_CHANNEL_DVPP, plan.media_period,
                                {{"dvpp", 0, false, [](const SampleTimes& times, uint32_t) -> Made {
                                    return device::RenderMedia(times);
                                  }}});
    if (!status.ok()) return status;
  }
  if (plan.link_period.count() == 0) return Status::Ok();
  Status status = AddRendered(
      NPUPROF_CHANNEL_LINK, plan.link_period,
      {{"hccs", 0, false,
        [](const SampleTimes& times, uint32_t) -> Made { return device::RenderLink(times); }},
       {kTransferFile, device::kTransferFileRecord, true,
        [](const SampleTimes& times, uint32_t) -> Made { return device::RenderLinkTransfer(times); }}});
  if (!status.ok()) return status;
  return AddRendered(
      NPUPROF_CHANNEL_PCIE, plan.link_period,
      {{"pcie", device::kPcieFileRecord, false,
        [](const SampleTimes& times, uint32_t device) -> Made { return device::RenderPcie(times, device); }},
       {kTransferFile, device::kTransferFileRecord, true,
        [](const SampleTimes& times, uint32_t) -> Made { return device::RenderPcieTransfer(times); }}});
}

Status DeviceCollector::AddMemoryUse() {
  using device::SampleTimes;
  using Made = std::shared_ptr<device::Renderer>;
  const Plan& plan = context_.plan;
  const npuprof_query& query = session_->query();
  if (plan.memory_period.count() > 0) {
    Status status = AddRendered(
        NPUPROF_CHANNEL_ACCELERATORS, plan.memory_period,
        {{kTransferFile, device::kTransferFileRecord, true,
          [](const SampleTimes& times, uint32_t) -> Made { return device::RenderAccelerators(times); }}});
    if (!status.ok()) return status;
    const uint64_t peak =
        (query.cube_cores + query.vector_cores) * query.core_hz * device::kBufferBytesPerCycle;
    status = AddRendered(
        NPUPROF_CHANNEL_L2, plan.memory_period,
        {{kTransferFile, device::kTransferFileRecord, true,
          [peak](const SampleTimes& times, uint32_t) -> Made { return device::RenderLevels(times, peak); }}});
    if (!status.ok()) return status;
  }
  if (plan.flows.empty()) return Status::Ok();
  return AddRendered(
      NPUPROF_CHANNEL_FLOWS, plan.flow_period,
      {{"qos", device::kFlowFileRecord, false, [&plan](const SampleTimes& times, uint32_t) -> Made {
          return device::RenderFlows(times, plan.flows);
        }}});
}

void DeviceCollector::AddModuleMemory() {
  if (context_.plan.memory_period.count() == 0) return;
  if (std::vector<device::DeviceFile::ModuleMemory> held; !session_->file().ReadModuleMemory(&held)) {
    context_.messages.Add(
        drain::Severity::kWarning,
        fmt::format("device {}: its driver does not tell how much memory modules hold", id_));
    return;
  }
  module_memory_ = std::make_shared<ModuleMemorySource>(
      session_->file(), *File(ModuleMemorySource::kFile, sizeof(ModuleMemorySource::Record), false),
      context_.plan.memory_period);
  context_.collection.Add(module_memory_);
}

// A task's record holds the main kind of core of a mixed kernel. Readers add up the other kind's block by block,
// from the same file.
Status DeviceCollector::AddBlockRings() {
  const npuprof_query& query = session_->query();
  const uint32_t cores = query.cube_cores + query.vector_cores;
  if (!session_->Has(NPUPROF_CHANNEL_BLOCK_PMU) || cores == 0) {
    context_.messages.Add(drain::Severity::kWarning,
                          fmt::format("device {} has no channel block_pmu; mixed kernels have no counters of "
                                      "their second kind of core",
                                      id_));
    return Status::Ok();
  }
  uint32_t slots = BlockRingSlots(cores);
  if (context_.task_slots) slots = std::min(slots, context_.task_slots);
  const std::pair<uint32_t, uint32_t> kinds[] = {{NPUPROF_CORE_CUBE, query.cube_cores},
                                                 {NPUPROF_CORE_VECTOR, query.vector_cores}};
  for (const auto& [kind, count] : kinds) {
    const bool cube = kind == NPUPROF_CORE_CUBE;
    const auto& events = cube ? context_.plan.cube_events : context_.plan.vector_events;
    for (uint32_t core = 0; core < count; ++core) {
      npuprof_add_ring request = device::MakeCoreRing(NPUPROF_CHANNEL_BLOCK_PMU, slots, kind, core);
      request.options = 1;  // only blocks of mixed kernels on their second kind of core
      (cube ? request.cube_event_count : request.vector_event_count) = static_cast<uint8_t>(events.size());
      std::copy(events.begin(), events.end(), cube ? request.cube_events : request.vector_events);
      const Status status =
          AddRing(request, kCounterFile, sizeof(npuprof_rec_block_pmu), true, Rebased(device::RebasePmu));
      if (!status.ok()) return status;
    }
  }
  return Status::Ok();
}

Status DeviceCollector::AddSampledCores() {
  const npuprof_query& query = session_->query();
  const std::pair<uint32_t, uint32_t> kinds[] = {{NPUPROF_CORE_CUBE, query.cube_cores},
                                                 {NPUPROF_CORE_VECTOR, query.vector_cores}};
  context_.files.context.cube_cores = query.cube_cores;
  for (const auto& [kind, count] : kinds) {
    const bool cube = kind == NPUPROF_CORE_CUBE;
    const auto& events = cube ? context_.plan.cube_events : context_.plan.vector_events;
    const uint32_t most = cube ? device::kMostSampledCubes : device::kMostSampledVectors;
    if (count > most) {
      context_.messages.Add(
          drain::Severity::kWarning,
          fmt::format("device {}: of {} {} cores the first {} are sampled; their file can name no more", id_,
                      count, device::CoreKindName(kind), most));
    }
    for (uint32_t core = 0; core < std::min(count, most); ++core) {
      npuprof_add_ring request = device::MakeCoreRing(NPUPROF_CHANNEL_CORE_SAMPLE, kSampleSlots, kind, core);
      request.period_ns = static_cast<uint64_t>(context_.plan.core_period.count());
      (cube ? request.cube_event_count : request.vector_event_count) = static_cast<uint8_t>(events.size());
      std::copy(events.begin(), events.end(), cube ? request.cube_events : request.vector_events);
      const Status status = AddRing(request, kCounterFile, sizeof(npuprof_rec_core_sample), false,
                                    device::ConvertCoreSample, sizeof(npuprof_rec_core_sample));
      if (!status.ok()) return status;
    }
  }
  return Status::Ok();
}

Status DeviceCollector::WriteMetadata() {
  const npuprof_query& query = session_->query();
  source_->AddClock(begin_);
  if (again_) return Status::Ok();  // the times of the first opening hold for the whole directory

  trace::DeviceFacts facts;
  facts.id = id_;
  facts.clock_mhz = static_cast<double>(query.clock_hz) / 1e6;
  facts.cube_mhz = facts.vector_mhz = Mhz(query.core_hz);
  facts.cube_cores = query.cube_cores;
  facts.vector_cores = query.vector_cores;
  facts.ai_cpu_cores = query.aicpu_cores;
  const auto& directory = context_.directory;
  if (Status status = trace::WriteInfo(directory, context_.host, facts); !status.ok()) return status;
  if (Status status = trace::WriteSample(directory, context_.plan.sample, id_); !status.ok()) return status;
  if (Status status = trace::WriteStartInfo(directory, context_.begin.Later(begin_.host_ns), id_);
      !status.ok())
    return status;
  // Both logs are about the middle of the bracket.
  trace::HostStart host;
  host.monotonic_raw_ns = begin_.host_ns;
  host.cycles = host::CyclesAt(begin_.host_ns, host::ReadPair(), host::MeasureHz());
  if (Status status = trace::WriteHostStart(directory, host, id_); !status.ok()) return status;
  const uint64_t clock = begin_.device - context_.files.context.base;
  return trace::WriteDeviceStart(directory, id_, TicksToNs(clock, query.clock_hz), clock);
}

void DeviceCollector::Stop(std::chrono::nanoseconds patience) {
  if (stopped_) return;
  stopped_ = true;
  auto complain = [&](const Status& status) { context_.messages.Add(drain::Severity::kError, status.text); };
  npuprof_control control = {};
  if (const Status status = session_->Stop(patience, &control); !status.ok()) complain(status);
  npuprof_stats stats = {};
  if (const Status status = session_->Stats(&stats); !status.ok()) complain(status);
  device::ClockBracket bracket;
  const Status clock = session_->Clock(&bracket);
  if (!clock.ok()) complain(clock);
  end_ = context_.begin.Later(host::MonotonicRawNs());
  std::lock_guard<std::mutex> lock(mutex_);
  if (clock.ok())
    description_.clock.push_back(
        {bracket.host_ns, bracket.device - context_.files.context.base, bracket.width_ns});
  description_.tasks.straddling_stop = control.straddling;
  description_.tasks.started = stats.tasks_started;
  description_.tasks.ended = stats.tasks_ended;
  description_.driver.interrupts = stats.interrupts;
  description_.driver.register_reads = stats.register_reads;
  description_.driver.register_writes = stats.register_writes;
  description_.driver.busy_ns = stats.busy_ns;
}

std::function<Status()> DeviceCollector::End() const {
  if (const uint64_t cut = source_->cut(); cut > 0) {
    context_.messages.Add(drain::Severity::kWarning,
                          fmt::format("device {}: {} samples of PCIe were faster than the {} bytes per "
                                      "microsecond that pcie.data can hold; "
                                      "{} has their bytes",
                                      id_, cut, UINT32_MAX, kTransferFile));
  }
  return [directory = context_.directory, end = end_, id = id_] {
    return trace::WriteEndInfo(directory, end, id);
  };
}

void DeviceCollector::Close() {
  const auto patience = std::chrono::seconds(2);
  // What was taken up may wait for the disk longer than the program for its device.
  Status removed = context_.collection.RemoveDry(source_, patience);
  if (removed.ok() && module_memory_) removed = context_.collection.Remove(module_memory_, patience);
  if (!removed.ok()) {
    context_.messages.Add(drain::Severity::kWarning,
                          fmt::format("device {} stays open until the session ends: {}", id_, removed.text));
    return;
  }
  WriteEndBehindOthers(patience);
  std::lock_guard<std::mutex> lock(mutex_);
  description_ = DescribeSession();
  closed_ = true;
  session_.reset();
}

// A disk that does not answer must not keep the program from giving its device back.
void DeviceCollector::WriteEndBehindOthers(std::chrono::milliseconds patience) {
  const auto written = std::make_shared<Status>(Status::Fail(
      ErrorKind::kIo, fmt::format("device {}: end_info is not written: there is no memory", id_), ENOMEM));
  const auto ask = [this, written] {
    context_.collection.Call(
        drain::FileCall::kFinish, [end = End(), written] { *written = end(); },
        [&messages = context_.messages, written] {
          if (!written->ok()) messages.Add(drain::Severity::kError, written->text);
        });
  };
  if (const Status asked = context_.collection.Run(ask, patience); !asked.ok())
    context_.messages.Add(drain::Severity::kError,
                          fmt::format("device {}: end_info is not written: {}", id_, asked.text));
}

trace::Manifest::Device DeviceCollector::Describe() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return DescribeLocked();
}

trace::Manifest::Device DeviceCollector::DescribeLocked() const {
  trace::Manifest::Device out = closed_ ? description_ : DescribeSession();
  source_->AddFate(&out.rings);
  if (module_memory_) out.rings.push_back(module_memory_->Describe(static_cast<uint32_t>(out.rings.size())));
  return out;
}

trace::Manifest::Device DeviceCollector::DescribeSession() const {
  trace::Manifest::Device out = description_;
  trace::Manifest::Device rings;
  source_->DescribeSession(&rings);
  out.rings = std::move(rings.rings);
  out.gaps = std::move(rings.gaps);
  out.interruptions = std::move(rings.interruptions);
  rings.clock.insert(rings.clock.end(), description_.clock.begin(), description_.clock.end());
  out.clock = std::move(rings.clock);
  return out;
}

}  // namespace npuprof
