// SPDX-License-Identifier: Apache-2.0
// The published code of every refusal that needs no device.
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "fixture.h"
#include "npuprof/acl_prof_loaded.h"

namespace npuprof {
namespace {

class Refusals : public ApiTest {};

TEST_F(Refusals, InitJudgesItsArguments) {
  const std::string longest(4095, 'a'), too_long(4096, 'a');
  EXPECT_EQ(aclprofInit(nullptr, 3), 100000);
  EXPECT_EQ(aclprofInit("/tmp", 0), 100000);
  EXPECT_EQ(aclprofInit("/tmp", 5), 100000);
  EXPECT_EQ(aclprofInit("/tmp", 3), 100000);
  EXPECT_EQ(aclprofInit(too_long.c_str(), too_long.size()), 100000);
  EXPECT_NE(Message().find("4096"), std::string::npos) << Message();
  for (char c : std::string("\n\f\r\b\t\v\x7f\"'\\%><|&$;`")) {
    EXPECT_EQ(Init(std::string("/tmp/a") + c), 100003) << static_cast<int>(c);
  }
  for (const std::string& allowed : {std::string("/tmp/with space"), std::string("/tmp/\xe6\x95\xb0"),
                                     std::string("/tmp/../tmp"), std::string("relative"), longest}) {
    EXPECT_EQ(Init(allowed), 0) << allowed;
    EXPECT_EQ(aclprofFinalize(), 0);
  }
}

TEST_F(Refusals, InitIsForOneCaller) {
  setenv("PROFILING_MODE", "dynamic", 1);
  EXPECT_EQ(Init(), 200006);
  // Judged before the arguments.
  EXPECT_EQ(aclprofInit(nullptr, 0), 200006);
  unsetenv("PROFILING_MODE");
  EXPECT_EQ(Init(), 0);
  EXPECT_EQ(Init(), 100002);
  // The arguments are judged before the state, the characters after it.
  EXPECT_EQ(aclprofInit(nullptr, 0), 100000);
  EXPECT_EQ(Init("/tmp/;"), 100002);
  EXPECT_EQ(aclprofFinalize(), 0);
  EXPECT_EQ(Init(), 0);
}

TEST_F(Refusals, InitTouchesNothingOnDisk) {
  EXPECT_EQ(Init((directory_ / "new").string()), 0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "new"));
}

// What the standard error stream gets while @p body runs.
template <typename Body>
std::string Complaints(Body body) {
  unsetenv("NPUPROF_LOG");
  testing::internal::CaptureStderr();
  body();
  setenv("NPUPROF_LOG", "0", 1);
  return testing::internal::GetCapturedStderr();
}

TEST_F(Refusals, InitSaysThatAPathCannotBeWrittenAndStartReturnsTheCode) {
  const std::string file = (directory_ / "file").string();
  std::ofstream(file) << "x";
  for (const std::string& path : {std::string("/proc/nowhere"), file + "/below"}) {
    const std::string said = Complaints([&] { EXPECT_EQ(Init(path), 0); });
    EXPECT_NE(said.find(path == "/proc/nowhere" ? path : file), std::string::npos) << said;
    EXPECT_NE(said.find("aclprofStart will fail"), std::string::npos) << said;
    aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
    EXPECT_EQ(aclprofStart(config), 100003);
    EXPECT_EQ(aclprofDestroyConfig(config), 0);
    EXPECT_EQ(aclprofFinalize(), 0);
  }
  EXPECT_EQ(Complaints([&] { EXPECT_EQ(Init((directory_ / "is/made/later").string()), 0); }), "");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "is"));
}

