// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled (pthread_cancel) while they are in a call: the call is completed, and the thread ends behind it.
#include <pthread.h>

#include <functional>

#include "fixture.h"
#include "mstx/ms_tools_ext.h"
#include "npuprof/acl_prof_loaded.h"

namespace npuprof {
namespace {

class Cancel : public ApiTest {
 protected:
  struct Entry {
    std::function<int()> make;
    int code = -2;
    bool went_on = false;
  };
  /// Makes a call on a thread that is to be cancelled at the first opportunity. @return what the call came to; -3 if the thread
  /// did not end where it is the first time that it could
  static int Cancelled(std::function<int()> make) {
    Entry call{std::move(make)};
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, Run, &call), 0);
    void* end = nullptr;
    EXPECT_EQ(pthread_join(thread, &end), 0);
    return end == PTHREAD_CANCELED && !call.went_on ? call.code : -3;
  }

 private:
  static void* Run(void* of) {
    Entry& call = *static_cast<Entry*>(of);
    pthread_cancel(pthread_self());
    call.code = call.make();
    pthread_testcancel();
    call.went_on = true;
    return nullptr;
  }
};

int32_t Look(uint32_t, void*, uint32_t) {
  pthread_testcancel();
  return 0;
}

TEST_F(Cancel, ACallIsCompletedAndTheThreadEndsBehindIt) {
  ASSERT_EQ(MsprofRegisterCallback(MSPROF_MODULE_AICPU, Look), 0);
  setenv("NPUPROF_LOG", "1", 1);  // what is refused is written to standard error
  aclprofConfig* config = Config({}, ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
  const std::string path = directory_.string();
  EXPECT_EQ(Cancelled([&] { return aclprofInit(path.c_str(), path.size()); }), 0);
  EXPECT_EQ(Cancelled([&] { return aclprofInit(path.c_str(), path.size()); }), 100002);
  EXPECT_EQ(Cancelled([&] { return aclprofWarmup(config); }), 0);
  EXPECT_EQ(Cancelled([&] { return aclprofStart(config); }), 0);
  EXPECT_EQ(Cancelled([&] {
              mstxMarkA("text", nullptr);
              const MsprofApi api = Call(1);
              MsprofReportApi(1, &api);
              return aclprofMark(nullptr);
            }),
            -1);
  EXPECT_EQ(Cancelled([&] { return aclprofStop(config); }), 0);
  EXPECT_EQ(Cancelled([] { return aclprofFinalize(); }), 0);
  ASSERT_EQ(ProfDirectories().size(), 1u);
  const auto manifest = Manifest(ProfDirectories().at(0));
  EXPECT_EQ(manifest["complete"], true) << manifest["messages"];
  EXPECT_EQ(Kept(manifest, "api_event"), 1u);
  EXPECT_EQ(Kept(manifest, "msproftx"), 1u);
  EXPECT_EQ(aclprofDestroyConfig(config), 0);
}

}  // namespace
}  // namespace npuprof
