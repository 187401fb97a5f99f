// SPDX-License-Identifier: Apache-2.0
// record: what the profiled program sees, and what npuprof says and returns afterwards.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "scratch.h"

namespace npuprof::cli {
namespace {

const std::string kNpuprof = NPUPROF_COMMAND;

std::string Record(const Scratch& scratch, const std::string& options, const std::string& program) {
  return kNpuprof + " record -o " + scratch.path().string() + "/out " + options + " -- " + program;
}

// Stands in for a program with libaclprof: leaves one directory with a manifest where it is told to.
std::string WritesAProfile(const Scratch& scratch) {
  const auto manifest = scratch.Write("manifest.json", kManifest);
  const auto program = scratch.Write("program",
                                     "d=$NPUPROF_RECORD_DIR/PROF_000001_20240101000000000_00000042ABCDEFGH\n"
                                     "mkdir -p $d/npuprof $d/host; echo '{}' >$d/host/info.json\n"
                                     "cp " +
                                         manifest.string() + " $d/npuprof/\n");
  return "sh " + program.string();
}

TEST(Record, ExitStatusIsPassedOn) {
  Scratch scratch;
  for (const int status : {0, 1, 2, 3, 77, 255}) {
    EXPECT_EQ(Shell(scratch, Record(scratch, "", "sh -c 'exit " + std::to_string(status) + "'")).status,
              status);
  }
}

TEST(Record, DeathBySignalIsPassedOn) {
  Scratch scratch;
  // The shell that runs npuprof sees npuprof die from the program's signal.
  const Finished run = Shell(scratch, Record(scratch, "", "sh -c 'kill -SEGV $$'") + "; echo $?");
  EXPECT_EQ(run.out, std::to_string(128 + SIGSEGV) + "\n");
}

TEST(Record, ArgumentsAndStreamsOfTheProgramAreUntouched) {
  Scratch scratch;
  const Finished run = Shell(
      scratch, "echo in | " + Record(scratch, "", "sh -c 'cat; printf %s, \"$@\"' x --help -- 'a b' ''"));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "in\n--help,--,a b,,");
}

TEST(Record, ProgramSeesTheRequestInItsEnvironment) {
  Scratch scratch;
  const Finished run = Shell(
      scratch, Record(scratch, "--data-types acl-api,task-time --metrics memory --devices 1,0 --host cpu,mem",
                      "sh -c 'env | grep ^NPUPROF_RECORD_ | grep -v _NOTES= | sort'"));
  EXPECT_EQ(
      run.out,
      "NPUPROF_RECORD_DEVICES=0,1\nNPUPROF_RECORD_DIR=" + scratch.path().string() +
          "/out\nNPUPROF_RECORD_HOST=cpu,mem\nNPUPROF_RECORD_METRICS=Memory\nNPUPROF_RECORD_TYPES=0x3\n");
}

TEST(Record, EverySettingReachesTheProgram) {
  Scratch scratch;
  const Finished run = Shell(
      scratch,
      Record(
          scratch,
          "--storage-limit 500MB --memory-freq 50 --llc-mode write --network-freq 20 --link-freq 10 "
          "--dvpp-freq 5 "
          "--system mem --host-freq 25 --service-flow a --host cpu,disk,network --delay 1.5 --duration 100ms "
          "--metrics Custom:8,icache_misses --data-types api-stats,op-attr --mstx-domain-exclude io,net",
          "sh -c 'env | grep ^NPUPROF_RECORD_ | grep -v -e _DIR= -e _NOTES= | sort'"));
  EXPECT_EQ(
      run.out,
      "NPUPROF_RECORD_DELAY_MS=1500\nNPUPROF_RECORD_DEVICES=all\nNPUPROF_RECORD_DURATION_MS=100\n"
      "NPUPROF_RECORD_HOST=cpu,disk,network\nNPUPROF_RECORD_METRICS=Custom:0x8,0x55\nNPUPROF_RECORD_MSTX_"
      "EXCLUDE=io,net\nNPUPROF_RECORD_SETTINGS="
      "ACL_PROF_STORAGE_LIMIT=500MB;ACL_PROF_SYS_HARDWARE_MEM_FREQ=50;ACL_PROF_LLC_MODE=write;"
      "ACL_PROF_SYS_IO_FREQ=20;ACL_PROF_SYS_INTERCONNECTION_FREQ=10;ACL_PROF_DVPP_FREQ=5;ACL_PROF_HOST_SYS_"
      "USAGE=mem;"
      "ACL_PROF_HOST_SYS_USAGE_FREQ=25;ACL_PROF_SYS_MEM_SERVICEFLOW=a\nNPUPROF_RECORD_TYPES=0x400004000\n")
      << run.err;
}

TEST(Record, DomainsAreIncludedOrExcludedNotBoth) {
  Scratch scratch;
  const std::string program = "sh -c 'env | grep ^NPUPROF_RECORD_MSTX'";
  EXPECT_EQ(Shell(scratch, Record(scratch, "--mstx-domain-include default,io", program)).out,
            "NPUPROF_RECORD_MSTX_INCLUDE=default,io\n");
  const Finished both =
      Shell(scratch, Record(scratch, "--mstx-domain-include a --mstx-domain-exclude b", program));
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("--mstx-domain-include"), std::string::npos) << both.err;
}