TEST_F(Refusals, OneWarningTellsThatSettingsCannotBeJoined) {
  EXPECT_EQ(Complaints([&] { EXPECT_EQ(Set(5, "50"), 0); }), "") << "1|4 would not take it";
  const std::string said = Complaints([&] {
    EXPECT_EQ(Set(3 | 5, "50"), 0);
    EXPECT_EQ(Set(3 | 4, "50"), 0);
  });
  EXPECT_NE(said.find("7 is ACL_PROF_DVPP_FREQ, and not ACL_PROF_SYS_HARDWARE_MEM_FREQ together with "
                      "ACL_PROF_SYS_IO_FREQ"),
            std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

// Whichever function is first, and no other mistake takes the place of this one.
TEST_F(Refusals, TheFirstStampWithoutASessionHasASentenceAndTheOthersHaveNone) {
  int stamp = 0;
  using Call = std::function<int()>;
  for (const Call& call :
       {Call([&] { return aclprofMark(&stamp); }), Call([&] { return aclprofPush(&stamp); }),
        Call([&] { return aclprofSetStampCategory(&stamp, 1); }),
        Call([&] { return aclprofSetStampPayload(&stamp, 0, &stamp); }),
        Call([&] { return aclprofMarkEx("text", 4, &stamp); }),
        Call([&] { return aclprofCreateStamp() ? 0 : -1; })}) {
    ASSERT_EQ(Init("/tmp"), 0);
    ASSERT_EQ(aclprofFinalize(), 0);
    EXPECT_EQ(aclprofMark(nullptr), -1);
    EXPECT_NE(Message().find("is NULL"), std::string::npos) << Message();
    EXPECT_EQ(call(), -1);
    EXPECT_NE(Message().find("no session with ACL_PROF_MSPROFTX was started"), std::string::npos)
        << Message();
    EXPECT_EQ(aclprofInit(nullptr, 3), 100000);
    const std::string later = Message();
    EXPECT_EQ(call(), -1);
    EXPECT_EQ(aclprofMark(nullptr), -1);
    EXPECT_EQ(Message(), later);
  }
}

TEST_F(Refusals, StopAndFinalizeWithoutInitAreNothing) {
  EXPECT_EQ(aclprofStop(nullptr), 0);
  EXPECT_EQ(aclprofFinalize(), 0);
}

TEST_F(Refusals, CreateAndDestroyWithoutDevices) {
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
  ASSERT_NE(config, nullptr) << Message();
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_EQ(aclprofDestroyConfig(config), 100000);
  EXPECT_EQ(aclprofDestroyConfig(nullptr), 100000);
  EXPECT_EQ(Config({}, ACL_PROF_ACL_API), nullptr);
  EXPECT_EQ(Config({0}, ACL_PROF_ACL_API), nullptr);
  EXPECT_NE(Message().find("this process has none"), std::string::npos) << Message();
  EXPECT_EQ(aclprofCreateConfig(nullptr, 1, ACL_AICORE_NONE, nullptr, 1), nullptr);
  EXPECT_NE(Message().find("NULL"), std::string::npos) << Message();
}

TEST_F(Refusals, SetConfigJudgesTypeThenLengthThenText) {
  const std::string longest(256, '1'), too_long(257, '1');
  for (int type : {-1, 0, 17, 18, 24}) EXPECT_EQ(Set(type, "1"), 100000) << type;
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, nullptr, 1), 100000);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, "15", 3), 100000);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, "15", 1), 100000);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, too_long.c_str(), 257), 100000);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, longest.c_str(), 256), 100010);
  EXPECT_EQ(Set(ACL_PROF_STORAGE_LIMIT, "50"), 100010);
  EXPECT_EQ(Set(2, "1"), 100010);
  EXPECT_EQ(Set(ACL_PROF_NTS_METRICS, "PipeUtilization"), 100000);
  // 3|5 is 7, another setting, and cannot be told from it; its value counts.
  EXPECT_EQ(Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ | ACL_PROF_SYS_IO_FREQ, "15"), 0);
  EXPECT_EQ(Set(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "15"), 0);
}

TEST_F(Refusals, StartJudgesTheConfiguration) {
  EXPECT_EQ(aclprofStart(nullptr), 100000);
  EXPECT_NE(Message().find("no device open"), std::string::npos) << Message();
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX | 0x10000);
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(aclprofStart(config), 200007);
  EXPECT_NE(Message().find("0x10000"), std::string::npos) << Message();
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_EQ(aclprofStart(config), 100000);
  config = Config({}, ACL_PROF_MSPROFTX | ACL_PROF_AICORE_METRICS, 7);
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(aclprofStart(config), 100000);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  EXPECT_TRUE(ProfDirectories().empty());
}

TEST_F(Refusals, ABadDirectoryIsReportedByStartAndStartMayBeTriedAgain) {
  std::ofstream(directory_ / "file") << "not a directory";
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config), 0);
  ASSERT_EQ(aclprofFinalize(), 0);
  ASSERT_EQ(Init((directory_ / "file" / "below").string()), 0);
  EXPECT_EQ(aclprofStart(config), 100003);
  EXPECT_NE(Message().find("file"), std::string::npos) << Message();
  EXPECT_EQ(aclprofStart(config), 100003);
  EXPECT_EQ(aclprofStop(config), 0);
  ASSERT_TRUE(std::filesystem::remove(directory_ / "file"));
  EXPECT_EQ(aclprofStart(config), 0) << Message();
  EXPECT_EQ(aclprofStop(config), 0);
  const auto found = ProfDirectories(directory_ / "file" / "below");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Number(found[0]), Number(ProfDirectories().at(0)) + 1) << "failed starts count no run";
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

TEST_F(Refusals, ADirectoryThatCannotBeWrittenIsReported) {
  if (geteuid() == 0) {
    // root may write everywhere but into /proc
    ASSERT_EQ(Init("/proc/npuprof"), 0);
  } else {
    ASSERT_EQ(chmod(directory_.c_str(), 0500), 0);
    ASSERT_EQ(Init(), 0);
  }
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
  EXPECT_EQ(aclprofStart(config), 100003);
  EXPECT_FALSE(Message().empty());
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  chmod(directory_.c_str(), 0700);
}

