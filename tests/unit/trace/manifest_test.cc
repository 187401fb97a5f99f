// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "support.h"
#include "trace/manifest.h"

namespace npuprof::trace {
namespace {

using nlohmann::json;

std::vector<std::string> Keys(const json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;  // sorted by name
}

TEST(Manifest, KeysAreExactlyTheAgreedOnes) {
  Manifest manifest;
  manifest.versions = {"0.1.0", "0.1", 1, "9.0.0", "npusim 0.1.0"};
  manifest.data_types = 0x807;
  manifest.settings = {{"ACL_PROF_HOST_SYS", "cpu"}};
  Manifest::Device device;
  device.id = 1;
  device.backend = "sim";
  device.rings.push_back({1, "task_log", "none", 0xffff, 1024, 10, 7, 3, {{"ring_full", 3}, {"reset", 0}}});
  device.rings.push_back({2, "hbm", "none", 0xffff, 1024, 10, 10, 0, {}, {20'000'000, 5, 20'000'100, 300}});
  device.gaps.push_back({1, "task_log", 5, 3, 100, 200, "ring_full"});
  device.clock.push_back({1, 2, 3});
  manifest.devices.push_back(device);
  manifest.host.kinds.push_back({"api_event", 5, 0});
  manifest.host.losses.push_back({17, false, "ring_full", 5, 100, 200});
  manifest.host.losses.push_back({UINT32_MAX, true, "no_ring", 1, 300, 300});
  trace::FileReport file;
  file.path = "host/data/x.slice_0";
  file.records = 1;
  file.bytes = 2;
  file.slices = 3;
  manifest.files.push_back(file);
  manifest.messages.push_back({"warning", "text"});
  const json root = json::parse(ToJson(manifest));
  EXPECT_EQ(Keys(root),
            (std::vector<std::string>{"command", "complete", "cost", "data_types", "devices", "drain",
                                      "files", "format", "host", "messages", "npuprof", "pid", "settings",
                                      "simulated", "stopped", "storage", "versions", "window"}));
  EXPECT_EQ(root["storage"], (json{{"limit_bytes", 0}, {"used_bytes", 0}}))
      << "aged only where something was";
  EXPECT_EQ(root["format"], 1);
  EXPECT_EQ(root["npuprof"], "0.1.0");
  EXPECT_EQ(root["versions"], (json{{"library", "0.1.0"},
                                    {"abi", "0.1"},
                                    {"record_formats", 1},
                                    {"file_formats", "9.0.0"},
                                    {"runtime", "npusim 0.1.0"}}));
  EXPECT_EQ(root["data_types"], "0x807");
  EXPECT_EQ(root["settings"], (json{{"ACL_PROF_HOST_SYS", "cpu"}}));
  EXPECT_EQ(root["complete"], false);
  EXPECT_EQ(Keys(root["window"]), (std::vector<std::string>{"begin_monotonic_raw_ns", "begin_realtime_us",
                                                            "end_monotonic_raw_ns"}));
  EXPECT_EQ(Keys(root["drain"]),
            (std::vector<std::string>{"bytes_per_second", "host_ring_bytes", "path", "reason",
                                      "staging_bytes", "staging_holds_bytes", "staging_peak_bytes"}));
  EXPECT_EQ(Keys(root["cost"]), (std::vector<std::string>{"bytes_written", "device_busy_ns", "drain_cpu_ns",
                                                          "start_ns", "stop_ns", "wakeups"}));
  const json& one = root["devices"][0];
  EXPECT_EQ(Keys(one),
            (std::vector<std::string>{"backend", "chip", "clock", "clock_base", "driver", "gaps", "id",
                                      "interruptions", "name", "rings", "simulated", "tasks"}));
  EXPECT_EQ(Keys(one["tasks"]),
            (std::vector<std::string>{"ended", "started", "straddling_start", "straddling_stop"}));
  EXPECT_EQ(Keys(one["driver"]), (std::vector<std::string>{"abi", "busy_ns", "interrupts", "record_formats",
                                                           "register_reads", "register_writes", "version"}));
  EXPECT_EQ(Keys(one["rings"][0]), (std::vector<std::string>{"channel", "core", "core_kind", "kept", "lost",
                                                             "lost_by_cause", "records", "ring", "slots"}));
  EXPECT_EQ(one["rings"][0]["lost_by_cause"], (json{{"ring_full", 3}}))
      << "causes that took nothing are not named";
  EXPECT_EQ(
      one["rings"][1]["sampling"],
      (json{{"period_ns", 20'000'000}, {"samples", 5}, {"mean_ns", 20'000'100}, {"worst_error_ns", 300}}))
      << "only of rings that are sampled";
  EXPECT_EQ(Keys(one["gaps"][0]),
            (std::vector<std::string>{"cause", "channel", "count", "first", "last", "position", "ring"}));
  EXPECT_EQ(Keys(one["clock"][0]), (std::vector<std::string>{"device", "host_ns", "width_ns"}));
  EXPECT_EQ(Keys(root["host"]),
            (std::vector<std::string>{"cycle_hz", "kinds", "losses", "lost_by_cause", "threads"}));
  EXPECT_EQ(root["host"]["losses"], (json{{{"thread", 17},
                                           {"cause", "ring_full"},
                                           {"count", 5},
                                           {"first_monotonic_raw_ns", 100},
                                           {"last_monotonic_raw_ns", 200}},
                                          {{"thread", "others"},
                                           {"cause", "no_ring"},
                                           {"count", 1},
                                           {"first_monotonic_raw_ns", 300},
                                           {"last_monotonic_raw_ns", 300}}}));
  EXPECT_TRUE(root["host"]["lost_by_cause"].is_object());
  EXPECT_EQ(Keys(root["host"]["kinds"][0]), (std::vector<std::string>{"kind", "lost", "records"}));
  EXPECT_EQ(Keys(root["files"][0]), (std::vector<std::string>{"bytes", "path", "records", "slices"}));
  EXPECT_EQ(Keys(root["messages"][0]), (std::vector<std::string>{"severity", "text"}));
}

TEST(Manifest, ReadersSeeAWholeOneWhileItIsRewritten) {
  drain::TempDir dir;
  ProfDirectory prof;
  ASSERT_TRUE(ProfDirectory::Create(dir.path(), 1, &prof).ok());
  Manifest manifest;
  manifest.command = std::string(100'000, 'x');
  ASSERT_TRUE(WriteManifest(prof, manifest).ok());
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (uint32_t i = 1; i <= 200; ++i) {
      manifest.pid = i;
      EXPECT_TRUE(WriteManifest(prof, manifest).ok());
    }
    over = true;
  });
  unsigned reads = 0;
  while (!over) {
    const json root = json::parse(drain::ReadFile(prof.own() + "/manifest.json"), nullptr, false);
    ASSERT_FALSE(root.is_discarded());
    ++reads;
  }
  writer.join();
  EXPECT_GT(reads, 0u);
  EXPECT_EQ(json::parse(drain::ReadFile(prof.own() + "/manifest.json"))["pid"], 200);
}

}  // namespace
}  // namespace npuprof::trace
