// SPDX-License-Identifier: Apache-2.0
#include "random_caller.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "device_fixture.h"
#include "npuprof/acl_prof_loaded.h"
#include "outside.h"

namespace npuprof {
namespace {

int32_t Callback(uint32_t, void*, uint32_t) {
  return MsprofSysCycleTime() == 0;
}

// What is done with a stamp that lives, which fails only because another thread ended profiling, or its session.
template <typename Call>
bool Works(Call&& call, const char* of_session = nullptr) {
  const std::string before = npuprofLastMessage();
  const aclError code = call();
  if (code == 0) return true;
  EXPECT_EQ(code, -1);
  // Only the first such refusal has its sentence.
  const std::string said = npuprofLastMessage();
  EXPECT_TRUE(said == before ||
              said.find("no session with ACL_PROF_MSPROFTX was started") != std::string::npos ||
              (of_session && said.find(of_session) != std::string::npos))
      << said;
  return false;
}

// Every getter of items, of which each says @p code where it has one.
void GetAll(const void* items, size_t size, uint32_t index, aclError code) {
  size_t length = 0;
  char text[64];
  EXPECT_EQ(aclprofGetOpTypeLen(items, size, index, &length), code);
  EXPECT_EQ(aclprofGetOpNameLen(items, size, index, &length), code);
  if (code == 0) {
    std::string name(length, 0);
    EXPECT_EQ(aclprofGetOpName(items, size, index, name.data(), name.size()), 0);
    EXPECT_EQ(name.back(), 0);
    EXPECT_GE(aclprofGetOpEnd(items, size, index), aclprofGetOpStart(items, size, index));
  } else {
    EXPECT_EQ(aclprofGetOpName(items, size, index, text, sizeof text), code);
    EXPECT_EQ(aclprofGetOpType(items, size, index, text, sizeof text), code);
    EXPECT_EQ(aclprofGetOpStart(items, size, index), 0u);
    EXPECT_EQ(aclprofGetOpEnd(items, size, index), 0u);
    EXPECT_EQ(aclprofGetOpDuration(items, size, index), 0u);
    EXPECT_EQ(aclprofGetModelId(items, size, index), 100000u);
    EXPECT_EQ(aclprofGetGraphId(items, size, index), 100000u);
  }
  EXPECT_EQ(aclprofGetOpFlag(items, size, index), code == 0 ? ACL_SUBSCRIBE_OP : ACL_SUBSCRIBE_NONE);
  EXPECT_EQ(aclprofGetOpAttriValue(items, size, index, ACL_SUBSCRIBE_ATTRI_THREADID), nullptr);
}

}  // namespace

RandomCaller::~RandomCaller() {
  while (!configs_.empty()) Destroy();
  for (ge::aclgrphProfConfig* config : graphs_) EXPECT_EQ(ge::aclgrphProfDestroyConfig(config), 0u);
  while (!stamps_.empty()) DropStamp();
  for (const auto& [domain, range] : ranges_) mstxDomainRangeEnd(domain, range);
  for (aclprofStepInfo* step : steps_) aclprofDestroyStepInfo(step);
}

void RandomCaller::Once() {
  switch (random_() % 40) {
    case 0:
      aclprofInit(output_.c_str(), output_.size());
      break;
    case 1:
      if (random_() % 4 == 0) aclprofFinalize();
      break;
    case 2:
    case 3:
      Create();
      break;
    case 4:
      Destroy();
      break;
    case 5:
      aclprofStart(Config());
      break;
    case 6:
      aclprofStop(Config());
      break;
    case 7:
      aclprofWarmup(Config());
      break;
    case 8:
      Set();
      break;
    case 9:
      MsprofNotifySetDevice(0, random_() % 2, random_() % 3 != 0);
      break;
    case 10:
      MsprofRegisterCallback(random_() % 64, Callback);
      break;
    case 11:
      MsprofSetDeviceIdByGeModelIdx(random_() % 8, random_() % 2);
      MsprofUnsetDeviceIdByGeModelIdx(random_() % 8, random_() % 2);
      break;
    case 12:
      // What it points to is gone after eight more starts, and here they may come before it is read.
      EXPECT_NE(MsprofGetPath(), nullptr);
      Status();
      static_cast<void>(std::string(npuprofLastMessage()).size());
      break;
    case 13:
      Launch();
      break;
    case 14:
      Stamp();
      break;
    case 15:
      DropStamp();
      break;
    case 16:
      Range();
      break;
    case 17:
    case 18:
      Mstx();
      break;
    case 19:
      Step();
      break;
    case 20:
      Tensors();
      break;
    case 21:
      aclprofMarkEx("random", 6, &random_);
      break;
    case 22:
      Subscribe();
      break;
    case 23:
      Attach();
      break;
    case 24:
      Graphs();
      break;
    case 25:
    case 26:
      Component();
      break;
    case 27:
      Devices();
      break;
    case 28:
      Items();
      break;
    case 29:
      Heap();
      break;
    default:
      Report();
  }
}

aclprofConfig* RandomCaller::Config() {
  return configs_.empty() || random_() % 8 == 0 ? nullptr : configs_[random_() % configs_.size()];
}

void RandomCaller::Create() {
  const auto first = static_cast<uint32_t>(random_() % 2);
  uint32_t devices[] = {first, 1 - first};
  constexpr uint64_t kChoices[] = {kTypes, kTypes | ACL_PROF_MSPROFTX, ACL_PROF_MSPROFTX,
                                   ACL_PROF_TASK_TIME_L0};
  aclprofConfig* made = aclprofCreateConfig(devices, random_() % 3, ACL_AICORE_PIPE_UTILIZATION, nullptr,
                                            kChoices[random_() % 4]);
  if (made) configs_.push_back(made);
  if (configs_.size() > 4) Destroy();
}

void RandomCaller::Destroy() {
  if (configs_.empty()) return;
  EXPECT_EQ(aclprofDestroyConfig(configs_.back()), 0);
  configs_.pop_back();
}

void RandomCaller::Set() {
  constexpr std::pair<int, const char*> kSettings[] = {{ACL_PROF_HOST_SYS, "cpu,mem"},
                                                       {ACL_PROF_SYS_HARDWARE_MEM_FREQ, "100"},
                                                       {ACL_PROF_STORAGE_LIMIT, "200MB"},
                                                       {ACL_PROF_LLC_MODE, "wrong"}};
  const auto& [type, text] = kSettings[random_() % 4];
  aclprofSetConfig(static_cast<aclprofConfigType>(type), text, strlen(text));
}

void RandomCaller::Status() {
  npuprofStatus status{};
  status.size = sizeof status;
  if (npuprofGetStatus(&status) != 0) return;
  EXPECT_TRUE(status.directory[0] == 0 || strstr(status.directory, "PROF_")) << status.directory;
  EXPECT_LE(status.deviceCount, 2u);
}

// The same through the names for programs that run graphs.
void RandomCaller::Graphs() {
  switch (random_() % 5) {
    case 0:
      ge::aclgrphProfInit(output_.c_str(), static_cast<uint32_t>(output_.size()));
      break;
    case 1:
      if (random_() % 4 == 0) ge::aclgrphProfFinalize();
      break;
    case 2: {
      auto device = static_cast<uint32_t>(random_() % 2);
      ge::aclgrphProfConfig* made =
          ge::aclgrphProfCreateConfig(&device, 1, ge::kAicorePipeUtilization, nullptr, kTypes);
      if (made) graphs_.push_back(made);
      if (graphs_.size() <= 2) break;
      EXPECT_EQ(ge::aclgrphProfDestroyConfig(graphs_.back()), 0u);
      graphs_.pop_back();
      break;
    }
    case 3:
      ge::aclgrphProfStart(graphs_.empty() ? nullptr : graphs_.back());
      break;
    default:
      ge::aclgrphProfStop(graphs_.empty() ? nullptr : graphs_.back());
  }
}

// What a component of the runtime starts and stops by itself.
void RandomCaller::Component() {
  const auto type = static_cast<uint32_t>(random_() % 3);
  switch (random_() % 8) {
    case 0: {
      const std::string json = R"({"switch":"on","output":")" + output_ + R"("})";
      MsprofInit(MSPROF_CTRL_INIT_ACL_JSON, const_cast<char*>(json.data()),
                 static_cast<uint32_t>(json.size()));
      break;
    }
    case 1: {
      const auto options = std::make_unique<MsprofGeOptions>();
      const std::string json = R"({"output":")" + output_ + R"("})";
      json.copy(options->options, sizeof options->options - 1);
      MsprofInit(MSPROF_CTRL_INIT_GE_OPTIONS, options.get(), sizeof *options);
      break;
    }
    case 2:
      MsprofInit(random_() % 2 ? MSPROF_CTRL_INIT_ACL_ENV : MSPROF_CTRL_INIT_DYNA, nullptr, 0);
      break;
    case 3:
    case 4: {
      const auto config = std::make_unique<MsprofConfig>();
      config->profSwitch = kTypes | ACL_PROF_MSPROFTX;
      config->devNums = 1;
      config->devIdList[0] = static_cast<uint32_t>(random_() % 2);
      config->metrics = ACL_AICORE_PIPE_UTILIZATION;
      output_.copy(config->dumpPath, sizeof config->dumpPath - 1);
      MsprofStart(type, config.get(), sizeof *config);
      break;
    }
    case 5:
    case 6: {
      const auto config = std::make_unique<MsprofConfig>();
      MsprofStop(type, config.get(), sizeof *config);
      break;
    }
    default:
      MsprofFinalize();
  }
}

void RandomCaller::Devices() {
  size_t features = 0;
  void* data = nullptr;
  if (random_() % 2) {
    EXPECT_EQ(aclprofGetSupportedFeatures(&features, &data), 0);
    EXPECT_EQ(features, 2u);
  } else {
    EXPECT_EQ(aclprofGetSupportedFeaturesV2(&features, &data), 0);
    EXPECT_EQ(features, 3u);
  }
  EXPECT_STREQ(static_cast<const aclprofFeature*>(data)->featureName, "ATTR");
  aclprofRegisterDeviceCallback();
}

void RandomCaller::Heap() {
  const mstxDomainHandle_t domain = random_() % 2 ? nullptr : mstxDomainCreateA("io");
  const mstxMemVirtualRangeDesc_t range = {0, &random_, sizeof random_};
  const mstxMemHeapDesc_t piece = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                   &range};
  const mstxMemHeapHandle_t heap = mstxMemHeapRegister(domain, &piece);
  EXPECT_EQ(heap, nullptr) << "nobody watches";
  mstxMemRegionHandle_t region = nullptr;
  const mstxMemRegionsRegisterBatch_t given = {heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, &region};
  mstxMemRegionsRegister(domain, &given);
  mstxMemRegionRef_t reference = {};
  reference.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  reference.handle = region;
  const mstxMemRegionsUnregisterBatch_t back = {1, &reference};
  mstxMemRegionsUnregister(domain, &back);
  mstxMemHeapUnregister(domain, heap);
}

