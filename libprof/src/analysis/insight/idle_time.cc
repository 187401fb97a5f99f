// SPDX-License-Identifier: Apache-2.0
#include "analysis/insight/idle_time.h"

#include <algorithm>

namespace npuprof::analysis {
namespace {

// A phase is host-bound if at least so many gaps of the host's follow each other with no more than so many operators
// between two of them.
constexpr uint64_t kGapsOfPhase = 8, kOperatorsBetween = 4;

size_t At(Activity activity) {
  return static_cast<size_t>(activity);
}

size_t At(Cause cause) {
  return static_cast<size_t>(cause);
}

template <typename Counts>
Cause Of(const Counts& running) {
  if (running[At(Activity::kTransfer)] > 0) return Cause::kCommunication;
  if (running[At(Activity::kCollectiveWait)] > 0) return Cause::kCollectiveWait;
  if (running[At(Activity::kCopy)] > 0) return Cause::kCopy;
  return Cause::kUnknown;
}

bool OfHost(Cause cause) {
  return cause == Cause::kHostLate || cause == Cause::kSynchronising;
}

// What is known of the submission of the operator that ends a gap.
struct Submission {
  bool known = false;
  int64_t time = 0;
  const HostCalls::Spans* waits = nullptr;

  bool WaitsAt(int64_t time_ns) const {
    if (!waits) return false;
    const auto after = std::partition_point(waits->begin(), waits->end(),
                                            [&](const auto& span) { return span.first <= time_ns; });
    return after != waits->begin() && std::prev(after)->second > time_ns;
  }
};

template <typename Counts>
Cause CauseAt(int64_t time, const Counts& own, const Counts& all, const Submission& submission) {
  if (const Cause cause = Of(own); cause != Cause::kUnknown) return cause;
  if (own[At(Activity::kWait)] > 0) return Of(all);
  if (!submission.known || submission.time <= time) return Cause::kUnknown;
  if (!submission.WaitsAt(time)) return Cause::kHostLate;
  const Cause awaited = Of(all);
  return awaited == Cause::kUnknown ? Cause::kSynchronising : awaited;
}

}  // namespace

int64_t IdleTime::Add(const TaskView& view, Activity activity) {
  if (!any_) window_begin_ = busy_until_ = view.start_ns;
  any_ = true;
  window_end_ = std::max(window_end_, view.end_ns);
  if (activity == Activity::kNothing) return 0;
  if (activity != Activity::kCompute) {
    if (view.end_ns > view.start_ns)
      running_.push_back({view.start_ns, view.end_ns, view.task->stream, activity});
    return 0;
  }
  const int64_t waited = view.start_ns > busy_until_ ? Close(busy_until_, view.start_ns, &view) : 0;
  busy_until_ = std::max(busy_until_, view.end_ns);
  ++operators_;
  return waited;
}

int64_t IdleTime::Close(int64_t begin, int64_t end, const TaskView* next) {
  std::erase_if(running_, [&](const Running& r) { return r.end <= begin; });
  if (end - begin < kShortNs) {
    Append(begin, end, kBetween);
    return 0;
  }

  Submission submission;
  // A captured task was submitted long before the replay that ran it.
  if (next && next->track && next->model == kNoModel && calls_.known()) {
    submission = {true, host_.clock().Wall(next->track->time), calls_.Waits(*next->track)};
  }
  // The gap falls into pieces in each of which nothing changes.
  struct Event {
    int64_t time;
    const Running* task;  // null: only a border
    bool starts;
  };
  std::vector<Event> events;
  const auto border = [&](int64_t time) {
    if (time > begin && time < end) events.push_back({time, nullptr, false});
  };
  for (const Running& r : running_) {
    events.push_back({std::max(r.begin, begin), &r, true});
    if (r.end < end) events.push_back({r.end, &r, false});
  }
  if (submission.known) border(submission.time);
  if (submission.waits) {
    const auto& waits = *submission.waits;
    auto span = std::partition_point(waits.begin(), waits.end(),
                                     [&](const auto& wait) { return wait.second <= begin; });
    for (; span != waits.end() && span->first < end; ++span) {
      border(span->first);
      border(span->second);
    }
  }
  events.push_back({end, nullptr, false});
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });

  Draft draft{{}, next && next->op ? next->op->name : next && next->track ? next->track->kernel : 0};
  Gap& gap = draft.gap;
  gap.begin_ns = begin;
  gap.end_ns = end;
  gap.next_index = operators_;
  gap.stream = next ? next->task->stream : uint16_t{0};
  Counts own{}, all{};
  int64_t now = begin;
  Cause before = Cause::kUnknown;
  for (const Event& event : events) {
    if (event.time > now) {
      // Without an operator that is waited for, every stream counts.
      Cause cause = next ? CauseAt(now, own, all, submission) : Of(all);
      if (cause == Cause::kUnknown && event.time - now < kShortNs) cause = before;
      gap.parts[At(cause)] += event.time - now;
      Append(now, event.time, static_cast<uint8_t>(cause));
      before = cause;
      now = event.time;
    }
    if (!event.task) continue;
    const size_t activity = At(event.task->activity);
    const unsigned change = event.starts ? 1 : -1U;
    all[activity] += change;
    if (next && event.task->stream == next->task->stream) own[activity] += change;
  }
  const auto largest = std::max_element(gap.parts.begin(), gap.parts.end());
  gap.cause = *largest * 2 >= end - begin ? static_cast<Cause>(largest - gap.parts.begin()) : Cause::kUnknown;
  ++counts_[At(gap.cause)];
  Follow(gap);
  const int64_t waited = gap.parts[At(Cause::kHostLate)] + gap.parts[At(Cause::kSynchronising)];
  Keep(std::move(draft));
  return waited;
}

