// SPDX-License-Identifier: Apache-2.0
#include "device/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/device_session.h"
#include "npuprof_layout.h"

namespace npuprof::device {
namespace {

constexpr const char* kOneBuild = "take library and driver from one build";
constexpr const char* kOwnModule = "load the npuprof.ko that was built with this library";

// What belongs to the module alone and not to the simulated device in the process.
struct Words {
  std::string cause, remedy, module_remedy;
};

Words Busy(unsigned long request, const npuprof_add_ring* ring) {
  if (request == NPUPROF_IOC_STOP)
    return {"another thread waits in stop already", "leave it to that one, and read when it has returned",
            ""};
  if (request != NPUPROF_IOC_ADD_RING || ring == nullptr)
    return {"the session was started or is being stopped, or somebody else counts on what it needs",
            "wait until that has ended", ""};
  if (ring->owner_pid != 0)
    return {fmt::format("process {} has it", ring->owner_pid),
            "wait until that process has stopped profiling", ""};
  return {"somebody else has it, or this session was started", "wait until it is free",
          "/sys/kernel/debug/npuprof/<N>/claims says which session or perf event has it, also beyond a "
          "container"};
}

std::string Events(const uint16_t* events, unsigned count, const char* cores) {
  if (count == 0) return "";
  const auto* end = events + std::min<unsigned>(count, NPUPROF_MAX_COUNTERS);
  return fmt::format("{:#x} of {} cores", fmt::join(events, end, ", "), cores);
}

// A ring that the device does not offer, in the order in which drivers look.
Words Unsupported(const npuprof_add_ring* ring, const npuprof_query* has) {
  constexpr const char* kShown = "npuprof info --device shows what it has";
  if (ring == nullptr || has == nullptr) return {"the device has no such channel, event or mode", kShown, ""};
  const bool overwrite = (ring->flags & NPUPROF_RING_OVERWRITE) != 0;
  const bool written = (ring->flags & NPUPROF_RING_DEVICE_PATH) != 0;
  if (overwrite && (written || (has->device_flags & NPUPROF_DEVICE_OVERWRITE) == 0))
    return {written ? "what the device writes by itself cannot overwrite older records"
                    : "the device's rings cannot overwrite older records",
            "ask for one that keeps the oldest", ""};
  if (written && (has->device_flags & NPUPROF_DEVICE_WRITTEN) == 0)
    return {"the device writes no records by itself", "leave the choice of the path to the driver", ""};
  if (ring->channel >= 64 || (has->channels >> ring->channel & 1) == 0)
    return {fmt::format("the device has no channel {} ({})", ring->channel, ChannelName(ring->channel)),
            kShown, ""};
  const std::string cube = Events(ring->cube_events, ring->cube_event_count, "matrix");
  const std::string vector = Events(ring->vector_events, ring->vector_event_count, "vector");
  if (cube.empty() && vector.empty())
    return {
        fmt::format("no record of channel {} can tell of core {}", ChannelName(ring->channel), ring->core),
        "ask for cores with lower numbers", ""};
  return {fmt::format("the device does not count all of the events {}{}{}{}", cube,
                      cube.empty() || vector.empty() ? "" : " and ", vector,
                      written ? ", or not in an order that differs from that of another ring" : ""),
          "npuprof record --help lists those there are", ""};
}

// A value that is not allowed, or a request out of its turn.
Words Invalid(unsigned long request, const npuprof_add_ring* ring) {
  switch (request) {
    case NPUPROF_IOC_ADD_RING:
      if (ring == nullptr) break;
      return {
          fmt::format(
              "one of its values is not allowed: core {} of kind {}, {} slots, watermark {}, latency {} ns, "
              "period {} ns, {} and {} events, options {}",
              ring->core, CoreKindName(ring->core_kind), ring->slots, ring->watermark, ring->latency_ns,
              ring->period_ns, ring->cube_event_count, ring->vector_event_count, ring->options),
          fmt::format(
              "slots are a power of two from {} to {}, the watermark is at most as many, the latency at most "
              "60 s, "
              "events are at most {} and all different; npuprof info --device shows cores and periods",
              NPUPROF_MIN_SLOTS, NPUPROF_MAX_SLOTS, NPUPROF_MAX_COUNTERS),
          ""};
    case NPUPROF_IOC_START:
      return {"the session was stopped already", "open the device anew: a session starts once", ""};
    case NPUPROF_IOC_STOP:
      return {
          "the session does not run, has ended by itself because its device stayed away, or the timeout is "
          "above "
          "600 s",
          "start it before, wait for less; what was recorded until its device went can be read", ""};
    case NPUPROF_IOC_FREEZE:
      return {"the session does not run, or none of its rings overwrites older records",
              "start it before, with such a ring", ""};
    case NPUPROF_IOC_FLUSH:
      return {"the session does not run", "start it before", ""};
    case 0:
      return {"a mapping is private, or goes beyond the end of its area",
              "map areas shared, from their beginning, when all rings were added", ""};
    default:
      break;
  }
  return {"the driver does not know a field or a flag of it", kOneBuild, ""};
}

Words Explain(unsigned long request, const void* argument, int error, const npuprof_query* has) {
  const auto* ring =
      request == NPUPROF_IOC_ADD_RING ? static_cast<const npuprof_add_ring*>(argument) : nullptr;
  switch (error) {
    case EPERM:
      return {"a profile shows the tasks of all users, and whoever opened the device has no CAP_PERFMON",
              "run as root or give the program that capability (setcap cap_perfmon+ep)",
              "or load the module with unprivileged=1"};
    case EBUSY:
      return Busy(request, ring);
    case ERANGE:
      if (ring != nullptr && ring->period_ns != 0)
        return {"sampling so often would take more than 5 % of a CPU",
                fmt::format("the shortest period possible now is {} ns", ring->period_ns), ""};
      return {"sampling takes 5 % of a CPU already", "sample less often or fewer cores", ""};
    case EOPNOTSUPP:
      return Unsupported(ring, has);
    case ENOSPC:
      return {fmt::format("a session has at most {} rings, and a core at most {} counters", NPUPROF_MAX_RINGS,
                          NPUPROF_MAX_COUNTERS),
              "ask for fewer events or cores", ""};
    case ENOMEM:
      return {"memory is short, or the rings are over the user's limit", "ask for smaller rings",
              "or raise the module's parameter mlock_kb or ulimit -l"};
    case EINVAL:
      return Invalid(request, ring);
    case E2BIG:
      return {"the request is of a newer interface than the driver's", kOneBuild, ""};
    case ENOTTY:
      return {"the driver does not know this request", kOneBuild, ""};
    case ENODEV:
      return {"the device is gone", "what was recorded can still be read", ""};
    case EAGAIN:
      return {"the device is suspended or being reset", "try again", ""};
    case EBADF:
      return {"the process that opened it has closed it, or opened it for less than reading and writing",
              "open it anew", ""};
    case EIO:
      return {"the device cannot be woken, or does not do what its registers were told", "reset it",
              "the kernel's log (dmesg) says what it did"};
    case EACCES:
      return {"only the tails may be mapped for writing, and nothing for execution",
              "map control and data for reading alone", ""};
    case EOWNERDEAD:
      return {"it belongs to the process that opened it, of which this one is a fork", "open it anew", ""};
    default:
      return {std::strerror(error), "", ""};
  }
}

std::string Join(const Words& words, bool module) {
  if (words.remedy.empty()) return words.cause;
  if (words.remedy == kOneBuild) return words.cause + "; " + (module ? kOwnModule : kOneBuild);
  return words.cause + "; " + words.remedy +
         (module && !words.module_remedy.empty() ? ", " + words.module_remedy : "");
}

}  // namespace

ErrorKind KindOfErrno(int error) {
  switch (error) {
    case EINVAL:
    case E2BIG:
    case ERANGE:
      return ErrorKind::kInvalidArgument;
    case EOPNOTSUPP:
    case ENOTTY:
      return ErrorKind::kUnsupported;
    case EBUSY:
      return ErrorKind::kBusy;
    case EOWNERDEAD:
      return ErrorKind::kForked;
    default:
      return ErrorKind::kDevice;
  }
}

Status Refused(Backend backend, const std::string& device, const std::string& what, unsigned long request,
               const void* argument, int error, const npuprof_query* has) {
  const Words words = Explain(request, argument, error, has);
  return Status::Fail(
      KindOfErrno(error),
      fmt::format("{} could not {}: {}", device, what, Join(words, backend == Backend::kKernel)), error);
}

Status OpenRefused(uint32_t id, int error, const OpenFacts& facts) {
  const std::string path = fmt::format("/dev/npuprof{}", id);
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      if (!facts.module_loaded)
        return Status::Fail(ErrorKind::kNotFound,
                            fmt::format("device {} does not exist, because the kernel module npuprof is not "
                                        "loaded; load it (modprobe npuprof) or take NPUPROF_DEVICE=sim",
                                        id),
                            error);
      if (facts.devices.empty())
        return Status::Fail(
            ErrorKind::kNotFound,
            fmt::format("device {} does not exist: the kernel module npuprof is loaded, but has "
                        "no device, or {} is not in this container; see dmesg and "
                        "/sys/class/npuprof",
                        id, path),
            error);
      return Status::Fail(ErrorKind::kNotFound,
                          fmt::format("device {} does not exist; the kernel module has {} ({})", id,
                                      facts.devices.size(), DeviceIdText(facts.devices)),
                          error);
    case EACCES:
      return Status::Fail(
          ErrorKind::kDevice,
          fmt::format("{} may not be opened by this user; join the group of the node (npuprof, see "
                      "ls -l {}) and log in again, or run as root",
                      path, path),
          error);
    case EPERM:
      return Status::Fail(ErrorKind::kDevice,
                          fmt::format("{} may not be opened in this container; start it with that device "
                                      "(--device {})",
                                      path, path),
                          error);
    case EMFILE:
    case ENFILE:
      return Status::Fail(ErrorKind::kBusy,
                          fmt::format("{} cannot be opened: too many files are open; raise ulimit -n", path),
                          error);
    case ENOMEM:
      return Status::Fail(
          ErrorKind::kDevice,
          fmt::format("{} cannot be opened: {}", path, Join(Explain(0, nullptr, ENOMEM, nullptr), true)),
          error);
    default:
      return Status::Fail(error == EBUSY ? ErrorKind::kBusy : ErrorKind::kDevice,
                          fmt::format("{} cannot be opened: {}", path, std::strerror(error)), error);
  }
}

Status VersionRefused(Backend backend, const std::string& device, const npuprof_query& query) {
  return Status::Fail(
      ErrorKind::kUnsupported,
      fmt::format("{} speaks interface {}.{} with record formats {}, this library {}.{} with {}; {}", device,
                  query.abi_major, query.abi_minor, query.record_formats, NPUPROF_ABI_MAJOR,
                  NPUPROF_ABI_MINOR, NPUPROF_RECORDS_VERSION,
                  backend == Backend::kKernel ? kOwnModule : "take both from one build"));
}

}  // namespace npuprof::device
