// SPDX-License-Identifier: Apache-2.0
#include "npuprof/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "npuprof/error.h"
#include "npuprof/patience.h"
#include "scratch.h"

namespace npuprof::cli {
namespace {

TEST(ManifestOf, SumsRecordsAndLossesOfDevicesAndHost) {
  Scratch scratch;
  scratch.Write("npuprof/manifest.json", kManifest);
  const auto manifest = Manifest::Read(scratch.path());
  ASSERT_TRUE(manifest);
  EXPECT_TRUE(manifest->simulated());
  EXPECT_FALSE(manifest->complete());
  EXPECT_EQ(manifest->pid(), 42u);
  EXPECT_EQ(manifest->command(), "./infer a b");
  EXPECT_EQ(manifest->begin_realtime_us(), 1700000000000000u);
  EXPECT_EQ(manifest->window_ns(), 2500000u);
  EXPECT_EQ(manifest->devices(), 1u);
  EXPECT_EQ(manifest->kept(), 100u + 7 + 50);
  EXPECT_EQ(manifest->lost(), 5u + 2 + 3);
  const std::map<std::string, uint64_t> causes = {
      {"device.ring_full", 5}, {"device.fifo_overflow", 2}, {"host.ring_full", 3}};
  EXPECT_EQ(manifest->lost_by_cause(), causes);
  EXPECT_EQ(manifest->complaints(), std::vector<std::string>{"warning: look here"});
  EXPECT_EQ(LossLine(*manifest),
            "kept at least 157 records, lost at least 10 (device.fifo_overflow 2, device.ring_full 5, "
            "host.ring_full 3)");
}

TEST(ManifestOf, OnlyAClosedRunClaimsToKnowItsLosses) {
  Scratch scratch;
  std::string closed = kManifest;
  closed.replace(closed.find("\"complete\":false"), 16, "\"complete\":true");
  scratch.Write("npuprof/manifest.json", closed);
  EXPECT_EQ(LossLine(*Manifest::Read(scratch.path())),
            "kept 157 records, lost 10 (device.fifo_overflow 2, device.ring_full 5, host.ring_full 3)");
}

TEST(ManifestOf, OpenWindowHasNoLength) {
  Scratch scratch;
  scratch.Write("npuprof/manifest.json", R"({"simulated":false,"complete":false,
    "window":{"begin_realtime_us":1,"begin_monotonic_raw_ns":1000,"end_monotonic_raw_ns":0}})");
  EXPECT_FALSE(Manifest::Read(scratch.path())->window_ns());
}

TEST(ManifestOf, AbsentIsNothingAndBrokenIsAnErrorThatNamesTheFile) {
  Scratch scratch;
  EXPECT_FALSE(Manifest::Read(scratch.path()));
  for (const char* broken : {"", "{", "[]", "{}", R"({"simulated":1,"complete":true,"window":{}})"}) {
    scratch.Write("npuprof/manifest.json", broken);
    try {
      Manifest::Read(scratch.path());
      ADD_FAILURE() << "accepted: " << broken;
    } catch (const Error& e) {
      EXPECT_EQ(e.status, kFailure);
      EXPECT_NE(std::string(e.what()).find("npuprof/manifest.json' is no manifest"), std::string::npos)
          << e.what();
    }
  }
}

TEST(Patience, IsStagingAtTheRateAndThenTheRingThatFillsFirst) {
  const auto manifest = nlohmann::json::parse(R"({
    "window": {"begin_monotonic_raw_ns": 1000000000, "end_monotonic_raw_ns": 11000000000},
    "drain": {"staging_bytes": 80000000, "staging_holds_bytes": 64000000, "bytes_per_second": 8000000},
    "devices": [{"id": 0, "rings": [{"channel": "task_log", "slots": 4000, "records": 20000},
                                    {"channel": "task_pmu", "slots": 1000, "records": 10000},
                                    {"channel": "idle", "slots": 1, "records": 0}]}]})");
  const auto patience = PatienceOf(manifest);
  ASSERT_TRUE(patience);
  EXPECT_DOUBLE_EQ(patience->staging_seconds, 8);
  EXPECT_DOUBLE_EQ(patience->ring_seconds, 1);
  EXPECT_EQ(
      patience->Text(),
      "76.3 MiB of staging hold 8.0 s at 7.6 MiB a second, then rings 1.0 s more (task_pmu of device 0)");
  EXPECT_FALSE(PatienceOf(nlohmann::json::parse(kManifest))) << "a manifest that does not tell";
}

}  // namespace
}  // namespace npuprof::cli
