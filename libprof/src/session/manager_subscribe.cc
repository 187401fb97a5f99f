// SPDX-License-Identifier: Apache-2.0
// Subscriptions: a session of its own, whose records become operators while they pass.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "session/log.h"
#include "session/manager_control.h"
#include "session/subscription.h"

namespace npuprof {
namespace {

// Files of the session that nobody reads; the oldest go.
constexpr const char* kLimit = "200MB";

Result MakeScratch(std::string* path) {
  const char* base = std::getenv("TMPDIR");
  std::string name = fmt::format("{}/npuprof_subscribe_XXXXXX", base && *base ? base : "/tmp");
  if (!mkdtemp(name.data()))
    return Result::Fail(code::kFailure,
                        fmt::format("no directory can be made for the subscription: {}: {}", name,
                                    std::error_code(errno, std::generic_category()).message()));
  *path = name;
  return Result::Ok();
}

Wanted WantedFor(uint32_t device, int metrics) {
  Wanted wanted;
  wanted.devices = {device};
  wanted.metrics = metrics;
  uint64_t types = ACL_PROF_TASK_TIME;
  if (metrics != ACL_AICORE_NONE) types |= ACL_PROF_AICORE_METRICS;
  wanted.data_types = CompleteDataTypes(types);
  return wanted;
}

}  // namespace

std::optional<uint32_t> Manager::DeviceOf(uint32_t model) const {
  std::lock_guard<OwnedMutex> lock(facts_mutex_);
  const auto found = models_.find(model);
  return found == models_.end() ? std::nullopt : std::optional<uint32_t>(found->second);
}

Result Manager::Subscribe(uint32_t model, const aclprofSubscribeConfig* config) {
  if (Components::InCallback()) return RefuseInCallback("aclprofModelSubscribe");
  const std::optional<uint32_t> device = DeviceOf(model);
  if (!device) return Result::Fail(code::kInvalidModel, fmt::format("model {} is not loaded", model));
  aclprofSubscribeConfig wish;
  if (Result result = CopySubscribeConfig(config, &wish); !result.ok()) return result;
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofModelSubscribe");
  if (mode_ == Mode::kApi)
    return Result::Fail(code::kApiConflict,
                        "aclprofModelSubscribe after aclprofInit; only one of both is possible");
  if (mode_ == Mode::kOff) TakeProfilingMode();
  if (mode_ == Mode::kCommand || dynamic_) return CheckMode("aclprofModelSubscribe");
  if (!wish.times && wish.metrics == ACL_AICORE_NONE)
    return Result::Fail(code::kInvalidParam, "a subscription that asks for neither times nor counters");
  if (subscription_) {
    for (const auto& [other, known] : subscription_->models()) {
      if (other == model)
        return Result::Fail(code::kRepeatSubscribe, fmt::format("model {} is subscribed already", model));
      // One session serves all of them, and it has one group of counters.
      if (known.config.metrics != wish.metrics ||
          (known.device == *device && known.config.times != wish.times))
        return Result::Fail(
            code::kInvalidConfig,
            fmt::format(
                "model {} is subscribed with counter group {} and times {}; this one asks for {} and {}",
                other, known.config.metrics, known.config.times, wish.metrics, wish.times));
    }
    if (Result result = windows_.front()->session->AddDevices({*device}, open_devices_); !result.ok())
      return result;
    subscription_->Add(model, *device, wish);
    TellOfSubscription(model, *device);
    return Result::Ok();
  }
  std::string scratch;
  if (Result result = MakeScratch(&scratch); !result.ok()) return result;
  subscription_ = std::make_unique<Subscription>(scratch);
  subscription_->Add(model, *device, wish);
  mode_ = Mode::kSubscribe;
  TellComponents([this] { return components_.Init(); });
  Settings settings;
  Result result = settings.Set(ACL_PROF_STORAGE_LIMIT, kLimit);
  if (result.ok()) {
    Session::Request request = RequestFor(WantedFor(*device, wish.metrics), scratch, settings);
    request.tap = &subscription_->tap();
    request.notes.clear();
    // Nobody is to look for this directory.
    request.start_components = [this](const Session& session) {
      const ControlLock::Calling calling(control_);
      return components_.Start(CommandFor(session));
    };
    request.stop_components = [this](const Session& session) {
      const ControlLock::Calling calling(control_);
      return TellOfEnd(session);
    };
    std::unique_ptr<Session> fresh;
    result = Session::Prepare(request, &fresh);
    if (result.ok()) {
      if (recording_) GiveWay();
      result = OpenWindow(std::move(fresh), request);
    }
    if (!result.ok()) --starts_;
  }
  if (result.ok()) {
    TellOfSubscription(model, *device);
  } else {
    EndSubscription();
    ResumeRecording();
  }
  gave_way_.reset();  // there is no directory to tell of
  return result;
}

void Manager::TellOfSubscription(uint32_t model, uint32_t device) {
  Components::Command command = CommandFor(*windows_.front()->session);
  command.devices = {device};
  command.model = model;
  TellComponents([&] { return components_.Subscribe(command); });
}

Result Manager::Unsubscribe(uint32_t model) {
  if (Components::InCallback()) return RefuseInCallback("aclprofModelUnSubscribe");
  const Control control(*this);
  if (!control) return RefuseWhileInCallback("aclprofModelUnSubscribe");
  // One that was unloaded since may still be given up; nothing else would end its subscription.
  const bool subscribed = subscription_ && subscription_->models().contains(model);
  if (!subscribed && !DeviceOf(model))
    return Result::Fail(code::kInvalidModel, fmt::format("model {} is not loaded", model));
  if (mode_ == Mode::kApi)
    return Result::Fail(code::kApiConflict,
                        "aclprofModelUnSubscribe after aclprofInit; only one of both is possible");
  if (mode_ == Mode::kCommand || dynamic_) return CheckMode("aclprofModelUnSubscribe");
  if (!subscribed) return Result::Fail(code::kInvalidModel, fmt::format("model {} is not subscribed", model));
  const bool last = subscription_->models().size() == 1;
  TellComponents([&] { return components_.Unsubscribe(model); });
  Result result = Result::Ok();
  // The end of the session brings all records that are under way; otherwise they come within its interval.
  if (last) {
    result = StopWindows(false);
  } else {
    windows_.front()->session->Settle();
  }
  if (const uint64_t lost = subscription_->Remove(model); lost != 0)
    LogError(
        fmt::format("{} operators of subscriptions were lost: their pipe was full or nobody read it", lost));
  if (last) EndSubscription();
  return result;
}

void Manager::EndSubscription() {
  if (!recording_) TellComponents([this] { return components_.Finalize(); });
  RemoveSubscriptionFiles();
  subscription_.reset();
  mode_ = Mode::kOff;
}

void Manager::RemoveSubscriptionFiles() const {
  if (!subscription_) return;
  std::error_code ignored;
  std::filesystem::remove_all(subscription_->directory(), ignored);
}

}  // namespace npuprof
