// SPDX-License-Identifier: Apache-2.0
#include "host/host_source.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "host/clock.h"
#include "host/dictionary.h"
#include "profiling/aprof_pub.h"

namespace npuprof::host {
namespace {

// Bounds one visit to a few milliseconds.
constexpr size_t kBytesPerVisit = size_t{4} << 20;
constexpr size_t kTextsPerVisit = 4096;

// Each kind is an open file of the program's process; runtimes have some dozens.
constexpr size_t kMostFiles = 128;
constexpr size_t kLongestName = 200;  // of a type: with what is added it has to stay a file name

constexpr const char* kCalls = "api_event";
constexpr uint32_t kMarks = 0;                  // type of the marks of the program, at their level
constexpr const char* kOthers = "other types";  // no usable name has a space

bool UsableInFileName(const std::string& name) {
  if (name.size() > kLongestName || name == "hash_dic" || name == "type_info_dic") return false;
  for (char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  }
  return !name.empty();
}

}  // namespace

struct HostSource::Output {
  Output(drain::Collection& collection, trace::RecordSpec spec) : file(collection, std::move(spec)) {}
  trace::RecordFile file;
};

HostSource::HostSource(drain::Collection& collection, std::string host_data, drain::MessageHandler on_message)
    : collection_(collection),
      host_data_(std::move(host_data)),
      on_message_(std::move(on_message)),
      texts_(collection, host_data_, trace::DictionaryFile::Kind::kHash),
      types_(collection, host_data_, trace::DictionaryFile::Kind::kType) {}

HostSource::~HostSource() {
  Leave();
}

bool HostSource::Open(size_t segments) {
  return QueueSet::Process().Open(segments, &reader_);
}
void HostSource::Close() {
  QueueSet::Process().Close(&reader_);
}
void HostSource::Leave() {
  QueueSet::Process().Leave(&reader_);
}

std::string HostSource::KindName(RecordClass record_class, uint16_t level, uint32_t type) const {
  if (record_class == RecordClass::kApiEvent) return kCalls;
  std::string name = Dictionary::Process().TypeName(level, type);
  if (UsableInFileName(name)) return name;
  return "level_" + std::to_string(level) + "_type_" + std::to_string(type);
}

HostSource::Route* HostSource::Resolve(const Entry& entry, uint16_t level, uint32_t type) {
  const bool calls = entry.record_class == RecordClass::kApiEvent;
  uint64_t key = uint64_t{static_cast<uint8_t>(entry.record_class)} << 56 | uint64_t{entry.aging} << 55;
  if (!calls) key |= uint64_t{level} << 32 | type;
  if (auto known = routes_.find(key); known != routes_.end()) return &known->second;
  if (routes_.size() >= kMostFiles) return nullptr;

  const std::string kind = KindName(entry.record_class, level, type);
  if (!calls && Dictionary::Process().TypeName(level, type) != kind) {
    on_message_(
        drain::Severity::kWarning,
        "records of level " + std::to_string(level) + " type " + std::to_string(type) +
            " have no registered name of at most " + std::to_string(kLongestName) +
            " letters, digits and _ other than the dictionaries', so readers will not find their file " +
            kind);
  }
  std::string tag = calls ? std::string(kCalls) + ".data"
                          : (entry.record_class == RecordClass::kCompact ? "compact." : "additional.") + kind;
  const std::string name = trace::HostFileName(entry.aging, tag);
  auto& output = outputs_[name];
  if (!output) {
    trace::RecordSpec spec;
    spec.directory = host_data_;
    spec.name = name;
    spec.record_size = entry.size;
    output = std::make_unique<Output>(collection_, std::move(spec));
  }
  auto& ledger = kinds_[kind];
  if (!ledger) ledger = std::make_unique<drain::Ledger>();
  return &routes_.emplace(key, Route{output.get(), ledger.get()}).first->second;
}

bool HostSource::LeavesOut(const std::byte* mark, uint32_t type) {
  if (!marks_) return true;
  if (type != kMarks) return false;  // whose times are not known
  uint64_t start;
  uint16_t piece;  // of its message
  std::memcpy(&start, mark + offsetof(MsprofAdditionalInfo, timeStamp), sizeof(start));
  std::memcpy(&piece, mark + offsetof(MsprofAdditionalInfo, data) + sizeof(piece), sizeof(piece));
  if (start >= marks_from_) return false;
  marks_before_ += piece == 0;
  return true;
}

bool HostSource::Take(const Entry& entry) {
  const std::byte* record = entry.record();
  uint16_t level;
  uint32_t type;
  std::memcpy(&level, record + 2, sizeof(level));
  std::memcpy(&type, record + 4, sizeof(type));
  if (level == MSPROF_REPORT_TX_LEVEL && LeavesOut(record, type)) return true;
  Route* route = Resolve(entry, level, type);
  if (route) {
    if (route->output->file.Append(record, 1, route->ledger) != 1) return false;
    if (on_record_) on_record_(entry);
    return true;
  }
  if (others_++ == 0) {
    on_message_(drain::Severity::kError, "records of more than " + std::to_string(kMostFiles) +
                                             " types were reported; those of level " + std::to_string(level) +
                                             " type " + std::to_string(type) +
                                             " and of all further types are lost");
  }
  return true;
}

bool HostSource::WriteDictionaries() {
  // The lock of the dictionary is held meanwhile, so only so many at a time.
  auto& dictionary = Dictionary::Process();
  bool room = true;
  next_type_ = dictionary.ForEachType(next_type_, kTextsPerVisit, [&](const Dictionary::Type& entry) {
    return room = types_.AddType(entry.level, entry.type, entry.name);
  });
  if (!room) return false;
  next_text_ = dictionary.ForEachText(next_text_, kTextsPerVisit, [&](const Dictionary::Text& entry) {
    return room = texts_.AddHash(entry.id, entry.text);
  });
  return room;
}

drain::Progress HostSource::Poll(const drain::Pass& pass) {
  drain::Progress progress;
  auto& set = QueueSet::Process();
  std::lock_guard<std::mutex> lock(set.consumer());

  const size_t total = set.pool().total();
  if (total) progress.pressure = static_cast<unsigned>((total - set.pool().free()) * 100 / total);

  size_t budget = kBytesPerVisit;
  const size_t used = set.used();
  for (size_t served = 0; served < used && !progress.blocked; ++served) {
    if (next_queue_ >= used) next_queue_ = 0;
    const size_t i = next_queue_++;
    const bool taken = set.Consume(i, reader_, &budget, [&](const Entry& entry) {
      if (!Take(entry)) return false;
      uint32_t thread;
      std::memcpy(&thread, entry.record() + 8, sizeof(thread));
      if (reader_.IsFreshThread(i, thread)) threads_.insert(thread);
      return true;
    });
    progress.blocked = !taken;
    if (budget == 0) {
      progress.more = true;
      break;
    }
  }
  if (!progress.blocked && !WriteDictionaries()) progress.blocked = true;
  if (pass.final && !progress.blocked) {
    auto& dictionary = Dictionary::Process();
    progress.more |= next_text_ < dictionary.texts() || next_type_ < dictionary.types();
  }
  return progress;
}

void HostSource::Describe(trace::Manifest::Host* out) const {
  std::map<std::string, trace::Manifest::Kind> kinds;
  for (const auto& [name, ledger] : kinds_) {
    auto& kind = kinds[name];
    kind.records = ledger->accepted - ledger->lost;
    kind.lost = ledger->lost;
    if (ledger->lost) out->lost_by_cause["write_failed"] += ledger->lost;
  }
  if (others_) {
    kinds[kOthers].lost = others_;
    out->lost_by_cause["too_many_types"] = others_;
  }
  std::lock_guard<std::mutex> lock(QueueSet::Process().consumer());
  QueueSet::Process().CollectLosses();
  for (const auto& [lost, count] : reader_.lost()) {
    const auto& [record_class, level, type, cause] = lost;
    if (!marks_ && level == MSPROF_REPORT_TX_LEVEL) continue;
    kinds[KindName(record_class, level, type)].lost += count;
    out->lost_by_cause[LossCauseName(cause)] += count;
  }
  const ClockPair now = ReadPair();
  const double hz = MeasureHz();
  for (const auto& [where, place] : reader_.places()) {
    const auto [thread, cause] = where;
    out->losses.push_back({thread, thread == LossPlaces::kOthers, LossCauseName(cause), place.count,
                           MonotonicRawNsAt(place.first, now, hz), MonotonicRawNsAt(place.last, now, hz)});
  }
  std::sort(out->losses.begin(), out->losses.end(),
            [](const auto& a, const auto& b) { return a.first_ns < b.first_ns; });
  for (auto& [name, kind] : kinds) {
    kind.kind = name;
    out->kinds.push_back(kind);
  }
  out->threads = static_cast<uint32_t>(threads_.size());
}

void HostSource::DescribeFiles(const std::string& root, std::vector<trace::FileReport>* out) const {
  for (const auto& [name, output] : outputs_) out->push_back(output->file.Report(root));
  out->push_back(texts_.file().Report(root));
  out->push_back(types_.file().Report(root));
}

}  // namespace npuprof::host
