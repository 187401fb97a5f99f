// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_trace.h"

#include <algorithm>

#include "analysis/text.h"

namespace npuprof::analysis {
namespace {

enum Tag : uint16_t {
  kModelStart = 0,
  kModelEnd = 1,
  kForwardStart = 2,
  kBackwardEnd = 3,
  kIterationEnd = 4,
  kReduceFirst = 10000,
  kNextFirst = 20000,
  kNextLast = 29999,
  kStepStart = 60000,
  kStepEnd = 60001,
};

struct Draft {
  std::optional<int64_t> begin, model_begin, forward, backward, end;
  std::map<uint16_t, int64_t> opened;
  Step step;
};

// Even tags open a span, the odd one after it closes it.
void AddSpan(Draft* draft, uint16_t tag, int64_t time, std::vector<Step::Span>* spans) {
  if (tag % 2 == 0) {
    draft->opened[tag] = time;
    return;
  }
  const auto it = draft->opened.find(static_cast<uint16_t>(tag - 1));
  if (it == draft->opened.end() || it->second > time) return;
  spans->push_back({it->second, time});
  draft->opened.erase(it);
}

}  // namespace

std::vector<Step> BuildSteps(const std::vector<StepMark>& marks, const DeviceClock& clock) {
  std::vector<const StepMark*> order;
  for (const auto& mark : marks) order.push_back(&mark);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->time < b->time; });
  std::map<std::pair<uint64_t, uint64_t>, Draft> drafts;  // by model, index
  for (const StepMark* mark : order) {
    const int64_t time = clock.Wall(mark->time);
    if (mark->tag > kIterationEnd && mark->tag < kReduceFirst) continue;  // 11 and others: not of steps
    Draft& draft = drafts[{mark->model, mark->index}];
    switch (mark->tag) {
      case kModelStart:
        draft.model_begin = time;
        break;
      case kModelEnd:
        break;
      case kForwardStart:
        draft.forward = time;
        break;
      case kBackwardEnd:
        draft.backward = time;
        break;
      case kStepStart:
        draft.begin = time;
        break;
      case kIterationEnd:
      case kStepEnd:
        draft.end = time;
        break;
      default:
        if (mark->tag < kNextFirst) {
          AddSpan(&draft, mark->tag, time, &draft.step.reduces);
        } else if (mark->tag <= kNextLast) {
          AddSpan(&draft, mark->tag, time, &draft.step.next_batches);
        }
    }
  }
  std::vector<Step> steps;
  std::optional<int64_t> previous_end;
  std::optional<uint64_t> model;
  for (auto& [key, draft] : drafts) {
    if (model != key.first) previous_end.reset();
    model = key.first;
    if (!draft.end) continue;
    Step step = std::move(draft.step);
    step.model = key.first;
    step.index = key.second;
    step.end = *draft.end;
    step.forward_begin = draft.forward;
    step.backward_end = draft.backward;
    step.begin = draft.begin     ? draft.begin
                 : previous_end  ? previous_end
                 : draft.forward ? draft.forward
                                 : draft.model_begin;
    if (step.begin && *step.begin > step.end) step.begin.reset();
    if (draft.forward && previous_end && *draft.forward >= *previous_end)
      step.data_bound = *draft.forward - *previous_end;
    previous_end = step.end;
    steps.push_back(std::move(step));
  }
  return steps;
}

uint64_t WriteStepTrace(const TablePlace& place, const std::map<int, std::vector<Step>>& steps) {
  uint64_t rows = 0;
  size_t reduces = 0;
  for (const auto& [device, list] : steps) {
    rows += list.size();
    for (const auto& step : list) reduces = std::max(reduces, step.reduces.size());
  }
  if (rows == 0) return 0;
  CsvFile file(place);
  for (const char* name :
       {"Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)",
        "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID"}) {
    file.Cell(name);
  }
  for (size_t i = 0; i < reduces; ++i) file.Cell("Reduce Start(us)").Cell("Reduce Duration(us)");
  file.EndRow();
  const auto moment = [&](const std::optional<int64_t>& ns) { ns ? file.Moment(*ns) : file.Cell("N/A"); };
  const auto length = [&](const std::optional<int64_t>& from, const std::optional<int64_t>& to) {
    from&& to&&* to >= *from ? file.Micros(*to - *from) : file.Cell("N/A");
  };
  for (const auto& [device, list] : steps) {
    for (const auto& step : list) {
      file.Number(static_cast<uint64_t>(device)).Number(step.index);
      moment(step.forward_begin);
      moment(step.backward_end);
      moment(step.end);
      length(step.begin, step.end);
      length(step.forward_begin, step.backward_end);
      length(step.backward_end, step.end);
      step.data_bound ? file.Micros(*step.data_bound) : file.Cell("N/A");
      file.Number(step.model);
      for (size_t i = 0; i < reduces; ++i) {
        if (i < step.reduces.size()) {
          file.Moment(step.reduces[i].begin).Micros(step.reduces[i].end - step.reduces[i].begin);
        } else {
          file.Cell("N/A").Cell("N/A");
        }
      }
      file.EndRow();
    }
  }
  file.Commit();
  return rows;
}

}  // namespace npuprof::analysis
