// SPDX-License-Identifier: Apache-2.0
#include "host/host_source.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "host/clock.h"
#include "host/dictionary.h"
#include "host/samplers.h"
#include "profiling/aprof_pub.h"

namespace npuprof::host {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class HostSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/npuprof_host_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    Status status;
    collection_ = drain::Drain::Process().Open(
        {}, [this](drain::Severity, const std::string& text) { messages_ += text + '\n'; }, &status);
    ASSERT_NE(collection_, nullptr) << status.text;
  }
  void TearDown() override { fs::remove_all(directory_); }

  void Start() {
    source_ = std::make_shared<HostSource>(
        *collection_, directory_.string(),
        [this](drain::Severity, const std::string& text) { messages_ += text + '\n'; });
    ASSERT_TRUE(source_->Open(64));
    collection_->Add(source_);
  }
  void Finish() {
    source_->Close();
    const Status status = collection_->Finish(std::chrono::seconds(20));
    ASSERT_TRUE(status.ok()) << status.text;
  }
  template <typename Record>
  static Record Make(uint16_t level, uint32_t type, unsigned char fill) {
    Record record;
    std::memset(&record, fill, sizeof(record));
    record.magicNumber = MSPROF_DATA_HEAD_MAGIC_NUM;
    record.level = level;
    record.type = type;
    record.threadId = 77;
    return record;
  }
  template <typename Record>
  static std::string Bytes(const Record& record) {
    return {reinterpret_cast<const char*>(&record), sizeof(record)};
  }
  std::string Slice(const std::string& name) { return ReadAll(directory_ / (name + ".slice_0")); }

  fs::path directory_;
  std::string messages_;
  std::unique_ptr<drain::Collection> collection_;
  std::shared_ptr<HostSource> source_;
};

TEST_F(HostSourceTest, EachKindGoesByteForByteIntoItsFile) {
  auto& dictionary = Dictionary::Process();
  dictionary.Name(MSPROF_REPORT_RUNTIME_LEVEL, 802, "task_track");
  dictionary.Name(MSPROF_REPORT_NODE_LEVEL, 0, "node_basic_info");
  dictionary.Name(MSPROF_REPORT_NODE_LEVEL, 1, "tensor_info");
  const uint64_t id = dictionary.Id("conv1/Conv2D");
  Start();
  auto& set = QueueSet::Process();
  const auto call = Make<MsprofApi>(MSPROF_REPORT_ACL_LEVEL, 0x30001, 0x11);
  auto event = Make<MsprofEvent>(MSPROF_REPORT_MODEL_LEVEL, 2, 0x22);
  const auto track = Make<MsprofCompactInfo>(MSPROF_REPORT_RUNTIME_LEVEL, 802, 0x33);
  const auto node = Make<MsprofCompactInfo>(MSPROF_REPORT_NODE_LEVEL, 0, 0x44);
  const auto tensor = Make<MsprofAdditionalInfo>(MSPROF_REPORT_NODE_LEVEL, 1, 0x55);
  EXPECT_TRUE(set.Report(RecordClass::kApiEvent, true, &call));
  EXPECT_TRUE(set.Report(RecordClass::kApiEvent, false, &event));
  EXPECT_TRUE(set.Report(RecordClass::kApiEvent, true, &event));
  EXPECT_TRUE(set.Report(RecordClass::kCompact, true, &track));
  EXPECT_TRUE(set.Report(RecordClass::kCompact, false, &node));
  EXPECT_TRUE(set.Report(RecordClass::kCompact, true, &node));
  EXPECT_TRUE(set.Report(RecordClass::kAdditional, true, &tensor));
  Finish();
  EXPECT_EQ(Slice("aging.api_event.data"), Bytes(call) + Bytes(event));
  EXPECT_EQ(Slice("unaging.api_event.data"), Bytes(event));
  EXPECT_EQ(Slice("aging.compact.task_track"), Bytes(track));
  EXPECT_EQ(Slice("unaging.compact.node_basic_info"), Bytes(node));
  EXPECT_EQ(Slice("aging.compact.node_basic_info"), Bytes(node));
  EXPECT_EQ(Slice("aging.additional.tensor_info"), Bytes(tensor));
  EXPECT_NE(Slice("unaging.additional.type_info_dic").find("5000_802:task_track\n"), std::string::npos);
  EXPECT_NE(Slice("unaging.additional.hash_dic").find(std::to_string(id) + ":conv1/Conv2D\n"),
            std::string::npos);
  EXPECT_EQ(messages_, "");

  trace::Manifest::Host host;
  source_->Describe(&host);
  EXPECT_EQ(host.threads, 1u);
  std::map<std::string, uint64_t> kept;
  for (const auto& kind : host.kinds) {
    kept[kind.kind] = kind.records;
    EXPECT_EQ(kind.lost, 0u);
  }
  EXPECT_EQ(kept, (std::map<std::string, uint64_t>{
                      {"api_event", 3}, {"node_basic_info", 2}, {"task_track", 1}, {"tensor_info", 1}}));
}