void IdleTime::Append(int64_t begin, int64_t end, uint8_t cause) {
  if (!segments_.empty() && segments_.back().end == begin && segments_.back().cause == cause)
    segments_.back().end = end;
  else
    segments_.push_back({begin, end, cause});
}

void IdleTime::Keep(Draft draft) {
  gaps_.push_back(std::move(draft));
  if (gaps_.size() < 2 * most_gaps_ + 2) return;
  std::nth_element(gaps_.begin(), gaps_.begin() + static_cast<ptrdiff_t>(most_gaps_), gaps_.end(),
                   [](const Draft& a, const Draft& b) {
                     return a.gap.end_ns - a.gap.begin_ns > b.gap.end_ns - b.gap.begin_ns;
                   });
  gaps_.resize(most_gaps_);
}

void IdleTime::Follow(const Gap& gap) {
  if (!OfHost(gap.cause)) return;
  if (phase_.gaps > 0 && gap.next_index - phase_last_ > kOperatorsBetween) EndPhase();
  if (phase_.gaps == 0) {
    phase_.begin_ns = gap.begin_ns;
    phase_first_ = gap.next_index;
  }
  ++phase_.gaps;
  phase_.idle_ns += gap.parts[At(Cause::kHostLate)] + gap.parts[At(Cause::kSynchronising)];
  phase_.end_ns = gap.end_ns;
  phase_last_ = gap.next_index;
}

void IdleTime::EndPhase() {
  phase_.operators = phase_last_ - phase_first_;
  if (phase_.gaps >= kGapsOfPhase) phases_.push_back(phase_);
  phase_ = {};
}

void IdleTime::Finish(const StringPool& pool, DeviceInsight* into) {
  if (window_end_ > busy_until_) Close(busy_until_, window_end_, nullptr);
  if (phase_.gaps > 0) EndPhase();
  running_.clear();
  if (gaps_.size() > most_gaps_) {
    std::sort(gaps_.begin(), gaps_.end(), [](const Draft& a, const Draft& b) {
      return a.gap.end_ns - a.gap.begin_ns > b.gap.end_ns - b.gap.begin_ns;
    });
    gaps_.resize(most_gaps_);
  }
  std::sort(gaps_.begin(), gaps_.end(),
            [](const Draft& a, const Draft& b) { return a.gap.begin_ns < b.gap.begin_ns; });
  for (Draft& draft : gaps_) {
    draft.gap.next = draft.name == 0 ? "" : pool[draft.name];
    into->gaps.push_back(std::move(draft.gap));
  }
  into->operators = operators_;
  into->begin_ns = window_begin_;
  into->end_ns = window_end_;
  into->gap_counts = counts_;
  into->phases = std::move(phases_);
  into->time = Split(window_begin_, window_end_);
}

TimeSplit IdleTime::Split(int64_t begin, int64_t end) const {
  TimeSplit split;
  begin = std::max(begin, window_begin_);
  end = std::min(end, window_end_);
  if (end <= begin) return split;
  split.window_ns = split.compute_ns = end - begin;
  auto segment = std::partition_point(segments_.begin(), segments_.end(),
                                      [&](const Segment& s) { return s.end <= begin; });
  for (; segment != segments_.end() && segment->begin < end; ++segment) {
    const int64_t part = std::min(segment->end, end) - std::max(segment->begin, begin);
    split.compute_ns -= part;
    (segment->cause == kBetween ? split.between_ns : split.idle[segment->cause]) += part;
  }
  return split;
}

std::vector<IdleTime::Span> IdleTime::Idle() const {
  std::vector<Span> spans;
  for (const Segment& segment : segments_) {
    if (!spans.empty() && spans.back().end == segment.begin)
      spans.back().end = segment.end;
    else
      spans.push_back({segment.begin, segment.end});
  }
  return spans;
}

}  // namespace npuprof::analysis
