// SPDX-License-Identifier: Apache-2.0
// Which device is taken. This program plays the simulated runtime: it defines that runtime's functions, and
// the backend finds them by name.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "device/backends.h"
#include "device/device_file.h"
#include "npuprof.h"
#include "npusim/npusim_device.h"

namespace {
int g_opened = -1;
bool g_elsewhere = false;
int g_closed = 0;
}  // namespace

extern "C" {
int npusim_dev_count(void) {
  return g_elsewhere ? -EREMOTE : 2;
}
const char* npusim_dev_version(void) {
  return "7.8.9";
}
int npusim_dev_open(uint32_t device_id) {
  if (g_elsewhere) return -EREMOTE;
  if (device_id >= 2) return -ENODEV;
  g_opened = static_cast<int>(device_id);
  return 40 + g_opened;
}
int npusim_dev_close(int) {
  return ++g_closed, 0;
}
int npusim_dev_ioctl(int handle, unsigned long request, void*) {
  return handle == 41 && request == NPUPROF_IOC_STATS ? 0 : -EINVAL;
}
int npusim_dev_mmap(int, uint64_t offset, size_t, void** address) {
  static char memory[64];
  *address = memory;
  return offset == NPUPROF_MMAP_TAILS ? 0 : -EINVAL;
}
int npusim_dev_poll_fd(int) {
  return -1;
}
}

namespace npuprof::device {
namespace {

class BackendTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("NPUPROF_DEVICE");
    g_elsewhere = false;
  }
  Status Choose(const char* wish) {
    setenv("NPUPROF_DEVICE", wish, 1);
    return ChooseBackend(&backend_, &reason_);
  }
  Backend backend_ = Backend::kHal;
  std::string reason_;
};

TEST_F(BackendTest, SimulatedRuntimeInTheProcessIsTaken) {
  for (const char* wish : {"auto", "", "sim"}) {
    ASSERT_TRUE(Choose(wish).ok()) << wish;
    EXPECT_EQ(backend_, Backend::kSim);
    EXPECT_FALSE(reason_.empty());
  }
  EXPECT_EQ(DeviceIds(Backend::kSim), (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(DeviceIds(Backend::kNone).empty());
}

// NPUSIM_PORT: the program's NPUs are the machine's, and never some of the simulated runtime's.
TEST_F(BackendTest, RuntimeWithNpusElsewhereIsProfiledThroughTheKernel) {
  g_elsewhere = true;
  ASSERT_TRUE(Choose("auto").ok());
  const bool kernel = access("/dev/npuprof0", F_OK) == 0;
  EXPECT_EQ(backend_, kernel ? Backend::kKernel : Backend::kNone);
  EXPECT_NE(reason_.find("NPUSIM_PORT"), std::string::npos) << reason_;
  const Status status = Choose("sim");
  EXPECT_EQ(status.kind, ErrorKind::kNotFound);
  EXPECT_NE(status.text.find("NPUSIM_PORT is set"), std::string::npos) << status.text;
  EXPECT_TRUE(DeviceIds(Backend::kSim).empty());
  std::unique_ptr<DeviceFile> file;
  const Status opened = DeviceFile::Open(Backend::kSim, 0, &file);
  EXPECT_EQ(opened.kind, ErrorKind::kNotFound);
  EXPECT_NE(opened.text.find("/dev/npuprof<N>"), std::string::npos) << opened.text;
}

// A container is given some of the machine's NPUs, or the driver of one was unbound.
TEST(KernelDevices, BehindAGapAreFound) {
  const std::filesystem::path dev = testing::TempDir() + "npuprof_gap." + std::to_string(getpid());
  ASSERT_TRUE(std::filesystem::create_directory(dev));
  const auto node = [&](const char* name, const char* target) {
    ASSERT_EQ(symlink(target, (dev / name).c_str()), 0) << name;
  };
  EXPECT_TRUE(KernelDeviceIds(dev).empty());
  for (const char* name : {"npuprof10", "npuprof2", "npuprof", "npuprof3x", "npuprof-4", "xnpuprof5"})
    node(name, "/dev/null");
  node("npuprof6", "/etc/passwd");
  node("npuprof7", "/nowhere");
  EXPECT_EQ(KernelDeviceIds(dev), (std::vector<uint32_t>{2, 10}));
  std::filesystem::remove_all(dev);
  EXPECT_TRUE(KernelDeviceIds(dev).empty());
}

TEST(KernelDevices, AreNamedAsARangeOrOneByOne) {
  EXPECT_EQ(DeviceIdText({0}), "0");
  EXPECT_EQ(DeviceIdText({0, 1, 2}), "0 to 2");
  EXPECT_EQ(DeviceIdText({1, 3}), "1, 3");
}

TEST_F(BackendTest, OtherWishesAreRefusedInOneSentence) {
  EXPECT_EQ(Choose("hal").kind, ErrorKind::kUnsupported);
  EXPECT_NE(Choose("hal").text.find("this build cannot use the vendor's driver"), std::string::npos);
  EXPECT_EQ(Choose("gpu").kind, ErrorKind::kInvalidArgument);
  EXPECT_NE(Choose("gpu").text.find("\"gpu\"; allowed are auto, sim, kernel and hal"), std::string::npos);
  if (access("/dev/npuprof0", F_OK) != 0) {
    EXPECT_EQ(Choose("kernel").kind, ErrorKind::kNotFound);
  }
}

TEST_F(BackendTest, UnknownDeviceIsNamedWithWhatThereIs) {
  std::unique_ptr<DeviceFile> file;
  const Status status = DeviceFile::Open(Backend::kSim, 7, &file);
  EXPECT_EQ(status.kind, ErrorKind::kNotFound);
  EXPECT_EQ(status.text, "device 7 does not exist; the simulated runtime has 2 (0 to 1)");
  EXPECT_EQ(DeviceFile::Open(Backend::kNone, 0, &file).kind, ErrorKind::kNotFound);
  EXPECT_EQ(DeviceFile::Open(Backend::kHal, 0, &file).kind, ErrorKind::kUnsupported);
  EXPECT_EQ(DeviceFile::Open(Backend::kKernel, 4'000'000, &file).kind, ErrorKind::kNotFound);
}

TEST_F(BackendTest, RequestsGoThroughUntilTheFileIsClosed) {
  std::unique_ptr<DeviceFile> file;
  ASSERT_TRUE(DeviceFile::Open(Backend::kSim, 1, &file).ok());
  EXPECT_EQ(g_opened, 1);
  EXPECT_EQ(file->description(), "simulated NPU 1");
  EXPECT_EQ(file->version(), "npusim 7.8.9");
  EXPECT_EQ(RuntimeVersion(Backend::kSim), "npusim 7.8.9");
  EXPECT_EQ(RuntimeVersion(Backend::kKernel), "");
  EXPECT_EQ(file->Ioctl(NPUPROF_IOC_STATS, nullptr), 0);
  EXPECT_EQ(file->Ioctl(NPUPROF_IOC_FLUSH, nullptr), -EINVAL);
  void* address = nullptr;
  EXPECT_EQ(file->Map(NPUPROF_MMAP_TAILS, 64, &address), 0);
  EXPECT_EQ(file->Map(NPUPROF_MMAP_DATA, 64, &address), -EINVAL);
  const int closed = g_closed;
  file.reset();
  EXPECT_EQ(g_closed, closed + 1);
}

}  // namespace
}  // namespace npuprof::device
