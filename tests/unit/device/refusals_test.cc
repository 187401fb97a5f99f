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

Status OfKernel(unsigned long request, int error, const void* argument = nullptr) {
  return Refused(Backend::kKernel, kNode, "start", request, argument, error);
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
