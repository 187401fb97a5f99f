// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/owned_mutex.h"
#include "session/components.h"
#include "session/config.h"
#include "session/control_lock.h"
#include "session/door.h"
#include "session/fork_locks.h"
#include "session/option_object.h"
#include "session/record_request.h"
#include "session/result.h"
#include "session/session.h"
#include "session/settings.h"
#include "session/subscription.h"
#include "session/window.h"

namespace npuprof {

/// The profiling state of the process: who owns profiling, where results go, settings, and the windows that run. A program
/// that profiles itself may have several, each of devices of its own; whoever else profiles has one.
/// Any thread; one lock serialises everything, and nobody waits for ever for a callback. Functions follow the order of
/// checks and the codes of the aclprof interface.
class Manager {
 public:
  enum class Mode {
    kOff,
    kApi,        ///< aclprofInit() was called
    kCommand,    ///< a configuration or the runtime owns profiling
    kSubscribe,  ///< a model is subscribed
  };

  static Manager& Process();

  Result Init(const char* path, size_t length);
  Result Finalize();
  Result SetConfig(int type, const char* text, size_t length);
  Result Start(const aclprofConfig* config);
  /// Makes the next session ready; Start() opens it and takes nothing from its own configuration.
  Result Warmup(const aclprofConfig* config);
  Result Stop(const aclprofConfig* config);
  /// Ids of the devices of this process, as the program numbers them (device/visible.h); the reason why there are none goes
  /// to @p why.
  std::vector<uint32_t> DeviceIds(std::string* why) const;

  int32_t RegisterComponent(uint32_t module, ProfCommandHandle handle);
  Result DeviceChanged(uint32_t id, bool open);
  /// Until Finalize(), devices join the session when the program opens them, whether it lists them or not.
  Result FollowDevices();

  /// The model manager tells which models are on which device.
  void ModelLoaded(uint32_t model, uint32_t device);
  /// Nothing if the model is on another device.
  void ModelUnloaded(uint32_t model, uint32_t device);

  /// The runtime was initialised, or opens its first device: starts the session that the npuprof command asked for
  /// through the environment (NPUPROF_RECORD_*), or else that of PROFILER_SAMPLECONFIG, once per process.
  Result StartRecording();
  /// The runtime hands on a configuration: starts its session, unless one of the above runs, which comes first.
  /// @param job  name of the job for info.json, or ""
  /// @param off  the text says that profiling is off
  Result StartConfigured(OptionSource source, std::string_view text, const std::string& job, bool* off);
  /// A component of the runtime starts a session. StopRecording() ends it, and StopComponentSession() if it has a @p type.
  /// @param function  of the interface, for sentences
  Result StartComponentSession(RecordRequest request, std::optional<uint32_t> type, const char* function);
  /// Ends the session of a component of that type, and no other.
  Result StopComponentSession(uint32_t type);
  /// Ends whatever the program did not start itself, when the runtime ends.
  Result StopRecording();
  // A recording gives way to a session of the program's own: aclprofStart() ends it. See manager_record.cc.

  /// Sends the operators of a model into a pipe while they run. One session serves all subscriptions.
  Result Subscribe(uint32_t model, const aclprofSubscribeConfig* config);
  Result Unsubscribe(uint32_t model);

  struct Facts {
    Mode mode = Mode::kOff;
    bool running = false;
    uint64_t data_types = 0;  ///< of all windows
    uint64_t begin_ns = 0;    ///< of the window that was started last of those that run
    std::vector<uint32_t> devices;
    std::string directory;  ///< as LastPath() says; "" while a subscription runs, whose files are nobody's
  };
  Result CollectFacts(Facts* facts);
  /// Directory of the window that was started last of those that run, or else of the one that ran last; "" before the first.
  /// Valid until eight more have ended.
  const char* LastPath() const;
  Mode mode() const;

