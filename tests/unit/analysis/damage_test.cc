// SPDX-License-Identifier: Apache-2.0
// Bad input: it costs what is broken, is reported where it is, and never crashes or hangs.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "analysis/export.h"
#include "csv.h"
#include "prof_builder.h"

namespace npuprof::test {
namespace {
namespace fs = std::filesystem;
using analysis::Error;
using analysis::ExportResult;
using analysis::Profile;
using analysis::Warning;

const fs::path kGolden = fs::path(NPUPROF_TEST_DATA) / "golden";
const char* const kTaskLog = "device_0/data/stars_soc.data.0.slice_0";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const fs::path& path, const std::string& bytes) {
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.flush()) << path;
}

fs::path CopyGolden(const std::string& set, const fs::path& to) {
  const fs::path from = Profile::Open(kGolden / set).path();
  fs::copy(from, to / from.filename(), fs::copy_options::recursive);
  return to / from.filename();
}

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Warning* FindWarning(const std::vector<Warning>& warnings, const std::string& file,
                           const std::string& text) {
  const auto it = std::find_if(warnings.begin(), warnings.end(), [&](const Warning& w) {
    return Contains(w.file, file) && Contains(w.text, text);
  });
  return it == warnings.end() ? nullptr : &*it;
}

// A directory of 20 operators, and what an export of it gives after a change.
class Damage : public testing::Test {
 protected:
  static constexpr uint64_t kTasks = 20;

  void SetUp() override {
    ProfBuilder builder(directory_.path());
    for (uint64_t i = 0; i < kTasks; ++i) {
      const uint64_t at = 10'000 + i * 10'000;
      builder.Operator(100, 3, static_cast<uint16_t>(i), at, at + 2'000, at + 6'000,
                       "Op_" + std::to_string(i));
    }
    builder.Close();
    prof_ = builder.path();
  }

  ExportResult Export() {
    TemporaryDirectory out;
    analysis::ExportOptions options;
    options.output = out.path();
    return analysis::Export(Profile::Open(prof_), options);
  }

  TemporaryDirectory directory_;
  fs::path prof_;
};

TEST_F(Damage, WithoutDamageEveryTaskIsARow) {
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.rows.at("op_summary"), kTasks);
  EXPECT_EQ(result.broken_records, 0u);
  EXPECT_TRUE(result.warnings.empty()) << result.warnings.front().Line();
}

TEST_F(Damage, TornLastRecordCostsItselfOnly) {
  const std::string log = ReadFile(prof_ / kTaskLog);
  WriteFile(prof_ / kTaskLog, log.substr(0, log.size() - 10));
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks - 1);
  EXPECT_EQ(result.broken_records, 1u);
  EXPECT_EQ(result.devices.at(0).unpaired, 1u);
  const Warning* warning = FindWarning(result.warnings, kTaskLog, "torn record");
  ASSERT_NE(warning, nullptr);
  EXPECT_EQ(warning->offset, (2 * kTasks - 1) * 64);
}

TEST_F(Damage, WrongMagicCostsOneRecordAndIsReportedWithItsPlace) {
  std::string log = ReadFile(prof_ / kTaskLog);
  log[5 * 64 + 2] ^= 0x40;
  WriteFile(prof_ / kTaskLog, log);
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks - 1);
  EXPECT_EQ(result.broken_records, 1u);
  const Warning* warning = FindWarning(result.warnings, kTaskLog, "magic");
  ASSERT_NE(warning, nullptr);
  EXPECT_EQ(warning->offset, 5 * 64u);
  EXPECT_EQ(warning->count, 1u);
}

TEST_F(Damage, BytesMissingInTheMiddleCostTheRecordsAroundThemOnly) {
  std::string log = ReadFile(prof_ / kTaskLog);
  log.erase(10 * 64 + 20, 30);  // inside the start record of task 5
  WriteFile(prof_ / kTaskLog, log);
  const auto result = Export();
  EXPECT_GE(result.rows.at("task_time"), kTasks - 2);
  EXPECT_LE(result.rows.at("task_time"), kTasks - 1);
  EXPECT_GE(result.broken_records, 1u);
}

TEST_F(Damage, UnusedSpaceAtTheEndGivesNoRows) {
  for (const char* file : {kTaskLog, "host/data/aging.compact.task_track.slice_0"}) {
    WriteFile(prof_ / file, ReadFile(prof_ / file) + std::string(64 * 100, '\0'));
  }
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.broken_records, 0u);
  ASSERT_NE(FindWarning(result.warnings, kTaskLog, "unused space"), nullptr);
}

