// SPDX-License-Identifier: Apache-2.0
// What people read when a driver refuses: device, cause, and what would help.
#include "device/refusals.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>

namespace npuprof::device {
namespace {

constexpr const char* kNode = "/dev/npuprof1";

Status OfKernel(unsigned long request, int error, const void* argument = nullptr,
                const npuprof_query* has = nullptr) {
  return Refused(Backend::kKernel, kNode, "start", request, argument, error, has);
}

// Cause and remedy of a ring that a device with all that there can be does not offer.
std::string Unsupported(const npuprof_add_ring& ring, uint64_t channels = (1u << NPUPROF_CHANNEL_COUNT) - 2,
                        uint32_t flags = NPUPROF_DEVICE_OVERWRITE | NPUPROF_DEVICE_WRITTEN) {
  npuprof_query has{};
  has.channels = channels;
  has.device_flags = flags;
  const std::string text = OfKernel(NPUPROF_IOC_ADD_RING, EOPNOTSUPP, &ring, &has).text;
  return text.substr(text.find(": ") + 2);
}

TEST(Refusals, EachDocumentedErrnoHasASentenceOfItsOwn) {
  std::set<std::string> sentences;
  const int errors[] = {EPERM,  EBUSY,  ERANGE, EOPNOTSUPP, ENOSPC, ENOMEM, EINVAL,    E2BIG,
                        ENOTTY, ENODEV, EAGAIN, EBADF,      EIO,    EACCES, EOWNERDEAD};
  for (const int error : errors) {
    const Status status = OfKernel(NPUPROF_IOC_START, error);
    EXPECT_EQ(status.error, error);
    EXPECT_EQ(status.text.find("/dev/npuprof1 could not start: "), 0u) << status.text;
    EXPECT_EQ(status.text.find(std::strerror(error)), std::string::npos) << status.text;
    EXPECT_EQ(status.text.find('\n'), std::string::npos);
    EXPECT_TRUE(sentences.insert(status.text).second) << status.text;
  }
}

// What a person can do about it follows the cause, whichever request fails and whoever drives the device.
TEST(Refusals, EachDocumentedErrnoOfEachRequestNamesARemedy) {
  const int errors[] = {EPERM,  EBUSY,  ERANGE, EOPNOTSUPP, ENOSPC, ENOMEM, EINVAL,    E2BIG,
                        ENOTTY, ENODEV, EAGAIN, EBADF,      EIO,    EACCES, EOWNERDEAD};
  const unsigned long requests[] = {NPUPROF_IOC_QUERY, NPUPROF_IOC_ADD_RING, NPUPROF_IOC_START,
                                    NPUPROF_IOC_STOP,  NPUPROF_IOC_FREEZE,   NPUPROF_IOC_FLUSH,
                                    NPUPROF_IOC_STATS, NPUPROF_IOC_CLOCK,    0};
  for (const Backend backend : {Backend::kKernel, Backend::kSim}) {
    for (const unsigned long request : requests) {
      for (const int error : errors) {
        npuprof_add_ring ring{};
        const std::string text =
            Refused(backend, kNode, "go", request, request == NPUPROF_IOC_ADD_RING ? &ring : nullptr, error)
                .text;
        const size_t cause = text.find(": "), remedy = text.find("; ");
        ASSERT_NE(remedy, std::string::npos) << error << ' ' << text;
        EXPECT_GT(remedy, cause + 12) << text;
        EXPECT_GT(text.size(), remedy + 8) << text;
      }
    }
  }
}

TEST(Refusals, WhatTheDeviceLacksIsNamed) {
  npuprof_add_ring ring{};
  ring.channel = NPUPROF_CHANNEL_NIC;
  EXPECT_EQ(Unsupported(ring, 1u << NPUPROF_CHANNEL_TASK_LOG),
            "the device has no channel 8 (nic); npuprof info --device shows what it has");
  ring.channel = 99;
  EXPECT_EQ(Unsupported(ring).find("the device has no channel 99 (unknown); "), 0u);
  ring.channel = NPUPROF_CHANNEL_TASK_PMU;
  ring.cube_event_count = 2;
  ring.cube_events[0] = 0x416;
  ring.cube_events[1] = 0x9999;
  EXPECT_EQ(
      Unsupported(ring).find("the device does not count all of the events 0x416, 0x9999 of matrix cores; "),
      0u)
      << Unsupported(ring);
  ring.vector_event_count = 1;
  ring.vector_events[0] = 0x8;
  EXPECT_NE(Unsupported(ring).find("0x9999 of matrix cores and 0x8 of vector cores; "), std::string::npos)
      << Unsupported(ring);
  ring.flags = NPUPROF_RING_DEVICE_PATH;
  EXPECT_NE(Unsupported(ring).find("order"), std::string::npos) << Unsupported(ring);
  EXPECT_NE(Unsupported(ring, ~uint64_t{0}, 0).find("writes no records by itself; "), std::string::npos);
  ring.flags |= NPUPROF_RING_OVERWRITE;
  EXPECT_EQ(Unsupported(ring).find("what the device writes by itself cannot overwrite"), 0u)
      << Unsupported(ring);
  ring.flags = NPUPROF_RING_OVERWRITE;
  EXPECT_EQ(Unsupported(ring, ~uint64_t{0}, 0).find("the device's rings cannot overwrite"), 0u);
  npuprof_add_ring block{};
  block.channel = NPUPROF_CHANNEL_BLOCK_PMU;
  block.core = 200;
  EXPECT_EQ(Unsupported(block).find("no record of channel block_pmu can tell of core 200; "), 0u);
}

TEST(Refusals, AValueThatIsNotAllowedIsNamedWithWhatIs) {
  npuprof_add_ring ring{};
  ring.slots = 1000;
  ring.period_ns = 77;
  const std::string text = OfKernel(NPUPROF_IOC_ADD_RING, EINVAL, &ring).text;
  for (const char* part : {"1000 slots", "period 77 ns", "a power of two from 16 to 4194304"})
    EXPECT_NE(text.find(part), std::string::npos) << part << ": " << text;
}

TEST(Refusals, UnknownErrnoIsNamedByTheSystem) {
  EXPECT_EQ(OfKernel(NPUPROF_IOC_START, EXDEV).text,
            std::string("/dev/npuprof1 could not start: ") + std::strerror(EXDEV));
}

TEST(Refusals, PermissionNamesTheCapabilityAndTheParameter) {
  const std::string text = OfKernel(NPUPROF_IOC_START, EPERM).text;
  EXPECT_NE(text.find("CAP_PERFMON"), std::string::npos) << text;
  EXPECT_NE(text.find("unprivileged=1"), std::string::npos) << text;
  // The simulated device has no module to load.
  const Status sim = Refused(Backend::kSim, "simulated NPU 0", "start", NPUPROF_IOC_START, nullptr, EPERM);
  EXPECT_EQ(sim.text.find("module"), std::string::npos) << sim.text;
}

TEST(Refusals, BusyNamesTheOwnerIfItIsKnown) {
  npuprof_add_ring ring{};
  ring.owner_pid = 4711;
  Status status = OfKernel(NPUPROF_IOC_ADD_RING, EBUSY, &ring);
  EXPECT_EQ(status.kind, ErrorKind::kBusy);
  EXPECT_NE(status.text.find("process 4711 has it"), std::string::npos) << status.text;
  ring.owner_pid = 0;
  status = OfKernel(NPUPROF_IOC_ADD_RING, EBUSY, &ring);
  EXPECT_EQ(status.text.find("process"), std::string::npos) << status.text;
  EXPECT_NE(status.text.find("/sys/kernel/debug/npuprof/"), std::string::npos) << status.text;
}

TEST(Refusals, PeriodThatIsTooShortNamesTheShortestPossible) {
  npuprof_add_ring ring{};
  ring.period_ns = 250'000;
  Status status = OfKernel(NPUPROF_IOC_ADD_RING, ERANGE, &ring);
  EXPECT_EQ(status.kind, ErrorKind::kInvalidArgument);
  EXPECT_NE(status.text.find("250000 ns"), std::string::npos) << status.text;
  ring.period_ns = 0;
  status = OfKernel(NPUPROF_IOC_ADD_RING, ERANGE, &ring);
  EXPECT_EQ(status.text.find(" ns"), std::string::npos) << status.text;
}

TEST(Refusals, ModuleOfAnotherReleaseIsNamedWithBothVersions) {
  npuprof_query query{};
  query.abi_major = 7;
  query.abi_minor = 3;
  query.record_formats = 9;
  const Status status = VersionRefused(Backend::kKernel, kNode, query);
  EXPECT_EQ(status.kind, ErrorKind::kUnsupported);
  EXPECT_NE(status.text.find("/dev/npuprof1 speaks interface 7.3 with record formats 9"), std::string::npos);
  EXPECT_NE(status.text.find("load the npuprof.ko that was built with this library"), std::string::npos);
  for (const int error : {ENOTTY, E2BIG})
    EXPECT_NE(OfKernel(NPUPROF_IOC_QUERY, error).text.find("load the npuprof.ko"), std::string::npos)
        << error;
}

TEST(Refusals, ANodeThatDoesNotOpenSaysWhatIsMissing) {
  const auto text = [](int error, bool loaded, std::vector<uint32_t> devices) {
    return OpenRefused(1, error, {loaded, std::move(devices)}).text;
  };
  EXPECT_NE(text(ENOENT, false, {}).find("the kernel module npuprof is not loaded"), std::string::npos);
  EXPECT_NE(text(ENOENT, true, {}).find("is loaded, but has no device"), std::string::npos);
  EXPECT_EQ(text(ENXIO, true, {0}), "device 1 does not exist; the kernel module has 1 (0)");
  EXPECT_EQ(text(ENOENT, true, {0, 2}), "device 1 does not exist; the kernel module has 2 (0, 2)");
  EXPECT_NE(text(EACCES, true, {0, 1}).find("join the group"), std::string::npos);
  EXPECT_NE(text(EPERM, true, {0, 1}).find("--device /dev/npuprof1"), std::string::npos);
  EXPECT_NE(text(ENOMEM, true, {0, 1}).find("mlock_kb"), std::string::npos);
  EXPECT_EQ(OpenRefused(1, ENOENT, {true, {}}).kind, ErrorKind::kNotFound);
  EXPECT_EQ(OpenRefused(1, EMFILE, {true, {0, 1}}).kind, ErrorKind::kBusy);
  EXPECT_EQ(OpenRefused(1, EACCES, {true, {0, 1}}).kind, ErrorKind::kDevice);
  EXPECT_EQ(OpenRefused(1, EACCES, {true, {0, 1}}).error, EACCES);
}

}  // namespace
}  // namespace npuprof::device