void RandomCaller::Launch() {
  npusim_task task = {};
  task.stream = static_cast<uint16_t>(1 + random_() % 8);
  task.kind = NPUSIM_TASK_CUBE;
  task.block_dim = 2;
  task.cycles = 1000;
  npusim::Host::Get().Submit(random_() % 2, task);
}

void RandomCaller::Stamp() {
  void* stamp = aclprofCreateStamp();
  if (!stamp) return;
  Works([&] { return aclprofSetStampTraceMessage(stamp, "random", 6); });
  aclprofMark(stamp);
  stamps_.push_back(stamp);
  if (stamps_.size() > 4) DropStamp();
}

void RandomCaller::DropStamp() {
  if (stamps_.empty()) return;
  aclprofDestroyStamp(stamps_.back());
  stamps_.pop_back();
}

void RandomCaller::Range() {
  if (stamps_.empty()) return;
  uint32_t range = 0;
  const bool started = Works([&] { return aclprofRangeStart(stamps_.back(), &range); });
  if (Works([&] { return aclprofPush(stamps_.back()); })) Works([] { return aclprofPop(); });
  if (started) Works([&] { return aclprofRangeStop(range); }, "was not started in this session");
}

void RandomCaller::Report() {
  MsprofApi api = {};
  api.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  api.level = MSPROF_REPORT_ACL_LEVEL;
  api.type = MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE;
  api.beginTime = MsprofSysCycleTime();
  api.endTime = api.beginTime + 1;
  const std::string name = "name" + std::to_string(random_() % 100);
  api.itemId = MsprofGetHashId(name.data(), name.size());
  for (int i = 0; i < 20; ++i) MsprofReportApi(1, &api);
  MsprofAdditionalInfo info = {};
  info.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
  info.level = MSPROF_REPORT_NODE_LEVEL;
  info.type = MSPROF_REPORT_NODE_TENSOR_INFO_TYPE;
  MsprofReportAdditionalInfo(0, &info, sizeof(info));
  MsprofReportBatchAdditionalInfo(1, &info, sizeof(info));
  if (random_() % 16 == 0) MsprofRegTypeInfo(MSPROF_REPORT_NODE_LEVEL, 1, "tensor_info");
}