TEST_F(Damage, SparseFileOfATerabyteCostsNeitherMemoryNorTime) {
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  const uint64_t used = fs::file_size(prof_ / kTaskLog);
  fs::resize_file(prof_ / kTaskLog, kBytes);
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.broken_records, 0u);
  const Warning* unused = FindWarning(result.warnings, kTaskLog, "unused space");
  ASSERT_NE(unused, nullptr);
  EXPECT_EQ(unused->offset, used);
  EXPECT_EQ(unused->count, (kBytes - used) / 64);
}

TEST_F(Damage, RecordsBehindAHoleAreReadAtTheirPlace) {
  const fs::path log = prof_ / kTaskLog;
  const std::string records = ReadFile(log);
  // Blocks of a file system are not multiples of a record; the second half begins in the middle of one.
  constexpr uint64_t kHole = 64 * 1'000'001;
  const size_t half = records.size() / 128 * 64;
  fs::resize_file(log, half);
  fs::resize_file(log, half + kHole);
  std::ofstream(log, std::ios::binary | std::ios::app)
      .write(records.data() + half, static_cast<std::streamsize>(records.size() - half));
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.broken_records, 0u);
  const Warning* unused = FindWarning(result.warnings, kTaskLog, "unused space");
  ASSERT_NE(unused, nullptr);
  EXPECT_EQ(unused->count, kHole / 64);
}

TEST_F(Damage, ExportThatIsToStopLeavesNothingBehind) {
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  uint64_t most = 0;
  options.check = [&] { ++most; };
  analysis::Export(Profile::Open(prof_), options);
  ASSERT_GT(most, kTasks);
  for (uint64_t stop = 1; stop <= most; ++stop) {
    TemporaryDirectory other;
    uint64_t checks = 0;
    options.output = other.path();
    options.check = [&] {
      if (++checks == stop) throw Error("enough");
    };
    EXPECT_EQ(ErrorOf([&] { analysis::Export(Profile::Open(prof_), options); }), "enough");
    EXPECT_TRUE(fs::is_empty(other.path())) << "stopped at check " << stop;
  }
}

TEST_F(Damage, ShortMemoryIsSaidWithTheLargestFileAndItsSize) {
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  options.check = [] { throw std::bad_alloc(); };
  const std::string error = ErrorOf([&] { analysis::Export(Profile::Open(prof_), options); });
  EXPECT_TRUE(Contains(error, "memory is short")) << error;
  EXPECT_TRUE(Contains(error, prof_.string())) << error;
  EXPECT_TRUE(Contains(error, ".slice_0 with ")) << error;
  EXPECT_TRUE(fs::is_empty(out.path()));
}

TEST_F(Damage, UnknownLevelCostsTheRecordOnly) {
  const char* file = "host/data/aging.api_event.data.slice_0";
  std::string apis = ReadFile(prof_ / file);
  apis[40 * 3 + 2] = 7;
  apis[40 * 3 + 3] = 7;
  WriteFile(prof_ / file, apis);
  const auto result = Export();
  EXPECT_EQ(result.broken_records, 1u);
  const Warning* warning = FindWarning(result.warnings, file, "unknown level 1799");
  ASSERT_NE(warning, nullptr);
  EXPECT_EQ(warning->offset, 120u);
  EXPECT_EQ(result.rows.at("op_summary"), kTasks);
}

TEST_F(Damage, SlicesAreReadInTheOrderOfTheirNumbersAndMayCutRecords) {
  const auto split = [&](const std::string& base, size_t piece) {
    const std::string bytes = ReadFile(prof_ / (base + ".slice_0"));
    fs::remove(prof_ / (base + ".slice_0"));
    size_t number = 0;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      std::ofstream(prof_ / (base + ".slice_" + std::to_string(number++)), std::ios::binary)
          << bytes.substr(at, piece);
    }
    EXPECT_GT(number, 10u) << "slice_10 has to follow slice_9";
  };
  split("device_0/data/stars_soc.data.0", 100);
  split("device_0/data/ffts_profile.data.0", 200);
  split("host/data/aging.api_event.data", 97);
  split("host/data/aging.compact.task_track", 33);
  const auto result = Export();
  EXPECT_EQ(result.broken_records, 0u);
  EXPECT_EQ(result.rows.at("op_summary"), kTasks);
  EXPECT_EQ(result.devices.at(0).pmu_matched, kTasks);
}

TEST_F(Damage, FrontRemovedForWantOfSpaceStartsAtTheNextWholeRecord) {
  const std::string log = ReadFile(prof_ / kTaskLog);
  fs::remove(prof_ / kTaskLog);
  std::ofstream(prof_ / "device_0/data/stars_soc.data.0.slice_4", std::ios::binary)
      << log.substr(64 * 6 + 24);
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks - 4);  // the record cut in two started task 3
}

