// SPDX-License-Identifier: Apache-2.0
// The built command: exit status and streams of everything but record.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scratch.h"

namespace npuprof::cli {
namespace {

const std::string kNpuprof = NPUPROF_COMMAND;
const std::string kGoldenMin = std::string(NPUPROF_GOLDEN) + "/min";
constexpr const char* kName = "PROF_000001_20240101000000000_00000042ABCDEFGH";

TEST(Command, HelpGoesToStdoutWithExamplesAndListsOnlyWhatExists) {
  Scratch scratch;
  const Finished help = Shell(scratch, kNpuprof + " --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_NE(help.out.find("npuprof record -o out -- ./my_program"), std::string::npos);
  for (const char* command : {"record", "export", "info", "list", "verify", "repair", "report"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + command), std::string::npos) << command;
    const Finished page = Shell(scratch, kNpuprof + " " + command + " --help");
    EXPECT_EQ(page.status, 0);
    EXPECT_NE(page.out.find("Examples:"), std::string::npos) << command;
  }
  for (const char* command : {"top", "trace", "doctor"}) {
    EXPECT_EQ(help.out.find(std::string("\n  ") + command), std::string::npos) << command;
  }
}

TEST(Command, MisuseIsOneSentenceOnStderrAndStatusTwo) {
  Scratch scratch;
  for (const char* arguments : {"",
                                "frobnicate",
                                "list --frob",
                                "export",
                                "export a b",
                                "info",
                                "info --device x",
                                "export --format cvs x",
                                "verify",
                                "repair a b",
                                "report",
                                "report a b",
                                "report a --html",
                                "report a --html ''",
                                "verify --frob x",
                                "record",
                                "record --",
                                "record --metrics Pipe -- true",
                                "record --devices 64 -- true",
                                "record --data-types x -- true",
                                "record --host gpu -- true",
                                "record --start -- true",
                                "record --pid 0",
                                "record --pid 1 -- true",
                                "record --pid 1 --start --stop",
                                "record --delay x -- true",
                                "record -o 'a;b' -- true",
                                "list -- true"}) {
    const Finished run = Shell(scratch, kNpuprof + " " + arguments);
    EXPECT_EQ(run.status, 2) << arguments;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_EQ(run.err.substr(0, 9), "npuprof: ") << arguments << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << arguments << ": " << run.err;
  }
}

TEST(Command, RefusalNamesTheValueAndWhatIsAllowed) {
  Scratch scratch;
  const Finished command = Shell(scratch, kNpuprof + " frob");
  EXPECT_NE(
      command.err.find("'frob' is no command; known are record, export, info, list, verify, repair, report"),
      std::string::npos);
  const std::vector<std::pair<std::string, std::string>> sentences = {
      {"", "a command is missing; known are record, export, info, list, verify, repair, report"},
      {"export a b c", "npuprof export does not take 'b' 'c'; see npuprof export --help"},
      {"export", "PROF_DIR is required; see npuprof export --help"},
      {"export --frob", "npuprof export does not take '--frob'; see npuprof export --help"},
      {"list --frob", "npuprof list does not take '--frob'; see npuprof list --help"},
      {"record ./a --b", "npuprof record does not take './a' '--b'; write the program to run after '--'"},
      {"record --frob -- true", "npuprof record does not take '--frob'; see npuprof record --help"},
  };
  for (const auto& [arguments, sentence] : sentences)
    EXPECT_EQ(Shell(scratch, kNpuprof + " " + arguments).err, "npuprof: " + sentence + "\n");
  const Finished format = Shell(scratch, kNpuprof + " export --format cvs x");
  EXPECT_NE(format.err.find("'cvs' is no export format; known are csv, json, perfetto"), std::string::npos)
      << format.err;
}

TEST(Command, FailureIsOneSentenceOnStderrAndStatusOne) {
  Scratch scratch;
  scratch.Write("plain", "text");
  const std::string dir = scratch.path().string();
  for (const std::string& arguments : {"export " + dir, "export " + dir + "/plain", "export " + dir + "/none",
                                       "info " + dir, "verify " + dir, "repair " + dir + "/none",
                                       "list " + dir + "/none", "record -o " + dir + "/plain/x -- true"}) {
    const Finished run = Shell(scratch, kNpuprof + " " + arguments);
    EXPECT_EQ(run.status, 1) << arguments;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_EQ(run.err.substr(0, 9), "npuprof: ") << arguments << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << arguments << ": " << run.err;
    EXPECT_NE(run.err.find(dir), std::string::npos) << "the sentence names the path: " << run.err;
  }
}

TEST(Command, ListShowsEachDirectoryMarkedInFirstAndLastLine) {
  Scratch scratch;
  scratch.Write(std::string(kName) + "/npuprof/manifest.json", kManifest);
  scratch.Write(std::string(kName) + "/host/info.json", "{}");
  const Finished run = Shell(scratch, kNpuprof + " list " + scratch.path().string());
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find(kName), std::string::npos);
  EXPECT_NE(run.out.find("157"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("incomplete, simulated"), std::string::npos);
  EXPECT_EQ(run.out.find('\033'), std::string::npos) << "no colour into a pipe";
  const std::string first = run.out.substr(0, run.out.find('\n'));
  EXPECT_EQ(first.substr(0, 9), "simulated");
  EXPECT_EQ(run.out.substr(run.out.size() - first.size() - 1), first + "\n");
}

TEST(Command, ListAsJsonCarriesTheSums) {
  Scratch scratch;
  scratch.Write(std::string(kName) + "/npuprof/manifest.json", kManifest);
  scratch.Write(std::string(kName) + "/host/info.json", "{}");
  const Finished run = Shell(scratch, kNpuprof + " list --json " + scratch.path().string());
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["kept"], 157);
  EXPECT_EQ(json[0]["lost"], 10);
  EXPECT_EQ(json[0]["simulated"], true);
  EXPECT_EQ(json[0]["complete"], false);
  EXPECT_EQ(json[0]["bytes"], std::string(kManifest).size() + 2);
}

TEST(Command, NamesOfAnyBytesGoIntoJson) {
  Scratch scratch;
  scratch.Write("odd\xff/" + std::string(kName) + "/npuprof/manifest.json", kManifest);
  scratch.Write("odd\xff/" + std::string(kName) + "/host/info.json", "\xff");
  const std::string odd = scratch.path().string() + "/odd\xff";
  const Finished list = Shell(scratch, kNpuprof + " list --json " + odd);
  ASSERT_EQ(list.status, 0) << list.err;
  EXPECT_NE(nlohmann::json::parse(list.out)[0]["path"].get<std::string>().find("/odd\xef\xbf\xbd/"),
            std::string::npos)
      << list.out;
  std::filesystem::copy(kGoldenMin, odd + "/whole", std::filesystem::copy_options::recursive);
  // A metadata file of strange bytes is quoted in a warning, and the export is not whole without its half.
  const std::filesystem::path prof = odd + "/whole/PROF_000001_20260101000000123_00012345ABCDEFGH";
  std::ofstream(prof / "host/host_start.log") << "cntvct: \xff\n";
  for (const auto& [command, status] : {std::pair{" info --json ", 0}, std::pair{" export --json ", 1}}) {
    const Finished run = Shell(scratch, kNpuprof + command + odd + "/whole");
    ASSERT_EQ(run.status, status) << run.err;
    EXPECT_NE(nlohmann::json::parse(run.out)["warnings"].dump().find("\xef\xbf\xbd"), std::string::npos)
        << run.out;
  }
}

TEST(Command, OutputThatCannotBeWrittenIsAFailure) {
  Scratch scratch;
  scratch.Write(std::string(kName) + "/npuprof/manifest.json", kManifest);
  scratch.Write(std::string(kName) + "/host/info.json", "{}");
  for (const char* command : {"list ", "list --json "}) {
    const Finished run = Shell(scratch, kNpuprof + " " + command + scratch.path().string() + " >/dev/full");
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("No space left on device"), std::string::npos) << run.err;
  }
  const Finished record = Shell(
      scratch, kNpuprof + " record --json -o " + scratch.path().string() + " -- sh -c 'exit 7' >/dev/full");
  EXPECT_EQ(record.status, 7) << "the status is the program's";
  EXPECT_NE(record.err.find("No space left on device"), std::string::npos) << record.err;
}

