// SPDX-License-Identifier: Apache-2.0
#include "analysis/json_timeline.h"

#include <system_error>

namespace npuprof::analysis {
namespace {

void AddArgs(std::span<const TimelineArg> args, TextBuffer* text) {
  bool first = true;
  for (const TimelineArg& arg : args) {
    if (!first) text->Add(',');
    first = false;
    text->JsonString(arg.key).Add(':');
    switch (arg.kind) {
      case TimelineArg::Kind::kNumber:
        text->Number(arg.number);
        break;
      case TimelineArg::Kind::kReal:
        text->JsonReal(arg.real);
        break;
      case TimelineArg::Kind::kMicros:
        text->JsonMicros(arg.ns);
        break;
      case TimelineArg::Kind::kText:
        text->JsonString(arg.text);
        break;
    }
  }
}

}  // namespace

JsonTimeline::JsonTimeline(const std::filesystem::path& path, uint64_t most_bytes)
    : path_(path), most_bytes_(most_bytes), file_(std::make_unique<OutputFile>(path)) {
  file_->Write("[");
}

JsonTimeline::~JsonTimeline() {
  if (committed_) return;
  std::error_code ignored;
  for (uint64_t slice = 0; slice < slices_; ++slice)
    std::filesystem::remove(SlicePath(path_, slice), ignored);
}

TextBuffer& JsonTimeline::Next() {
  ++events_;
  if (in_file_++ > 0) file_->text().Add(",\n");
  return file_->text().Add(R"({"name":)");
}

TextBuffer& JsonTimeline::Begin() {
  if (file_->bytes() > most_bytes_) NextFile();
  return Next();
}

TextBuffer& JsonTimeline::Name(std::string_view kind) {
  ++events_;
  if (metadata_.size() > 0) metadata_.Add(",\n");
  return metadata_.Add(R"({"name":)").JsonString(kind);
}

// Does not begin a file: what it names follows.
void JsonTimeline::EndNames() {
  if (in_file_++ > 0) file_->text().Add(",\n");
  file_->Write(metadata_.view());
  if (!named_.empty()) named_ += ",\n";
  named_ += metadata_.view();
  metadata_.Clear();
}

void JsonTimeline::NextFile() {
  file_->Write("]\n");
  file_->CommitAs(SlicePath(path_, slices_++));
  file_ = std::make_unique<OutputFile>(path_);
  file_->Write("[");
  file_->Write(named_);
  in_file_ = named_.empty() ? 0 : 1;
}

void JsonTimeline::Process(uint64_t process, std::string_view name, std::string_view label, unsigned rank) {
  const auto metadata = [&](std::string_view kind) -> TextBuffer& {
    return Name(kind).Add(R"(,"pid":)").Number(process).Add(R"(,"tid":0,"ph":"M","args":{)");
  };
  metadata("process_name").Add(R"("name":)").JsonString(name).Add("}}");
  metadata("process_labels").Add(R"("labels":)").JsonString(label).Add("}}");
  metadata("process_sort_index").Add(R"("sort_index":)").Number(rank).Add("}}");
  EndNames();
}

void JsonTimeline::Thread(uint64_t process, uint64_t thread, std::string_view name) {
  const auto metadata = [&](std::string_view kind) -> TextBuffer& {
    return Name(kind)
        .Add(R"(,"pid":)")
        .Number(process)
        .Add(R"(,"tid":)")
        .Number(thread)
        .Add(R"(,"ph":"M","args":{)");
  };
  metadata("thread_name").Add(R"("name":)").JsonString(name).Add("}}");
  metadata("thread_sort_index").Add(R"("sort_index":)").Number(thread).Add("}}");
  EndNames();
}

void JsonTimeline::Slice(const TimelineSlice& slice) {
  TextBuffer& text = Begin();
  if (slice.prefix.empty()) {
    text.JsonString(slice.name);
  } else {
    name_.Clear();
    name_.Add(slice.prefix).Add(slice.name);
    text.JsonString(name_.view());
  }
  text.Add(R"(,"pid":)").Number(slice.process).Add(R"(,"tid":)").Number(slice.thread);
  text.Add(R"(,"ts":")").Micros(slice.begin_ns).Add(R"(","dur":)").JsonMicros(slice.end_ns - slice.begin_ns);
  text.Add(R"(,"ph":"X")");
  if (!slice.category.empty()) text.Add(R"(,"cat":)").JsonString(slice.category);
  text.Add(R"(,"args":{)");
  AddArgs(slice.args, &text);
  text.Add("}}");
  if (slice.flow) Flow(slice);
  End();
}

void JsonTimeline::Flow(const TimelineSlice& slice) {
  const TimelineFlow& flow = *slice.flow;
  const bool start = flow.end == TimelineFlow::End::kStart;
  TextBuffer& text = Next();  // in the file of its slice
  text.Add('"').Add(flow.name).Number(flow.id).Add(R"(","pid":)").Number(slice.process);
  text.Add(R"(,"tid":)").Number(slice.thread).Add(start ? R"(,"ph":"s","cat":")" : R"(,"ph":"f","cat":")");
  text.Add(flow.category).Add(R"(","id":")").Number(flow.id).Add(R"(","ts":")").Micros(slice.begin_ns);
  text.Add(start ? R"("})" : R"(","bp":"e"})");
}

void JsonTimeline::Counter(uint64_t process, std::string_view name, int64_t wall_ns,
                           std::span<const TimelineArg> values) {
  TextBuffer& text = Begin().JsonString(name);
  text.Add(R"(,"pid":)").Number(process).Add(R"(,"tid":0,"ts":")").Micros(wall_ns);
  text.Add(R"(","ph":"C","args":{)");
  AddArgs(values, &text);
  text.Add("}}");
  End();
}

std::vector<std::filesystem::path> JsonTimeline::files() const {
  if (slices_ == 0) return {path_};
  std::vector<std::filesystem::path> files;
  for (uint64_t slice = 0; slice <= slices_; ++slice) files.push_back(SlicePath(path_, slice));
  return files;
}

void JsonTimeline::Commit() {
  file_->Write("]\n");
  file_->CommitAs(files().back());
  committed_ = true;
}

}  // namespace npuprof::analysis