TEST_F(Damage, LostTrackLeavesTheTaskWithoutItsOperator) {
  const char* file = "host/data/aging.compact.task_track.slice_0";
  std::string tracks = ReadFile(prof_ / file);
  tracks.erase(64 * 4, 64);
  WriteFile(prof_ / file, tracks);
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_EQ(result.rows.at("op_summary"), kTasks - 1);
}

TEST_F(Damage, MixedOperatorWithoutOneBlockHasUnknownCountersOfThatKindOnly) {
  TemporaryDirectory golden;
  const fs::path prof = CopyGolden("min", golden.path());
  const fs::path file = prof / "device_0/data/ffts_profile.data.0.slice_0";
  std::string records = ReadFile(file);
  records.erase(128 * 3, 128);  // a block of the first mixed operator: stream 3, task 2
  WriteFile(file, records);
  TemporaryDirectory out;
  analysis::ExportOptions options;
  options.output = out.path();
  analysis::Export(Profile::Open(prof), options);
  const Csv table = ReadCsv(FindExport(out.path(), "op_summary"));
  size_t mixed = 0, unknown = 0;
  for (const auto& row : table.rows) {
    if (row.at("Task Type") != "MIX_AIC") continue;
    ++mixed;
    EXPECT_NE(row.at("aic_total_cycles"), "N/A");
    EXPECT_EQ(row.at("aiv_total_cycles") == "N/A", row.at("Task ID") == "2") << row.at("Task ID");
    EXPECT_EQ(row.at("aiv_vec_ratio") == "N/A", row.at("Task ID") == "2") << row.at("Task ID");
    unknown += row.at("aiv_total_cycles") == "N/A";
  }
  EXPECT_EQ(mixed, 10u);
  EXPECT_EQ(unknown, 1u);
}

TEST_F(Damage, MissingPartsAreNamedAndTheRestIsExported) {
  fs::remove(prof_ / "host/host_start.log");
  const auto result = Export();
  EXPECT_EQ(result.rows.at("task_time"), kTasks);
  EXPECT_FALSE(result.rows.contains("op_summary"));
  ASSERT_NE(FindWarning(result.warnings, "host", "host_start.log"), nullptr);
}

TEST_F(Damage, DataThatCannotBeListedIsNamedAndTheRestIsExported) {
  // Root may read whatever has no right to be read, so something else is in the way.
  fs::remove_all(prof_ / "device_0/data");
  std::ofstream(prof_ / "device_0/data") << "no directory";
  const auto result = Export();
  EXPECT_NE(FindWarning(result.warnings, "device_0/data", "cannot be read: Not a directory"), nullptr);
  EXPECT_EQ(result.rows.count("task_time"), 0u);
  EXPECT_GT(result.rows.at("api_statistic"), 0u);
}

TEST_F(Damage, EachMissingKeyIsNamedWithItsFile) {
  const std::vector<std::pair<std::string, std::string>> keys = {
      {"host/info.json", "platform_version"},         {"host/start_info", "collectionTimeBegin"},
      {"host/start_info", "clockMonotonicRaw"},       {"host/host_start.log", "cntvct_diff"},
      {"device_0/info.json.0", "hwts_frequency"},     {"device_0/info.json.0", "ai_core_num"},
      {"device_0/start_info.0", "clockMonotonicRaw"}, {"device_0/dev_start.log.0", "cntvct"}};
  for (const auto& [file, key] : keys) {
    const std::string text = ReadFile(prof_ / file);
    std::string changed = text;
    const size_t at = changed.find(key);
    ASSERT_NE(at, std::string::npos) << file << " " << key;
    changed.replace(at, key.size(), std::string(key.size(), 'x'));
    WriteFile(prof_ / file, changed);
    const auto profile = Profile::Open(prof_);
    const Warning* warning = FindWarning(profile.warnings(), file.substr(0, file.find('/')), key);
    ASSERT_NE(warning, nullptr) << file << " " << key;
    EXPECT_TRUE(Contains(warning->text, fs::path(file).filename().string())) << warning->Line();
    WriteFile(prof_ / file, text);
  }
}

TEST_F(Damage, WithoutAnyUsablePartTheFirstReasonIsTheError) {
  WriteFile(prof_ / "host/info.json", "{\"platform_version\":\"1\"}");
  WriteFile(prof_ / "device_0/info.json.0", "no json");
  const std::string error = ErrorOf([&] { Profile::Open(prof_); });
  EXPECT_TRUE(Contains(error, "info.json: platform_version is \"1\"; this version reads \"5\"")) << error;
}