TEST(Record, SettingsAreJudgedBeforeTheProgramRuns) {
  Scratch scratch;
  const std::pair<const char*, const char*> cases[] = {
      {"--memory-freq 101", "--memory-freq is '101'; allowed is an integer from 1 to 100"},
      {"--link-freq 51", "--link-freq is '51'; allowed is an integer from 1 to 50"},
      {"--storage-limit 100MB", "--storage-limit is '100MB'; allowed is <n>MB with n from 200"},
      {"--llc-mode both", "--llc-mode is 'both'; allowed is one of read,write"},
      {"--system disk", "--system is 'disk'; allowed is a comma list of cpu,mem"},
      {"--host gpu", "--host is 'gpu'; allowed is a comma list of cpu,mem,disk,network"},
      {"--service-flow 'a;b'", "--service-flow is 'a;b'; it cannot hold ';'"},
      {"--delay x", "--delay is 'x'; allowed are 1ms to"},
      {"--duration 0", "--duration is '0'; allowed are 1ms to"},
      {"--metrics Custom:x", "'x' in 'Custom:x' is no event"}};
  for (const auto& [option, sentence] : cases) {
    const Finished run = Shell(scratch, Record(scratch, option, "touch " + scratch.path().string() + "/ran"));
    EXPECT_EQ(run.status, 2) << option;
    EXPECT_NE(run.err.find(sentence), std::string::npos) << option << ": " << run.err;
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "ran"));
}

TEST(Record, NotesOfTheProgramAreShownAndTheirFileIsGone) {
  Scratch scratch;
  const std::string program =
      "sh -c 'echo own /there/PROF_1 >>$NPUPROF_RECORD_NOTES; echo early >>$NPUPROF_RECORD_NOTES; echo "
      "$NPUPROF_RECORD_NOTES'";
  const Finished run = Shell(scratch, Record(scratch, "", program));
  EXPECT_NE(run.err.find("the program profiled itself; its session is in /there/PROF_1\n"), std::string::npos)
      << run.err;
  EXPECT_NE(run.err.find("the program ended before the delay had passed\n"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("no PROF_* directory"), std::string::npos) << "the notes say why: " << run.err;
  ASSERT_GT(run.out.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(run.out.substr(0, run.out.size() - 1)));
}

TEST(Record, ProcessesThatCannotBeAttachedToAreExplained) {
  Scratch scratch;
  const std::pair<const char*, const char*> cases[] = {
      {"--pid 2147483647 --status", "cannot attach to process 2147483647: it does not exist"},
      {"--pid $$ --status", ": it has not loaded libaclprof"},
      {"--pid $$ --stop", ": it has not loaded libaclprof"},
      {"--pid $$", ": it has not loaded libaclprof"}};
  for (const auto& [options, words] : cases) {
    const Finished run =
        Shell(scratch, kNpuprof + " record -o " + scratch.path().string() + "/out " + options);
    EXPECT_EQ(run.status, 1) << options;
    EXPECT_NE(run.err.find(words), std::string::npos) << options << ": " << run.err;
  }
}

TEST(Attach, AProcessThatHasOnlyLoadedTheLibraryIsSpokenOf) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a plain program cannot load a library with sanitizers";
#endif
  Scratch scratch;
  const auto ask = [&](const std::string& setting, const std::string& verb) {
    return Shell(scratch, setting + " LD_PRELOAD=" + std::string(NPUPROF_LIBRARY) +
                              " sleep 60 & until grep -q libaclprof /proc/$!/maps; do sleep 0.02; done\n" +
                              kNpuprof + " record --pid $! " + verb + "; status=$?; kill $!; exit $status");
  };
  const Finished status = ask("", "--status");
  EXPECT_EQ(status.status, 0);
  EXPECT_NE(status.out.find("is not recorded; it has not used a runtime yet"), std::string::npos)
      << status.err;
  const Finished stop = ask("", "--stop");
  EXPECT_EQ(stop.status, 1);
  EXPECT_NE(stop.err.find("it has libaclprof, but it has not used a runtime yet"), std::string::npos)
      << stop.err;
  const Finished hidden = ask("NPUPROF_ATTACH=off", "--status");
  EXPECT_EQ(hidden.status, 1);
  EXPECT_NE(hidden.err.find("it was started with NPUPROF_ATTACH=off"), std::string::npos) << hidden.err;
}