void RandomCaller::Mstx() {
  static constexpr const char* kNames[] = {"io", "net", "=refused", "compute"};
  const mstxDomainHandle_t domain = random_() % 3 == 0 ? nullptr : mstxDomainCreateA(kNames[random_() % 4]);
  switch (random_() % 5) {
    case 0:
      mstxMarkA("mark", nullptr);
      break;
    case 1:
      mstxDomainMarkA(domain, "mark", nullptr);
      break;
    case 2:
      ranges_.emplace_back(domain, domain ? mstxDomainRangeStartA(domain, "range", nullptr)
                                          : mstxRangeStartA("range", nullptr));
      break;
    case 3:
      if (ranges_.empty()) break;
      if (ranges_.back().first) {
        mstxDomainRangeEnd(ranges_.back().first, ranges_.back().second);
      } else {
        mstxRangeEnd(ranges_.back().second);
      }
      ranges_.pop_back();
      break;
    default:
      if (random_() % 4 == 0) mstxDomainDestroy(domain);
  }
}

void RandomCaller::Step() {
  if (steps_.size() > 4) {
    aclprofDestroyStepInfo(steps_.back());
    steps_.pop_back();
  }
  if (random_() % 2 == 0 || steps_.empty()) {
    steps_.push_back(aclprofCreateStepInfo());
  } else {
    aclprofGetStepTimestamp(steps_[random_() % steps_.size()], random_() % 2 ? ACL_STEP_START : ACL_STEP_END,
                            nullptr);
  }
}