TEST_F(Damage, BadDirectoriesAreRefusedWithOneSentence) {
  const fs::path base = directory_.path();
  EXPECT_TRUE(Contains(ErrorOf([&] { Profile::Open(base / "absent"); }), "does not exist"));
  std::ofstream(base / "file") << "x";
  EXPECT_TRUE(Contains(ErrorOf([&] { Profile::Open(base / "file"); }), "is no directory"));
  fs::create_directory(base / "empty");
  EXPECT_TRUE(Contains(ErrorOf([&] { Profile::Open(base / "empty"); }), "is no PROF directory"));
  fs::copy(prof_, base / "PROF_second", fs::copy_options::recursive);
  const std::string several = ErrorOf([&] { Profile::Open(base); });
  EXPECT_TRUE(Contains(several, "holds 2 PROF directories")) << several;
  const std::string example = several.substr(several.rfind(' ') + 1);
  EXPECT_EQ(ErrorOf([&] { Profile::Open(example); }), "no error")
      << "the example can be used as it stands: " << example;
  EXPECT_EQ(Profile::Find(base).size(), 2u);
}

TEST_F(Damage, BadOptionsAreRefusedBeforeAnythingIsWritten) {
  const auto profile = Profile::Open(prof_);
  const auto error = [&](const std::function<void(analysis::ExportOptions*)>& change) {
    analysis::ExportOptions options;
    options.output = directory_.path() / "out";
    change(&options);
    return ErrorOf([&] { analysis::Export(profile, options); });
  };
  EXPECT_TRUE(Contains(error([](auto* o) { o->formats = {"xlsx"}; }),
                       "unknown format 'xlsx'; known are csv, json, perfetto"));
  EXPECT_TRUE(
      Contains(error([](auto* o) { o->tables = {"op"}; }), "unknown table 'op'; known are op_summary"));
  EXPECT_FALSE(fs::exists(directory_.path() / "out"));
  EXPECT_TRUE(Contains(error([](auto* o) { o->timestamp = "now"; }), "14 digits"));
  EXPECT_TRUE(Contains(error([](auto* o) { o->output = "/proc/no/where"; }), "cannot be created"));
}

TEST_F(Damage, AnEarlierExportIsNotOverwritten) {
  const auto profile = Profile::Open(prof_);
  analysis::ExportOptions options;
  options.output = directory_.path() / "out";
  const auto first = analysis::Export(profile, options);
  const auto second = analysis::Export(profile, options);
  for (const auto& file : first.files) {
    EXPECT_TRUE(fs::exists(file));
    if (file.filename() == "README.txt") continue;
    EXPECT_EQ(std::count(second.files.begin(), second.files.end(), file), 0);
  }
}

// Flips, cuts and shifts bytes of every file; whatever comes out, the process has to survive and to end.
void Mutate(const std::string& set, uint32_t seed, int rounds) {
  TemporaryDirectory directory;
  const fs::path prof = CopyGolden(set, directory.path());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(prof)) {
    if (entry.is_regular_file() && entry.path().extension() != ".done" && entry.file_size() > 0) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 15u);
  std::mt19937 random(seed);
  const auto below = [&](size_t limit) { return limit == 0 ? 0 : random() % limit; };
  const fs::path out = directory.path() / "out";
  int exported = 0, refused = 0, damaged = 0;
  for (int round = 0; round < rounds; ++round) {
    const fs::path& file = files[below(files.size())];
    const std::string original = ReadFile(file);
    std::string bytes = original;
    switch (below(4)) {
      case 0:
        bytes.resize(below(bytes.size()));
        break;
      case 1:
        bytes.erase(below(bytes.size()), 1 + below(100));
        break;
      case 2:
        bytes.insert(below(bytes.size()), 1 + below(100), static_cast<char>(random()));
        break;
      default:
        for (size_t i = 0, flips = 1 + below(50); i < flips; ++i) {
          bytes[below(bytes.size())] = static_cast<char>(below(3) == 0 ? 0xff : random());
        }
    }
    WriteFile(file, bytes);
    try {
      analysis::ExportOptions options;
      options.output = out;
      const auto result = analysis::Export(Profile::Open(prof), options);
      ++exported;
      damaged += result.broken_records > 0;
    } catch (const Error& error) {
      ++refused;
      EXPECT_STRNE(error.what(), "");
    }
    fs::remove_all(out);
    WriteFile(file, original);
  }
  EXPECT_GT(exported, rounds / 2);
  EXPECT_GT(damaged, rounds / 20) << "mutations that nothing notices prove nothing";
  EXPECT_EQ(exported + refused, rounds);
}

TEST(Mutation, OneDevice) {
  Mutate("min", 1, 1500);
}
TEST(Mutation, EveryKind) {
  Mutate("full", 2, 500);
}
TEST(Mutation, WrappedIds) {
  Mutate("wrap", 3, 500);
}
TEST(Mutation, TwoDevices) {
  Mutate("multi", 4, 1000);
}

}  // namespace
}  // namespace npuprof::test
