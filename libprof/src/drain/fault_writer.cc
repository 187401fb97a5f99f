// SPDX-License-Identifier: Apache-2.0
#include "drain/fault_writer.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace npuprof::drain {
namespace {

using Clock = std::chrono::steady_clock;

struct Faults {
  struct Span {
    uint64_t from = 0, length = 0;
  };
  Span stall, error;
  Span call_stall[4], call_error[4];  // by FileCall
  uint64_t room = UINT64_MAX, most = UINT64_MAX;
};

constexpr std::string_view kStalls[] = {"stall-open", "stall-finish", "stall-remove", "stall-manifest"};
// That something is not removed has no consequence but the room it takes.
constexpr std::string_view kErrors[] = {"error-open", "error-finish", "", "error-manifest"};

bool ParseNumber(std::string_view text, uint64_t* out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return code == std::errc() && end == text.data() + text.size();
}

bool ParseSpan(std::string_view text, Faults::Span* out) {
  const size_t colon = text.find(':');
  return colon != std::string_view::npos && ParseNumber(text.substr(0, colon), &out->from) &&
         ParseNumber(text.substr(colon + 1), &out->length);
}

bool ParseFault(std::string_view item, Faults* out) {
  const size_t equals = item.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = item.substr(0, equals), value = item.substr(equals + 1);
  if (name == "stall") return ParseSpan(value, &out->stall);
  for (size_t kind = 0; kind < std::size(kStalls) && !name.empty(); ++kind) {
    if (name == kStalls[kind]) return ParseSpan(value, &out->call_stall[kind]);
    if (name == kErrors[kind]) return ParseSpan(value, &out->call_error[kind]);
  }
  if (name == "error") return ParseSpan(value, &out->error);
  if (name == "full") return ParseNumber(value, &out->room);
  return name == "short" && ParseNumber(value, &out->most) && out->most > 0 && out->most <= INT_MAX;
}

}  // namespace

bool FaultWriter::Try(WriteOp* op) {
  const int verdict = rule_(*op);
  if (verdict == kHold) return false;
  if (verdict < 0) {
    op->result = verdict;
    done_.push_back(op);
    return true;
  }
  if (verdict > 0) {
    op->part_count = 1;
    op->parts[0].iov_len = std::min<size_t>(op->parts[0].iov_len, static_cast<size_t>(verdict));
  }
  return inner_->Submit(op);
}

bool FaultWriter::Submit(WriteOp* op) {
  if (!Try(op)) held_.push_back(op);
  return true;
}

void FaultWriter::Kick() {
  do {
    for (size_t left = held_.size(); left > 0; --left) {
      WriteOp* op = held_.front();
      held_.pop_front();
      if (!Try(op)) held_.push_back(op);
    }
    const timespec rest{0, 5'000'000};
    if (blocks_ && !held_.empty()) nanosleep(&rest, nullptr);
  } while (blocks_ && !held_.empty());
  inner_->Kick();
}

WriteOp* FaultWriter::Reap() {
  if (done_.empty()) return inner_->Reap();
  WriteOp* op = done_.front();
  done_.pop_front();
  return op;
}

unsigned FaultWriter::in_flight() const {
  return inner_->in_flight() + static_cast<unsigned>(done_.size() + held_.size());
}

DiskFault DiskFaultFromEnvironment(std::vector<std::string>* warnings) {
  const char* value = std::getenv("NPUPROF_DISK_FAULT");
  if (value == nullptr || *value == '\0') return {};
  Faults faults;
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (ParseFault(item, &faults)) continue;
    if (warnings != nullptr) {
      warnings->push_back(
          fmt::format("NPUPROF_DISK_FAULT has \"{}\"; allowed are stall=<ms>:<ms>, stall-open, stall-finish, "
                      "stall-remove and "
                      "stall-manifest with times like it, error=<ms>:<ms>, error-open, error-finish and "
                      "error-manifest, full=<bytes> and short=<bytes>, "
                      "joined by commas; no "
                      "fault is injected",
                      item));
    }
    return {};
  }
  const auto within = [begin = Clock::now()](const Faults::Span& span) {
    const auto now = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
    return now >= span.from && now - span.from < span.length;
  };
  DiskFault fault;
  fault.before_file_call = [within, faults](FileCall kind) {
    const timespec pause{0, 5'000'000};
    while (within(faults.stall) || within(faults.call_stall[static_cast<size_t>(kind)]))
      nanosleep(&pause, nullptr);
    return within(faults.call_error[static_cast<size_t>(kind)]) ? EIO : 0;
  };
  fault.rule = [within, faults](const WriteOp& op) mutable -> int {
    if (within(faults.stall)) return FaultWriter::kHold;
    if (within(faults.error)) return -EIO;
    if (faults.room == 0) return -ENOSPC;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < op.part_count; ++i) bytes += op.parts[i].iov_len;
    // A write that is cut takes of its first part alone.
    uint64_t most = std::min(faults.most, faults.room);
    if (most < bytes) most = std::min<uint64_t>(most, op.parts[0].iov_len);
    if (faults.room != UINT64_MAX) faults.room -= std::min(most, bytes);
    return most < bytes ? static_cast<int>(most) : 0;
  };
  return fault;
}

}  // namespace npuprof::drain