TEST_F(HostSourceTest, ATypeWithoutANameKeepsItsRecordsAndIsComplainedAbout) {
  Start();
  const auto record = Make<MsprofCompactInfo>(MSPROF_REPORT_RUNTIME_LEVEL, 4711, 1);
  EXPECT_TRUE(QueueSet::Process().Report(RecordClass::kCompact, true, &record));
  Finish();
  EXPECT_EQ(Slice("aging.compact.level_5000_type_4711"), Bytes(record));
  EXPECT_NE(messages_.find("level 5000 type 4711"), std::string::npos) << messages_;
}

TEST_F(HostSourceTest, ANameThatWouldMeetADictionaryOrBeNoFileNameIsReplaced) {
  auto& dictionary = Dictionary::Process();
  dictionary.Name(MSPROF_REPORT_NODE_LEVEL, 901, "hash_dic");
  dictionary.Name(MSPROF_REPORT_NODE_LEVEL, 902, "type_info_dic");
  dictionary.Name(MSPROF_REPORT_NODE_LEVEL, 903, std::string(255, 'a'));
  const uint64_t id = dictionary.Id("conv1/Conv2D");
  Start();
  for (uint32_t type : {901u, 902u, 903u}) {
    const auto record = Make<MsprofAdditionalInfo>(MSPROF_REPORT_NODE_LEVEL, type, 1);
    EXPECT_TRUE(QueueSet::Process().Report(RecordClass::kAdditional, false, &record));
  }
  Finish();
  for (uint32_t type : {901u, 902u, 903u}) {
    EXPECT_EQ(Slice("unaging.additional.level_10000_type_" + std::to_string(type)),
              Bytes(Make<MsprofAdditionalInfo>(MSPROF_REPORT_NODE_LEVEL, type, 1)));
    EXPECT_NE(messages_.find("type " + std::to_string(type)), std::string::npos) << messages_;
  }
  EXPECT_NE(Slice("unaging.additional.type_info_dic").find("10000_901:hash_dic\n"), std::string::npos);
  EXPECT_NE(Slice("unaging.additional.hash_dic").find(std::to_string(id) + ":conv1/Conv2D\n"),
            std::string::npos);
}

TEST_F(HostSourceTest, TypesWithoutEndTakeNoDescriptorsWithoutEndAndAreCounted) {
  const auto files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  Start();
  const auto before = files();
  constexpr uint32_t kTypes = 3000;
  for (uint32_t type = 0; type < kTypes; ++type) {
    const auto record = Make<MsprofCompactInfo>(MSPROF_REPORT_RUNTIME_LEVEL, 0x10000 + type, 1);
    EXPECT_TRUE(QueueSet::Process().Report(RecordClass::kCompact, true, &record));
  }
  EXPECT_TRUE(collection_->Flush(std::chrono::seconds(20)).ok());
  EXPECT_LE(files() - before, 140);
  Finish();
  trace::Manifest::Host host;
  source_->Describe(&host);
  uint64_t kept = 0, lost = 0;
  for (const auto& kind : host.kinds) {
    kept += kind.records;
    lost += kind.lost;
  }
  EXPECT_EQ(kept, 128u);
  EXPECT_EQ(lost, kTypes - 128);
  EXPECT_EQ(host.lost_by_cause.at("too_many_types"), lost);
  EXPECT_NE(messages_.find("more than 128 types"), std::string::npos) << messages_;
}