TEST(Command, AManifestWithValuesOfWrongTypesIsNamed) {
  Scratch scratch;
  std::filesystem::copy(kGoldenMin, scratch.path() / "copy", std::filesystem::copy_options::recursive);
  const std::filesystem::path prof = scratch.path() / "copy/PROF_000001_20260101000000123_00012345ABCDEFGH";
  for (const char* damage : {R"("cost":5)", R"("drain":[])", R"("data_types":"0xffffffffffffffffff")",
                             R"("host":{"kinds":7})", R"("devices":[{"rings":"x"}])"}) {
    std::filesystem::create_directories(prof / "npuprof");
    std::ofstream(prof / "npuprof/manifest.json")
        << R"({"simulated":false,"complete":true,"window":{},)" << damage << "}";
    const Finished run = Shell(scratch, kNpuprof + " info " + prof.string());
    EXPECT_EQ(run.status, 1) << damage;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find("manifest.json"), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find("json.exception"), std::string::npos) << run.err;
  }
}

TEST(Command, AStrayCopyOfADeviceOrAPipeForAFileIsNotRead) {
  Scratch scratch;
  std::filesystem::copy(kGoldenMin, scratch.path() / "copy", std::filesystem::copy_options::recursive);
  const std::filesystem::path prof = scratch.path() / "copy/PROF_000001_20260101000000123_00012345ABCDEFGH";
  std::filesystem::copy(prof / "device_0", prof / "device_00", std::filesystem::copy_options::recursive);
  const Finished once = Shell(scratch, kNpuprof + " export --json " + prof.string());
  ASSERT_EQ(once.status, 0) << once.err;
  EXPECT_EQ(nlohmann::json::parse(once.out)["devices"].size(), 1u);
  std::filesystem::remove(prof / "host/start_info");
  const Finished pipe = Shell(scratch, "mkfifo " + (prof / "host/start_info").string() + " && timeout 20 " +
                                           kNpuprof + " export --json " + prof.string());
  ASSERT_EQ(pipe.status, 1) << pipe.err;
  EXPECT_NE(pipe.out.find("start_info is no regular file"), std::string::npos) << pipe.out;
  const auto failures = nlohmann::json::parse(pipe.out)["failures"];
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0]["tables"], "host");
}

