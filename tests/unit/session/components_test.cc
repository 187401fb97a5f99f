// SPDX-License-Identifier: Apache-2.0
#include "session/components.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "acl/acl_prof.h"

namespace npuprof {
namespace {

struct Told {
  uint32_t module, type;
  uint64_t bits;
  std::vector<uint32_t> devices;
};
std::vector<Told> g_told;
std::string g_path, g_sample;
bool g_inside = false;
int g_answer = 0;

template <uint32_t kModule>
int32_t Callback(uint32_t type, void* data, uint32_t length) {
  EXPECT_EQ(type, PROF_CTRL_SWITCH);
  EXPECT_EQ(length, sizeof(MsprofCommandHandle));
  const auto* command = static_cast<const MsprofCommandHandle*>(data);
  g_told.push_back({kModule,
                    command->type,
                    command->profSwitch,
                    {command->devIdList, command->devIdList + command->devNums}});
  EXPECT_EQ(command->modelId, PROF_INVALID_MODE_ID);
  g_path.assign(command->params.path, command->params.pathLen);
  g_sample.assign(command->params.profData, command->params.profDataLen);
  g_inside = Components::InCallback();
  return g_answer;
}

class ComponentsTest : public testing::Test {
 protected:
  void SetUp() override {
    g_told.clear();
    g_answer = 0;
  }
  void RegisterAll() {
    // In no particular order.
    components_.Register(36, Callback<36>);
    components_.Register(MSPROF_MODULE_GE, Callback<MSPROF_MODULE_GE>);
    components_.Register(MSPROF_MODULE_HCCL, Callback<MSPROF_MODULE_HCCL>);
    components_.Register(MSPROF_MODULE_ASCENDCL, Callback<MSPROF_MODULE_ASCENDCL>);
    components_.Register(MSPROF_MODULE_RUNTIME, Callback<MSPROF_MODULE_RUNTIME>);
  }
  std::vector<uint32_t> Order() {
    std::vector<uint32_t> order;
    for (const Told& told : g_told) order.push_back(told.module);
    g_told.clear();
    return order;
  }
  Components components_;
  const Components::Command command_{0x807, {0, 1}, "/out/PROF_1", "{}"};
};

TEST_F(ComponentsTest, OrderIsThatOfThePublishedInterface) {
  RegisterAll();
  const std::vector<uint32_t> up = {7, 48, 45, 3, 36}, down = {45, 48, 7, 3, 36};
  EXPECT_TRUE(components_.Init().empty());
  EXPECT_EQ(Order(), up);
  EXPECT_TRUE(components_.Start(command_).empty());
  EXPECT_EQ(Order(), up);
  EXPECT_TRUE(components_.Stop().empty());
  EXPECT_EQ(Order(), down);
  EXPECT_TRUE(components_.Finalize().empty());
  EXPECT_EQ(Order(), down);
}

TEST_F(ComponentsTest, AStartTellsBitsDevicesPathAndSettings) {
  components_.Register(MSPROF_MODULE_RUNTIME, Callback<7>);
  EXPECT_TRUE(components_.Start(command_).empty());
  ASSERT_EQ(g_told.size(), 1u);
  EXPECT_EQ(g_told[0].type, 1u);
  EXPECT_EQ(g_told[0].bits, 0x807u);
  EXPECT_EQ(g_told[0].devices, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(g_path, "/out/PROF_1");
  EXPECT_EQ(g_sample, "{}");
  EXPECT_TRUE(g_inside);
  EXPECT_FALSE(Components::InCallback());
}

TEST_F(ComponentsTest, AnotherStartIsToldWithoutAStopAndALateComponentIsToldTheNewestAlone) {
  components_.Register(3, Callback<3>);
  EXPECT_TRUE(components_.Init().empty());
  EXPECT_TRUE(components_.Start(command_).empty());
  EXPECT_TRUE(components_.Start({0x887, {0, 1, 2}, "/out/PROF_2", "{}"}).empty());
  components_.Register(45, Callback<45>);
  EXPECT_TRUE(components_.Stop().empty());
  std::vector<std::pair<uint32_t, uint32_t>> told;
  for (const Told& one : g_told) told.emplace_back(one.module, one.type);
  EXPECT_EQ(told, (std::vector<std::pair<uint32_t, uint32_t>>{
                      {3, 0}, {3, 1}, {3, 1}, {45, 0}, {45, 1}, {45, 2}, {3, 2}}));
  EXPECT_EQ(g_told[2].bits, 0x887u);
  EXPECT_EQ(g_told[4].bits, 0x887u);
  EXPECT_TRUE(components_.Finalize().empty());
}

TEST_F(ComponentsTest, ALateComponentIsToldWhatItMissed) {
  EXPECT_TRUE(components_.Init().empty());
  components_.Register(3, Callback<3>);
  ASSERT_EQ(g_told.size(), 1u);
  EXPECT_EQ(g_told[0].type, 0u);
  g_told.clear();
  EXPECT_TRUE(components_.Start(command_).empty());
  g_told.clear();
  components_.Register(45, Callback<45>);
  ASSERT_EQ(g_told.size(), 2u);
  EXPECT_EQ(g_told[0].type, 0u);
  EXPECT_EQ(g_told[1].type, 1u);
  EXPECT_EQ(g_told[1].bits, 0x807u);
  EXPECT_TRUE(components_.Stop().empty());
  EXPECT_TRUE(components_.Finalize().empty());
  g_told.clear();
  components_.Register(36, Callback<36>);
  EXPECT_TRUE(g_told.empty());
}

std::atomic<int> g_slow_told{0};
std::atomic<bool> g_slow_wrong{false}, g_slow_begun{false};
// Takes its time with INIT; whatever comes in between would come too early.
int32_t Slow(uint32_t, void* data, uint32_t) {
  const uint32_t type = static_cast<const MsprofCommandHandle*>(data)->type;
  if (g_slow_told != static_cast<int>(type)) g_slow_wrong = true;
  if (type == PROF_COMMANDHANDLE_TYPE_INIT) {
    g_slow_begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (g_slow_told++ != static_cast<int>(type)) g_slow_wrong = true;
  return 0;
}

TEST_F(ComponentsTest, AStartWhileAComponentRegistersComesAfterItsInit) {
  EXPECT_TRUE(components_.Init().empty());
  std::thread registering([&] { EXPECT_EQ(components_.Register(45, Slow), 0); });
  while (!g_slow_begun) std::this_thread::yield();
  EXPECT_TRUE(components_.Start(command_).empty());
  EXPECT_TRUE(components_.Stop().empty());
  EXPECT_TRUE(components_.Finalize().empty());
  registering.join();
  EXPECT_EQ(g_slow_told, 4);
  EXPECT_FALSE(g_slow_wrong);
}

TEST_F(ComponentsTest, TheSameCallbackIsKeptOnceAndNullIsRefused) {
  EXPECT_EQ(components_.Register(7, Callback<7>), 0);
  EXPECT_EQ(components_.Register(7, Callback<7>), 0);
  EXPECT_EQ(components_.Register(7, Callback<3>), 0);
  EXPECT_EQ(components_.Register(7, nullptr), MSPROF_ERROR_CONFIG_INVALID);
  EXPECT_TRUE(components_.Init().empty());
  EXPECT_EQ(g_told.size(), 2u);
}

TEST_F(ComponentsTest, ShapesAtTheLowestLevelRaiseItForTheSchedulersOnly) {
  RegisterAll();
  components_.Register(61, Callback<61>);
  const Components::Command shapes{ACL_PROF_AICORE_SHAPE | ACL_PROF_TASK_TIME_L0, {0}, "", ""};
  EXPECT_TRUE(components_.Start(shapes).empty());
  for (const Told& told : g_told) {
    EXPECT_EQ(told.bits, told.module == 45 || told.module == 61 ? 0x802u : 0x800u) << told.module;
  }
}

struct ToldOfModel {
  uint32_t module, type, model, cache;
};
std::vector<ToldOfModel> g_models;

template <uint32_t kModule>
int32_t ModelCallback(uint32_t, void* data, uint32_t) {
  const auto* command = static_cast<const MsprofCommandHandle*>(data);
  g_models.push_back({kModule, command->type, command->modelId, command->cacheFlag});
  return 0;
}

std::string ToldOfModels() {
  std::string all;
  for (const ToldOfModel& told : g_models) {
    const std::string model = told.model == PROF_INVALID_MODE_ID ? "-" : std::to_string(told.model);
    all += std::to_string(told.module) + ":" + std::to_string(told.type) + ":" + model + ":" +
           std::to_string(told.cache) + " ";
  }
  g_models.clear();
  return all;
}

TEST_F(ComponentsTest, SubscriptionsAreToldInTheOrderOfStartAndOfStop) {
  g_models.clear();
  components_.Register(36, ModelCallback<36>);
  components_.Register(MSPROF_MODULE_GE, ModelCallback<45>);
  components_.Register(MSPROF_MODULE_RUNTIME, ModelCallback<7>);
  EXPECT_TRUE(components_.Init().empty());
  EXPECT_TRUE(components_.Start(command_).empty());
  ToldOfModels();
  Components::Command command = command_;
  for (const uint32_t model : {4u, 9u}) {
    command.model = model;
    EXPECT_TRUE(components_.Subscribe(command).empty());
  }
  EXPECT_EQ(ToldOfModels(), "7:4:4:1 45:4:4:1 36:4:4:1 7:4:9:1 45:4:9:1 36:4:9:1 ");
  components_.Register(3, ModelCallback<3>);
  EXPECT_EQ(ToldOfModels(), "3:0:-:0 3:1:-:0 3:4:4:1 3:4:9:1 ") << "a late component";
  EXPECT_TRUE(components_.Unsubscribe(4).empty());
  EXPECT_EQ(ToldOfModels(), "45:5:4:1 7:5:4:1 3:5:4:1 36:5:4:1 ");
  EXPECT_TRUE(components_.Stop().empty());
  EXPECT_EQ(ToldOfModels(), "45:5:9:1 45:2:-:0 7:5:9:1 7:2:-:0 3:5:9:1 3:2:-:0 36:5:9:1 36:2:-:0 ");
}

TEST_F(ComponentsTest, ACallbackWithoutAModuleComesLast) {
  g_models.clear();
  components_.Register(Components::kNoModule, ModelCallback<0>);
  components_.Register(1000, ModelCallback<1000>);
  EXPECT_TRUE(components_.Init().empty());
  EXPECT_TRUE(components_.Finalize().empty());
  EXPECT_EQ(ToldOfModels(), "1000:0:-:0 0:0:-:0 1000:3:-:0 0:3:-:0 ");
}

TEST_F(ComponentsTest, TextsThatComponentsHaveNoRoomForAreNamed) {
  components_.Register(7, Callback<7>);
  Components::Command command = command_;
  command.path.assign(PATH_LEN_MAX, 'p');
  command.sample.assign(PARAM_LEN_MAX, 's');
  EXPECT_TRUE(components_.Start(command).empty());
  EXPECT_EQ(g_path, command.path);
  EXPECT_EQ(g_sample, command.sample);
  EXPECT_TRUE(components_.Stop().empty());
  command.path += 'p';
  command.sample += 's';
  const auto failures = components_.Start(command);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_NE(failures[0].find("1024 bytes, and they can be told at most 1023"), std::string::npos)
      << failures[0];
  EXPECT_NE(failures[1].find("4096 bytes, and they can be told at most 4095"), std::string::npos)
      << failures[1];
  EXPECT_EQ(g_path + g_sample, "") << "half a text would be another one";
}

TEST_F(ComponentsTest, TheLibraryOfACallbackStaysWhenTheProgramLetsItGo) {
  void* library = dlopen(COMPONENT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto callback = reinterpret_cast<ProfCommandHandle>(dlsym(library, "Callback"));
  ASSERT_NE(callback, nullptr);
  ASSERT_EQ(components_.Register(36, callback), 0);
  dlclose(library);
  void* still = dlopen(COMPONENT_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(still, nullptr);
  dlclose(still);
  EXPECT_TRUE(components_.Init().empty());
  EXPECT_TRUE(components_.Start(command_).empty());
}

TEST_F(ComponentsTest, AFailingCallbackIsNamed) {
  components_.Register(45, Callback<45>);
  g_answer = -7;
  const auto failures = components_.Start(command_);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0], "the callback of module 45 answered -7 to start; 0 is success");
}

}  // namespace
}  // namespace npuprof