TEST_F(HostSourceTest, ManyThreadsLoseNothingAndEachKeepsItsOrder) {
  constexpr uint32_t kThreads = 4;
  constexpr uint64_t kEach = 50'000;
  Start();
  std::atomic<uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto call = Make<MsprofApi>(MSPROF_REPORT_ACL_LEVEL, 1, 0);
      call.threadId = t;
      for (uint64_t i = 0; i < kEach; ++i) {
        call.itemId = i;
        if (!QueueSet::Process().Report(RecordClass::kApiEvent, true, &call)) refused.fetch_add(1);
        // Slower than the drain on a busy machine, so that the test is about order and not about room.
        if (i % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  Finish();
  std::map<uint32_t, uint64_t> next;
  uint64_t total = 0;
  for (int slice = 0;; ++slice) {
    const std::string bytes = ReadAll(directory_ / ("aging.api_event.data.slice_" + std::to_string(slice)));
    if (bytes.empty()) break;
    ASSERT_EQ(bytes.size() % sizeof(MsprofApi), 0u) << "a record crosses the end of slice " << slice;
    for (size_t at = 0; at < bytes.size(); at += sizeof(MsprofApi)) {
      MsprofApi call;
      std::memcpy(&call, bytes.data() + at, sizeof(call));
      if (refused == 0) {
        ASSERT_EQ(call.itemId, next[call.threadId]);
      }
      next[call.threadId] = call.itemId + 1;
      ++total;
    }
  }
  trace::Manifest::Host host;
  source_->Describe(&host);
  EXPECT_EQ(host.threads, kThreads);
  ASSERT_EQ(host.kinds.size(), 1u);
  EXPECT_EQ(host.kinds[0].records, total);
  EXPECT_EQ(host.kinds[0].lost, refused);
  EXPECT_EQ(total + refused, kThreads * kEach);
}

TEST_F(HostSourceTest, ABusyThreadDoesNotKeepTheNextOneWaiting) {
  source_ = std::make_shared<HostSource>(*collection_, directory_.string(),
                                         [](drain::Severity, const std::string&) {});
  ASSERT_TRUE(source_->Open(64));
  // More than one visit takes, each time that there is one.
  const auto work = [] {
    const auto record = Make<MsprofAdditionalInfo>(MSPROF_REPORT_NODE_LEVEL, 1, 1);
    for (size_t bytes = 0; bytes < (size_t{5} << 20); bytes += sizeof record)
      ASSERT_TRUE(QueueSet::Process().Report(RecordClass::kAdditional, true, &record));
  };
  const auto visit = [&] {
    bool more = false;
    ASSERT_TRUE(collection_->Run([&] { more = source_->Poll({}).more; }, std::chrono::seconds(20)).ok());
    ASSERT_TRUE(more) << "the visit was not full, the test shows nothing";
  };
  work();
  std::thread([] {
    auto record = Make<MsprofAdditionalInfo>(MSPROF_REPORT_NODE_LEVEL, 1, 1);
    record.threadId = 78;
    ASSERT_TRUE(QueueSet::Process().Report(RecordClass::kAdditional, true, &record));
  }).join();
  visit();
  work();
  visit();
  trace::Manifest::Host host;
  source_->Describe(&host);
  EXPECT_EQ(host.threads, 2u) << "of the second thread nothing was taken in two visits";
  Finish();
}

TEST_F(HostSourceTest, ASamplerIsAskedOnceAtTheEndHoweverManyPassesThatTakes) {
  Sampler sampler(*collection_, directory_.string(), Sample::kProcessMemory, std::chrono::hours(1));
  const auto visits = [&] {
    drain::Pass pass;
    sampler.Poll(pass);
    pass.final = true;
    for (int i = 0; i < 5; ++i) sampler.Poll(pass);
  };
  ASSERT_TRUE(collection_->Run(visits, std::chrono::seconds(20)).ok());
  ASSERT_TRUE(collection_->Finish(std::chrono::seconds(20)).ok());
  EXPECT_EQ(sampler.Describe().records, 2u);
  EXPECT_EQ(sampler.Describe().sampling.samples, 2u);
  EXPECT_EQ(sampler.Describe().sampling.worst_error_ns, 0u) << "what Stop cuts short is no interval";
}

TEST_F(HostSourceTest, DiskSamplesAreRatesBetweenTwoMoments) {
  SampleHistory history;
  std::string first, second;
  ASSERT_TRUE(TakeSample(Sample::kProcessDisk, 1'000'000'000, &history, &first));
  EXPECT_EQ(first, "start_time 1000000000\n");
  history.time_ns = 500'000'000;
  ASSERT_TRUE(TakeSample(Sample::kProcessDisk, 1'000'000'000, &history, &second));
  EXPECT_TRUE(std::regex_match(
      second, std::regex(" *" + std::to_string(getpid()) +
                         " be/4 [0-9]+ +[0-9]+\\.[0-9]{2} K/s +[0-9]+\\.[0-9]{2} K/s .* % .* % .+\n")))
      << second;
  EXPECT_EQ(history.time_ns, 1'000'000'000u);
}

TEST_F(HostSourceTest, SamplersWriteTheLinesOfProcWithTheirTime) {
  std::string cpu, memory, system_cpu, system_memory, network;
  SampleHistory history;
  ASSERT_TRUE(TakeSample(Sample::kProcessCpu, 123, &history, &cpu));
  ASSERT_TRUE(TakeSample(Sample::kProcessMemory, 123, &history, &memory));
  ASSERT_TRUE(TakeSample(Sample::kSystemCpu, 123, &history, &system_cpu));
  ASSERT_TRUE(TakeSample(Sample::kSystemMemory, 123, &history, &system_memory));
  ASSERT_TRUE(TakeSample(Sample::kNetwork, 123, &history, &network));
  EXPECT_TRUE(std::regex_match(network, std::regex("time 123\n( *[^ :]+:( +[0-9]+){16} *\n)*"))) << network;
  EXPECT_TRUE(
      std::regex_search(cpu, std::regex("^time 123\n[0-9.]+ [0-9.]+\n" + std::to_string(getpid()) + " \\(")));
  EXPECT_EQ(cpu.back(), '\n');
  EXPECT_TRUE(std::regex_match(memory, std::regex("123 [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9]+\n")));
  EXPECT_EQ(system_cpu.rfind("TimeStamp:123\ncpu ", 0), 0u);
  EXPECT_EQ(system_cpu.substr(system_cpu.size() - 2), "\n\n");
  EXPECT_EQ(system_memory.rfind("TimeStamp:123\nMemTotal:", 0), 0u);

  auto sampler = std::make_shared<Sampler>(*collection_, directory_.string(), Sample::kProcessMemory,
                                           std::chrono::milliseconds(5));
  collection_->Add(sampler);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const Status status = collection_->Finish(std::chrono::seconds(20));
  ASSERT_TRUE(status.ok()) << status.text;
  EXPECT_EQ(sampler->Describe().sampling.period_ns, 5'000'000u);
  EXPECT_EQ(sampler->Describe().sampling.samples, sampler->Describe().records);
  const std::string lines = Slice("host_mem.data");
  const auto count = static_cast<uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  EXPECT_GE(count, 2u);
  EXPECT_EQ(sampler->Describe().kind, "host_mem");
  EXPECT_EQ(sampler->Describe().records, count);
}

}  // namespace
}  // namespace npuprof::host
