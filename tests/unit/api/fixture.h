// SPDX-License-Identifier: Apache-2.0
// What tests of the exported functions share: a directory of their own and a look into PROF directories.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "acl/acl_prof.h"
#include "npuprof/npuprof.h"
#include "profiling/prof_api.h"

namespace npuprof {

class ApiTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/npuprof_api_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    // Where a Start without Init collects.
    here_ = std::filesystem::current_path();
    std::filesystem::current_path(directory_);
    // Refusals are expected here; nobody wants to read them.
    setenv("NPUPROF_LOG", "0", 1);
  }
  void TearDown() override {
    EXPECT_EQ(aclprofFinalize(), 0);
    if (!here_.empty()) std::filesystem::current_path(here_);
    std::filesystem::remove_all(directory_);
  }

  aclError Init(const std::string& path) { return aclprofInit(path.c_str(), path.size()); }
  aclError Init() { return Init(directory_.string()); }
  static aclError Set(int type, const std::string& text) {
    return aclprofSetConfig(static_cast<aclprofConfigType>(type), text.c_str(), text.size());
  }
  static aclprofConfig* Config(std::vector<uint32_t> devices, uint64_t types,
                               int metrics = ACL_AICORE_PIPE_UTILIZATION) {
    return aclprofCreateConfig(devices.data(), static_cast<uint32_t>(devices.size()),
                               static_cast<aclprofAicoreMetrics>(metrics), nullptr, types);
  }
  static std::string Message() { return npuprofLastMessage(); }

  std::vector<std::filesystem::path> ProfDirectories() const { return ProfDirectories(directory_); }
  static std::vector<std::filesystem::path> ProfDirectories(const std::filesystem::path& below) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(below)) {
      if (entry.path().filename().string().rfind("PROF_", 0) == 0) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// The run's number in the name of a PROF directory.
  static unsigned long Number(const std::filesystem::path& prof) {
    return std::stoul(prof.filename().string().substr(5, 6));
  }
  static std::string ReadAll(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static nlohmann::json Json(const std::filesystem::path& path) {
    return nlohmann::json::parse(ReadAll(path));
  }
  static nlohmann::json Manifest(const std::filesystem::path& prof) {
    return Json(prof / "npuprof" / "manifest.json");
  }
  /// All slices of a file one after the other.
  static std::string Data(const std::filesystem::path& prof, const std::string& name) {
    std::string all;
    for (int slice = 0;; ++slice) {
      const auto path = prof / (name + ".slice_" + std::to_string(slice));
      if (!std::filesystem::exists(path)) return all;
      all += ReadAll(path);
    }
  }

  static MsprofApi Call(uint64_t item) {
    MsprofApi api = {};
    api.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
    api.level = MSPROF_REPORT_ACL_LEVEL;
    api.type = MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE;
    api.threadId = 1;
    api.beginTime = MsprofSysCycleTime();
    api.endTime = api.beginTime + 1;
    api.itemId = item;
    return api;
  }
  static uint64_t Kept(const nlohmann::json& manifest, const std::string& kind) {
    for (const auto& entry : manifest["host"]["kinds"]) {
      if (entry["kind"] == kind) return entry["records"];
    }
    return 0;
  }
  static uint64_t Lost(const nlohmann::json& manifest, const std::string& kind) {
    for (const auto& entry : manifest["host"]["kinds"]) {
      if (entry["kind"] == kind) return entry["lost"];
    }
    return 0;
  }

  std::filesystem::path directory_;
  std::filesystem::path here_;
};

}  // namespace npuprof