TEST(Command, ListOfADirectoryWithoutProfilesSaysSo) {
  Scratch scratch;
  const Finished run = Shell(scratch, kNpuprof + " list " + scratch.path().string());
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.out.find("no PROF_* directory"), std::string::npos);
  EXPECT_EQ(Shell(scratch, kNpuprof + " list --json " + scratch.path().string()).out, "[]\n");
}

const std::string kGolden = std::string(NPUPROF_GOLDEN) + "/min";

TEST(Command, ExportOfARecordedDirectoryWritesTablesAndTimelineAndCountsRows) {
  Scratch scratch;
  const std::string out = scratch.path().string() + "/tables";
  const Finished run = Shell(scratch, kNpuprof + " export " + kGolden + " --json --output " + out);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["rows"]["op_summary"], 30);
  EXPECT_EQ(json["rows"]["task_time"], 40);
  EXPECT_EQ(json["devices"][0]["pmu_matched"], 30);
  for (const auto& file : json["files"])
    EXPECT_TRUE(std::filesystem::exists(file.get<std::string>())) << file;
}

TEST(Command, ExportWritesOnlyTheFormatsAskedFor) {
  Scratch scratch;
  const std::string out = scratch.path().string() + "/tables";
  ASSERT_EQ(Shell(scratch, kNpuprof + " export " + kGolden + " --format csv --output " + out).status, 0);
  size_t csv = 0;
  for (const auto& file : std::filesystem::directory_iterator(out)) {
    EXPECT_NE(file.path().extension(), ".json");
    csv += file.path().extension() == ".csv";
  }
  EXPECT_GE(csv, 4u);
}

TEST(Command, WithoutManifestLossesAreSaidToBeUnknownAndNothingIsMarkedAsSimulated) {
  Scratch scratch;
  for (const std::string& arguments :
       {"info " + kGolden, "export " + kGolden + " --output " + scratch.path().string()}) {
    const Finished run = Shell(scratch, kNpuprof + " " + arguments);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("losses unknown"), std::string::npos) << run.out;
    EXPECT_EQ(run.out.find("simulated"), std::string::npos) << run.out;
  }
  const Finished run =
      Shell(scratch, kNpuprof + " export --json " + kGolden + " --output " + scratch.path().string());
  EXPECT_EQ(nlohmann::json::parse(run.out)["losses_known"], false);
}