 private:
  Manager();
  static OwnedMutex& FactsLock();
  static OwnedMutex& ComponentsLock();
  static const fork_locks::Lock kForkLocks[];
  static const unsigned kForkLockCount;
  /// The directory that the next one goes on from.
  struct Before {
    std::string name;
    uint64_t marks_from;
  };
  /// Holds the control lock, and before it lets go opens and closes the devices that were told of meanwhile.
  class Control;
  struct DeviceNotice {
    uint32_t id;
    bool open;
  };
  Result StartRecordingLocked();
  void TakeProfilingMode();
  /// A configuration came too late: says so here, in the manifest of the session that runs and in those to come.
  void NotLookedAt(const char* name);
  Result RefuseUnlessOff(const char* who) const;
  /// Starts a session that is not the program's own; a failure leaves no trace.
  Result StartOwned(RecordRequest request, const char* owner);
  Result BeginOwned(const RecordRequest& request);
  Result WaitFor(const RecordRequest& request);
  /// Has the session that has just begun ended in time.
  void EndAfter(std::chrono::milliseconds duration);
  /// The program ends, or stops what waits, before the delay has passed.
  void DropWaiting();
  void InstallExitHandler();
  void LeaveCommandMode();
  /// At once, or later if it has a delay.
  Result AcceptRecording(const RecordRequest& request);
  Result BeginRecording(const RecordRequest& request);
  Result EndRecording();
  /// What was recorded until now is completed, because the program wants to profile itself.
  void GiveWay();
  /// It goes on in another directory: what it gave way to could not be started.
  void ResumeRecording();
  /// Tells the command whose recording gave way where the program's session is.
  void TellWhoGaveWay();
  /// Where the command finds this process; see door.h. @param timed whether a thread is needed in any case
  /// @return why there is no thread although it is needed, or ""
  std::string OpenDoor(bool timed);
  std::string Serve(const std::string& request);
  std::string State(const std::string& directory) const;
  std::optional<Door::Clock::time_point> SeeToTimes();
  Result DeviceChangedLocked(const DeviceNotice& notice);
  void TakeNotices();
  bool HasNotices() const;
  /// Tells the components something and logs who failed.
  template <typename Tell>
  void TellComponents(Tell&& tell);
  Result StartSession(const Wanted& wanted, const std::string& output);
  Session::Request RequestFor(const Wanted& wanted, const std::string& output, const Settings& settings,
                              const Before* before = nullptr);
  Result WantedOf(const aclprofConfig* config, Wanted* wanted) const;
  /// Opens what was prepared: another window.
  Result OpenWindow(std::unique_ptr<Session> fresh, const Session::Request& request);
  Result StartOwn(const Wanted& wanted);
  Result StartWarmed();
  void DiscardWarmed();
  /// The windows that have one of @p devices. Without devices a window, or a list of them, is about the host, which all have.
  std::vector<Window*> WindowsWith(const std::vector<uint32_t>& devices) const;
  /// The one that lists @p device, or nullptr.
  Window* WindowOf(uint32_t device) const;
  /// A start whose devices have a window already: nothing, or it brings more of them. @p joined says whether it was one.
  Result Join(const Wanted& wanted, bool* joined);
  Window* FindWindow(unsigned number) const;
  /// The one whose directory was begun last; nullptr without one.
  const Window* Newest() const;
  void PathBegins(const std::string& path);
  void PathEnds(const std::string& path);
  /// Takes @p window off the list and completes its directory.
  Result StopWindow(Window* window, bool at_exit);
  Result StopWindows(bool at_exit);
  std::optional<uint32_t> DeviceOf(uint32_t model) const;
  void TellOfSubscription(uint32_t model, uint32_t device);
  void EndSubscription();
  void RemoveSubscriptionFiles() const;
  /// Has the next directories begun in time and old ones removed, if settings of the session ask for it.
  void StartKeeper(Window& window, const std::string& output);
  /// Ends the directory of a window and begins the next. False if that is not possible now; the window goes on as it was.
  bool Rotate(unsigned number);
  /// The same with a next directory that is ready; on failure the window has none any more.
  Result TurnOver(Window& window, Session::Request* request, std::unique_ptr<Session>* next);
  /// Takes @p window, whose directory is complete, off the list: what @p request describes could not be opened.
  void LoseWindow(Window* window, const Session::Request& request, const std::string& why);
  /// What all windows but @p without ask of components, with the path of @p newest.
  Components::Command CommandFor(const Session& newest, const Session* without = nullptr) const;
  std::vector<std::string> TellOfEnd(const Session& ending);
  /// @param attaching  for a recording, which a process in dynamic mode waits for
  Result CheckMode(const char* function, bool attaching = false) const;
  void LogAll(const std::vector<std::string>& texts) const;
  static void AtExit();
  static void ForkChild();

  mutable ControlLock control_;
  Mode mode_ = Mode::kOff;
  std::string output_;
  Settings settings_;                       ///< of the next window
  Settings window_settings_;                ///< of the one that was started last
  std::optional<std::string> next_output_;  ///< where ACL_PROF_PATH puts the next window
  bool told_ambiguity_ = false;
  std::set<uint32_t> open_devices_;
  /// In the order of their starts. Has room for as many as there can be from the beginning on: the child of a fork looks
  /// at it, whatever another thread was doing.
  std::vector<std::unique_ptr<Window>> windows_;
  unsigned window_numbers_ = 0;
  std::unique_ptr<Session> warmed_;  ///< prepared by Warmup(), and what it was made of
  Session::Request warm_request_;
  Settings warm_settings_;
  std::optional<std::string> warm_output_;
  std::unique_ptr<Subscription> subscription_;
  Components components_;
  unsigned starts_ = 0;
  std::string owner_;               ///< who profiles in kCommand
  std::string job_;                 ///< for info.json, or ""
  std::vector<std::string> notes_;  ///< for the manifest of the next session
  bool owner_takes_all_devices_ = false;
  bool record_tried_ = false;
  bool handlers_installed_ = false;
  bool mode_read_ = false;   ///< PROFILING_MODE was looked at
  bool dynamic_ = false;     ///< the process waits for whoever attaches, and profiles nothing by itself
  bool timed_mode_ = false;  ///< PROFILING_MODE is delay_or_duration
  std::optional<uint32_t> component_type_;  ///< of the component whose session runs
  std::vector<std::string>
      not_looked_at_;  ///< for the manifest of sessions that the program does not start itself
  bool follow_devices_ = false;
  std::optional<RecordRequest> recording_;  ///< what the running session is for, if it is the command's
  std::optional<RecordRequest> waiting_;    ///< what is to begin when its delay has passed
  bool ends_ = false;                       ///< the running session ends at end_at_
  std::optional<RecordRequest> gave_way_;   ///< what was recorded before the program began to profile itself
  uint64_t recordings_ = 0;                 ///< accepted from the command, by which it knows its own
  Door::Clock::time_point begin_at_{}, end_at_{};
  std::atomic<bool> timed_{false};  ///< one of the two is in the future
  Door door_;
  bool exiting_ = false;

  mutable OwnedMutex facts_mutex_;  // the three below, which callbacks may ask for and change
  std::vector<DeviceNotice> notices_;
  struct Path {
    std::string text;
    bool ended = false;
  };
  std::list<Path> paths_;                // in the order of their starts; their texts stay where they are
  std::map<uint32_t, uint32_t> models_;  // device by model
};

}  // namespace npuprof
