// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "drain/drain.h"
#include "drain/ledger.h"
#include "host/queue.h"
#include "trace/dictionary_file.h"
#include "trace/manifest.h"
#include "trace/record_file.h"

namespace npuprof::host {

/// Moves the queues of all threads into the files of host/data, one file per kind and persistence, and the
/// dictionaries beside them. Lives until the collection is finished.
class HostSource final : public drain::Source {
 public:
  /// @param on_message  gets what a person should know about host records; called on the drain thread
  HostSource(drain::Collection& collection, std::string host_data, drain::MessageHandler on_message);
  ~HostSource() override;

  /// From here to Close() reports are taken up; see QueueSet. False if there is no memory.
  bool Open(size_t segments);
  void Close();
  /// After the collection is finished: what others report is no concern of this any more.
  void Leave();
  /// Leaves out marks of the program, which another session asked for. Before Open().
  void LeaveOutMarks() { marks_ = false; }
  /// Leaves out, and counts, ranges of marks that began before @p cycles, in another session. Before Open().
  void LeaveOutMarksBefore(uint64_t cycles) { marks_from_ = cycles; }

  /// Shows @p visit each record that is taken up. Before the source is added.
  void OnRecord(std::function<void(const Entry&)> visit) { on_record_ = std::move(visit); }

  drain::Progress Poll(const drain::Pass& pass) override;
  std::chrono::nanoseconds Interval() const override { return std::chrono::milliseconds(20); }

  /// Kinds with kept and lost records, number of threads, files. Drain thread, or any thread after Finish().
  void Describe(trace::Manifest::Host* out) const;
  void DescribeFiles(const std::string& root, std::vector<trace::FileReport>* out) const;
  /// After the collection is finished: ranges that were left out.
  uint64_t marks_before() const { return marks_before_; }

 private:
  struct Output;
  struct Route {
    Output* output;
    drain::Ledger* ledger;
  };

  bool Take(const Entry& entry);
  bool LeavesOut(const std::byte* mark, uint32_t type);
  /// nullptr if there are too many types already.
  Route* Resolve(const Entry& entry, uint16_t level, uint32_t type);
  std::string KindName(RecordClass record_class, uint16_t level, uint32_t type) const;
  bool WriteDictionaries();

  drain::Collection& collection_;
  const std::string host_data_;
  const drain::MessageHandler on_message_;
  std::function<void(const Entry&)> on_record_;
  mutable Reader reader_;
  bool marks_ = true;
  uint64_t marks_from_ = 0, marks_before_ = 0;
  std::unordered_map<uint64_t, Route> routes_;
  uint64_t others_ = 0;                                          // records that got no route
  std::map<std::string, std::unique_ptr<Output>> outputs_;       // by file name
  std::map<std::string, std::unique_ptr<drain::Ledger>> kinds_;  // by kind name
  std::unordered_set<uint32_t> threads_;
  trace::DictionaryFile texts_;
  trace::DictionaryFile types_;
  size_t next_queue_ = 0;  // where a visit ends the next begins, so that no thread comes last for ever
  size_t next_text_ = 0;
  size_t next_type_ = 0;
};

}  // namespace npuprof::host
