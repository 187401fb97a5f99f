// SPDX-License-Identifier: Apache-2.0
// Memory that is short while a driver is bound to its device: the device is not there, or without perf, and the next
// attempt finds it as the first did.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "faults.h"
#include "selftest.h"

namespace selftest {
namespace {

using namespace conformance;

constexpr const char* kProbeAll = "/sys/bus/pci/drivers_autoprobe";
// Not every allocation: binding makes hundreds, and the kernels that can fail them are slow. The first are of the driver
// itself, most of the rest of names in sysfs, which the kernel can do without.
int Further(int n) {
  return n + 1 + n / 3;
}
constexpr int kReloads = 2;
// By how many allocations one binding may differ from the next: a cache of the kernel's has room or has not.
constexpr int kSpread = 3;

// The calls of this thread alone, because faults are injected in it alone: binding by sysfs probes in the writer.
struct BindFaults : Faults {
  void SetUp() override {
    Faults::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    address_ = PciAddress(0);
    ASSERT_NE(address_, "");
    Open();
    // How the PCI core calls a region or vectors that it has no memory to note.
    errors_ = {-EBUSY, -ENOSPC};
  }
  void TearDown() override {
    if (bind_ >= 0) {
      // Whatever became of it: other tests want their devices, with these numbers.
      WriteFile(kProbeAll, "1");
      WriteFile(kBindings + "unbind", address_);
      if (reloaded_) {
        Reload();
      } else {
        EXPECT_EQ(Bind(), 0);
      }
      close(bind_);
      ASSERT_TRUE(WaitNode(0, true));
      ASSERT_TRUE(WaitNode(1, true));
    }
    Faults::TearDown();
  }
  /// With the parameters that it had.
  void Reload() {
    const char* module = std::getenv("NPUPROF_LAB_MODULE");
    ASSERT_NE(module, nullptr) << "NPUPROF_LAB_MODULE does not say where the module is";
    const std::string mlock = "mlock_kb=" + ReadFile("/sys/module/npuprof/parameters/mlock_kb");
    close(bind_);
    ASSERT_EQ(syscall(SYS_delete_module, "npuprof", O_NONBLOCK), 0) << errno;
    const int file = open(module, O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(syscall(SYS_finit_module, file, mlock.c_str(), 0), 0) << errno;
    close(file);
    reloaded_ = true;
    Open();
  }
  void Open() {
    bind_ = open((kBindings + "bind").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(bind_, 0);
  }
  int Bind() const { return pwrite(bind_, address_.data(), address_.size(), 0) < 0 ? -errno : 0; }
  void Unbind() const { ASSERT_EQ(WriteFile(kBindings + "unbind", address_), 0); }
  /// However many attempts failed before, the device has the number that it had.
  static void ExpectThere() {
    ASSERT_TRUE(WaitNode(0, true));
    Profiler profiler;
    EXPECT_EQ(profiler.Query().device_id, 0u);
  }

  const std::string kBindings = "/sys/bus/pci/drivers/npuprof_refnpu/";
  std::string address_;
  int bind_ = -1;
  bool reloaded_ = false;
};

TEST_F(BindFaults, InProbing) {
  Unbind();
  const int failures = Each([] {}, [&] { return Bind(); },
                            [&](int result) {
                              if (result != 0) return;
                              ASSERT_NO_FATAL_FAILURE(ExpectThere());
                              ASSERT_NO_FATAL_FAILURE(Unbind());
                            },
                            1, Further);
  EXPECT_GE(failures, 3);
  ASSERT_EQ(Bind(), 0);
  ASSERT_TRUE(WaitNode(0, true));
  ExpectUsable();
}

// A PMU is made for the first device with its number, and stays until the module goes.
TEST_F(BindFaults, InMakingThePmu) {
  const auto exists = [] { return access("/sys/bus/event_source/devices/npuprof_0/type", F_OK) == 0; };
  int made = 0, missing = 0;
  ASSERT_EQ(WriteFile(kProbeAll, "0"), 0);
  Unbind();
  // It comes last, and what it allocates first it cannot do without; most of the rest are names, without which it can.
  const int others = Allocations([&] { return Bind(); });
  Unbind();
  Reload();
  const int all = Allocations([&] { return Bind(); });
  ASSERT_GT(all, others);
  Unbind();
  const auto prepare = [&] {
    if (exists()) {
      ASSERT_NO_FATAL_FAILURE(Reload());
    }
  };
  const auto judge = [&](int result) {
    if (result != 0) return;
    ASSERT_NO_FATAL_FAILURE(ExpectThere());  // with perf or without
    ++(exists() ? made : missing);
    ASSERT_NO_FATAL_FAILURE(Unbind());
  };
  const int step = std::max(1, (all - others) / kReloads);
  Each(
      prepare, [&] { return Bind(); }, judge, std::max(1, others - kSpread),
      [&](int n) { return missing == 0 ? n + 1 : n + step; });
  EXPECT_GT(missing, 0) << "no fault hit the PMU";
  EXPECT_GT(made, 0);
}

}  // namespace
}  // namespace selftest