TEST(Record, UnaskedHostDataIsNotInTheEnvironmentEvenIfItWasBefore) {
  Scratch scratch;
  const Finished run = Shell(
      scratch, "NPUPROF_RECORD_HOST=cpu " + Record(scratch, "", "sh -c 'echo ${NPUPROF_RECORD_HOST-unset}'"));
  EXPECT_EQ(run.out, "unset\n");
}

TEST(Record, SignalsSentToNpuprofReachTheProgram) {
  Scratch scratch;
  for (const char* name : {"INT", "TERM", "HUP", "QUIT", "USR1", "USR2"}) {
    const std::string ready = (scratch.path() / "ready").string();
    std::filesystem::remove(ready);
    const std::string program = "sh -c 'trap \"exit 42\" " + std::string(name) + "; touch " + ready +
                                "; while :; do sleep 0.05; done'";
    // A shell starts background jobs with INT and QUIT ignored, which no trap can undo; env can.
    const Finished run =
        Shell(scratch, "env --default-signal=INT,QUIT " + Record(scratch, "", program) + " & pid=$!\n" +
                           "while ! [ -e " + ready + " ]; do sleep 0.02; done\n" + "kill -" + name +
                           " $pid; wait $pid; echo $?");
    EXPECT_EQ(run.out, "42\n") << name << run.err;
  }
}

TEST(Record, MissingProgramIs127AndOneThatCannotRunIs126) {
  Scratch scratch;
  const Finished missing = Shell(scratch, Record(scratch, "", "./no_such_program"));
  EXPECT_EQ(missing.status, 127);
  EXPECT_NE(missing.err.find("cannot run './no_such_program': No such file"), std::string::npos)
      << missing.err;
  const auto plain = scratch.Write("plain", "text");
  EXPECT_EQ(Shell(scratch, Record(scratch, "", plain.string())).status, 126);
}

TEST(Record, ReportNamesTheDirectoryAndTheLossBetweenTwoMarks) {
  Scratch scratch;
  const Finished run = Shell(scratch, Record(scratch, "", WritesAProfile(scratch)));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "") << "stdout belongs to the program";
  EXPECT_NE(run.err.find("out/PROF_000001_"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("kept at least 157 records, lost at least 10 (device.fifo_overflow 2"),
            std::string::npos)
      << run.err;
  EXPECT_NE(run.err.find("incomplete"), std::string::npos);
  EXPECT_NE(run.err.find("warning: look here"), std::string::npos);
  const std::string first = run.err.substr(0, run.err.find('\n'));
  EXPECT_EQ(first.substr(0, 18), "npuprof: simulated");
  EXPECT_EQ(run.err.substr(run.err.size() - first.size() - 1), first + "\n");
}

TEST(Record, OnlyDirectoriesOfThisRunAreReported) {
  Scratch scratch;
  scratch.Write("out/PROF_000009_20230101000000000_00000001ABCDEFGH/host/info.json", "{}");
  const Finished run = Shell(scratch, Record(scratch, "--json", WritesAProfile(scratch)));
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["directories"].size(), 1u);
  EXPECT_EQ(json["directories"][0]["lost"], 10);
  EXPECT_EQ(json["exit_status"], 0);
}

TEST(Record, ProgramThatWasNotProfiledIsSaidSo) {
  Scratch scratch;
  const Finished run = Shell(scratch, Record(scratch, "", "true"));
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.err.find("no PROF_* directory was written"), std::string::npos) << run.err;
}

TEST(Record, UnwritableDirectoryFailsBeforeTheProgramRuns) {
  Scratch scratch;
  scratch.Write("plain", "text");
  const std::string dir = scratch.path().string();
  const Finished run = Shell(scratch, kNpuprof + " record -o " + dir + "/plain -- touch " + dir + "/ran");
  EXPECT_EQ(run.status, 1);
  EXPECT_FALSE(std::filesystem::exists(dir + "/ran"));
}

}  // namespace
}  // namespace npuprof::cli