TEST_F(Refusals, ReportingFunctionsJudgeOnlyWhileSomebodyCollects) {
  EXPECT_EQ(MsprofReportApi(1, nullptr), 0);
  EXPECT_EQ(MsprofReportCompactInfo(1, nullptr, 0), 0);
  aclprofConfig* config = Config({}, ACL_PROF_MSPROFTX);
  ASSERT_EQ(Init(), 0);
  ASSERT_EQ(aclprofStart(config), 0);
  MsprofApi call = Call(1);
  EXPECT_EQ(MsprofReportApi(1, nullptr), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportApi(1, &call), 0);
  call.magicNumber = 1;
  EXPECT_EQ(MsprofReportApi(1, &call), MSPROF_ERROR_CONFIG_INVALID);
  std::vector<MsprofAdditionalInfo> info(65);
  for (auto& record : info) record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  EXPECT_EQ(MsprofReportCompactInfo(1, info.data(), 63), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportAdditionalInfo(1, info.data(), 255), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportAdditionalInfo(1, info.data(), 256), 0);
  EXPECT_EQ(MsprofGetBatchReportMaxSize(0), 64u * 256);
  EXPECT_EQ(MsprofReportBatchAdditionalInfo(1, info.data(), 64 * 256), 0);
  EXPECT_EQ(MsprofReportBatchAdditionalInfo(1, info.data(), 65 * 256), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportBatchAdditionalInfo(1, info.data(), 300), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofReportBatchAdditionalInfo(1, info.data(), 0), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(aclprofStop(config), 0);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(Kept(manifest, "api_event"), 1u);
  EXPECT_EQ(Kept(manifest, "level_0_type_0"), 65u);
}

TEST_F(Refusals, DictionariesAndNoticesJudgeTheirArguments) {
  EXPECT_EQ(MsprofRegTypeInfo(5000, 1, nullptr), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegTypeInfo(5000, 1, ""), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegTypeInfo(5000, 1, "a\nb"), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegTypeInfo(5000, 1, std::string(256, 'a').c_str()), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofRegTypeInfo(5000, 1, std::string(255, 'a').c_str()), 0);
  EXPECT_EQ(MsprofRegDataFormat(5000, 1, nullptr), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofGetHashId(nullptr, 3), 0u);
  EXPECT_EQ(MsprofGetHashId("", 0), 0u);
  EXPECT_EQ(MsprofStr2Id("", 0), UINT64_MAX);
  const uint64_t id = MsprofGetHashId("a", 1);
  EXPECT_EQ(id, (uint64_t{97} << 32) | 97);
  EXPECT_EQ(MsprofStr2Id("a", 1), id);
  EXPECT_STREQ(MsprofId2Str(id), "a");
  EXPECT_EQ(MsprofId2Str(1), nullptr);
  EXPECT_EQ(MsprofRegisterCallback(1, nullptr), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofNotifySetDevice(0, 64, true), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofSetDeviceIdByGeModelIdx(1, 64), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofSetDeviceIdByGeModelIdx(1, 63), 0);
  EXPECT_EQ(MsprofUnsetDeviceIdByGeModelIdx(1, 63), 0);
  EXPECT_EQ(MsprofInit(77, nullptr, 0), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_EQ(MsprofInit(MSPROF_CTRL_INIT_ACL_ENV, nullptr, 0), 0);
  EXPECT_EQ(MsprofFinalize(), 0);
}

// The families are published; programs sort errors by them.
TEST_F(Refusals, ErrorsHaveTheirPublishedFamilyAndAreToldOnce) {
  const auto family = [](aclError code, aclError expected) {
    EXPECT_EQ(code, expected);
    const char* error = npuprofTakeError();
    const std::string text = error ? error : "";
    EXPECT_EQ(text.substr(std::min<size_t>(text.size(), 6)), ": " + Message());
    EXPECT_EQ(npuprofTakeError(), nullptr) << "told once";
    return text.substr(0, 6);
  };
  while (npuprofTakeError()) continue;
  EXPECT_EQ(family(aclprofInit(nullptr, 1), 100000), "EK0006");
  EXPECT_EQ(family(aclprofInit("/tmp", 9), 100000), "EK0001");
  EXPECT_EQ(family(Init("/tmp/;"), 100003), "EK0001");
  EXPECT_EQ(family(Set(ACL_PROF_SYS_IO_FREQ, "fast"), 100010), "EK0003");
  setenv("PROFILING_MODE", "dynamic", 1);
  EXPECT_EQ(family(Init(), 200006), "EK0004");
  unsetenv("PROFILING_MODE");
  ASSERT_EQ(Init(), 0);
  EXPECT_EQ(family(Init(), 100002), "EK0002");
  EXPECT_EQ(family(aclprofStart(Config({}, ACL_PROF_MSPROFTX | 0x10000)), 200007), "EK0005");
  ASSERT_EQ(MsprofSetDeviceIdByGeModelIdx(3, 0), 0);
  int fd = -1;
  aclprofSubscribeConfig* wish = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &fd);
  EXPECT_EQ(family(aclprofModelSubscribe(3, wish), 148047), "EK0007");
  EXPECT_EQ(aclprofDestroySubscribeConfig(wish), 0);
}

}  // namespace
}  // namespace npuprof