// Ends find their begins, whatever sessions begin and end meanwhile.
void RandomCaller::Tensors() {
  aclprofTensor tensors[7] = {};
  for (aclprofTensor& tensor : tensors) tensor.shapeDim = 2;
  aclprofTensorInfo info = {aclprofStr2Id("operator"), aclprofStr2Id("Kind"), 0, 7, 0, 1, nullptr, tensors};
  aclprofEventAttributes attributes = {
      ACL_PROF_EVENT_ATTR_VERSION, sizeof attributes, ACL_PROF_MESSAGE_TENSOR_INFO, {&info}};
  const size_t depth = random_() % 4;
  for (size_t i = 0; i < depth; ++i) EXPECT_EQ(aclprofRangePushEx(&attributes), 0);
  for (size_t i = 0; i < depth; ++i) EXPECT_EQ(aclprofRangePop(), 0);
  EXPECT_EQ(aclprofRangePop(), 100000);
}

void RandomCaller::Subscribe() {
  const auto model = static_cast<uint32_t>(random_() % 8);
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return;
  aclprofSubscribeConfig* config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
  MsprofSetDeviceIdByGeModelIdx(model, random_() % 2);
  const bool graph = random_() % 2;
  const bool reads = random_() % 2;
  // What another thread did may have refused it, or ended it before.
  if ((graph ? aclgrphProfGraphSubscribe(model, config) : aclprofModelSubscribe(model, config)) == 0) {
    Launch();
    EXPECT_EQ(aclprofDestroySubscribeConfig(config), 0);
    if (random_() % 2) MsprofUnsetDeviceIdByGeModelIdx(model, 0);
    if (!reads) close(ends[0]);
    EXPECT_EQ(graph ? aclgrphProfGraphUnSubscribe(model) : aclprofModelUnSubscribe(model), 0)
        << npuprofLastMessage();
  } else {
    EXPECT_EQ(aclprofDestroySubscribeConfig(config), 0);
    if (!reads) close(ends[0]);
  }
  if (reads) {
    char items[64 * 80];
    const ssize_t got = read(ends[0], items, sizeof items);
    if (got > 0) {
      uint32_t number = 0;
      EXPECT_EQ(aclprofGetOpNum(items, static_cast<size_t>(got), &number), 0);
      EXPECT_EQ(number, static_cast<size_t>(got) / 80);
      for (uint32_t i = 0; i < number; ++i) GetAll(items, static_cast<size_t>(got), i, 0);
    }
    close(ends[0]);
  }
  if (ends[1] >= 0) close(ends[1]);
}

// What no subscription wrote, and what is no whole item.
void RandomCaller::Items() {
  size_t size = 0;
  EXPECT_EQ(aclprofGetOpDescSize(&size), 0);
  std::vector<unsigned char> bytes(size * (random_() % 3) + random_() % 2);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random_());
  uint32_t number = 0;
  if (!bytes.empty()) {
    EXPECT_EQ(aclprofGetOpNum(bytes.data(), bytes.size(), &number), 100000);
  }
  GetAll(bytes.data(), bytes.size(), static_cast<uint32_t>(random_() % 3), 100000);
}

void RandomCaller::Attach() {
  RequestFromOutside(random_() % 2 ? StartRequest(output_) : "stop\n");
}

}  // namespace npuprof