TEST(Command, InfoAsJsonDescribesDevicesAndFiles) {
  Scratch scratch;
  const Finished run = Shell(scratch, kNpuprof + " info --json " + kGolden);
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["devices"][0]["cube_cores"], 24);
  EXPECT_EQ(json["devices"][0]["cube_metrics"], "PipeUtilization");
  EXPECT_EQ(json["warnings"], nlohmann::json::array());
  bool found = false;
  for (const auto& file : json["files"]) {
    if (file["path"] != "device_0/data/stars_soc.data.0") continue;
    found = true;
    EXPECT_EQ(file["records"], 100);
    EXPECT_EQ(file["bytes"], 6400);
  }
  EXPECT_TRUE(found);
}

TEST(Command, InfoShowsTheManifestBetweenTwoMarks) {
  Scratch scratch;
  const auto copy = scratch.path() / kName;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) {
    if (entry.path().filename().string().starts_with("PROF_")) {
      std::filesystem::copy(entry.path(), copy, std::filesystem::copy_options::recursive);
    }
  }
  scratch.Write(std::string(kName) + "/npuprof/manifest.json", kManifest);
  const Finished run = Shell(scratch, kNpuprof + " info " + copy.string());
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string first = run.out.substr(0, run.out.find('\n'));
  EXPECT_EQ(first.substr(0, 9), "simulated");
  EXPECT_EQ(run.out.substr(run.out.size() - first.size() - 1), first + "\n");
  for (const char* text :
       {"./infer a b", "acl-api,task-time,metrics", "uring (default)",
        "kept at least 157 records, lost at least 10", "warning: look here", "task_log", "cube 3",
        "ring_full 5", "api_event", "incomplete",
        "npuprof 0.1.0, driver interface 0.7, record formats 3, file formats 9.0.0, runtime npusim 0.1.9",
        "device 0: some NPU, driver npusim 0.1.9, interface 0.6, record formats 3", "4711", "1.0 ms",
        "2.0 ms"}) {
    EXPECT_NE(run.out.find(text), std::string::npos) << text << " in\n" << run.out;
  }
  EXPECT_EQ(run.out.find("look here"), run.out.rfind("look here")) << "said once";
}

TEST(Command, InterruptedExportLeavesNothingBehindAndSaysSoByItsStatus) {
  const struct {
    const char* name;
    int status;
  } kSignals[] = {{"INT", 130}, {"TERM", 143}, {"HUP", 129}};
  for (const auto& signal : kSignals) {
    Scratch scratch;
    std::filesystem::copy(kGoldenMin, scratch.path() / "in", std::filesystem::copy_options::recursive);
    const std::filesystem::path prof = scratch.path() / "in/PROF_000001_20260101000000123_00012345ABCDEFGH";
    // Counter records have no magic number: this many zeros keep the export busy for hours.
    const std::filesystem::path counters = prof / "device_0/data/ffts_profile.data.0.slice_0";
    ASSERT_TRUE(std::filesystem::exists(counters));
    std::filesystem::permissions(counters, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::filesystem::resize_file(counters, uint64_t{1} << 40);
    const std::string out = scratch.path().string() + "/out";
    // A shell has the programs in its background ignore SIGINT.
    const Finished run =
        Shell(scratch, "env --default-signal=INT " + kNpuprof + " export --output " + out + " " +
                           prof.string() + " & until ls " + out +
                           "/*.part >/dev/null 2>&1; do kill -0 $! || exit 99; sleep 0.02; done; kill -s " +
                           signal.name + " $!; wait $!");
    EXPECT_EQ(run.status, signal.status) << run.err;
    EXPECT_EQ(run.err, std::string("npuprof: interrupted by SIG") + signal.name +
                           "; nothing of the export was kept\n");
    EXPECT_FALSE(std::filesystem::exists(out)) << signal.name;
  }
}

TEST(Command, DevicesOfTheSimulatedRuntimeAreShownAndOthersRefused) {
  Scratch scratch;
  const Finished run = Shell(scratch, "NPUSIM_DEVICES=3 " + kNpuprof + " info --device --json");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["devices"].size(), 3u);
  EXPECT_EQ(json["devices"][2]["id"], 2);
  EXPECT_EQ(json["devices"][2]["simulated"], true);
  EXPECT_EQ(json["devices"][2]["counters"], 8);
  const Finished refused = Shell(scratch, "NPUPROF_DEVICE=hal " + kNpuprof + " info --device");
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
}

}  // namespace
}  // namespace npuprof::cli
