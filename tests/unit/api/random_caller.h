// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl_prof.h"
#include "ge/ge_prof.h"
#include "mstx/ms_tools_ext_mem.h"

namespace npuprof {

/// One thread's share of random calls, of every family of the interface. Most are refused, because somebody else changed the
/// state; that is the point. What must hold whatever the others do is expected here.
class RandomCaller {
 public:
  /// @param output  where sessions write
  RandomCaller(unsigned seed, std::string output) : random_(seed), output_(std::move(output)) {}
  ~RandomCaller();
  RandomCaller(const RandomCaller&) = delete;

  void Once();

 private:
  // Sessions and what belongs to them.
  aclprofConfig* Config();
  void Create();
  void Destroy();
  void Set();
  void Status();
  void Graphs();
  void Component();
  void Devices();
  void Attach();
  // What is recorded.
  void Launch();
  void Report();
  void Stamp();
  void DropStamp();
  void Range();
  void Mstx();
  void Heap();
  void Step();
  void Tensors();
  // Subscriptions.
  void Subscribe();
  void Items();

  std::minstd_rand random_;
  const std::string output_;
  std::vector<aclprofConfig*> configs_;
  std::vector<ge::aclgrphProfConfig*> graphs_;
  std::vector<void*> stamps_;
  std::vector<std::pair<mstxDomainHandle_t, mstxRangeId>> ranges_;
  std::vector<aclprofStepInfo*> steps_;
};

}  // namespace npuprof
