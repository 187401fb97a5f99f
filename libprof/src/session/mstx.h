// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/owned_mutex.h"
#include "mstx/ms_tools_ext.h"

/// What the mstx functions do while the profiler listens. Any thread.
namespace npuprof::mstx {

inline constexpr uint64_t kToolId = 0x1000;
inline constexpr size_t kMostDomains = 4096;

/// Which domains sessions record, by name; "default" is that of marks without one. At most one list is used.
struct Filter {
  std::vector<std::string> include, exclude;
};
/// Lists of a configuration that starts sessions in place of the program, for the sessions to come; "" and "" for none.
void Configure(const std::string& include, const std::string& exclude);
/// As NPUPROF_MSTX_DOMAIN_INCLUDE and _EXCLUDE say, or else the configuration; both together count as none, with a sentence
/// to @p warnings.
Filter ReadFilter(std::vector<std::string>* warnings);
/// Holds for the domains there are and those to come.
void Use(const Filter& filter);
/// A sentence if ranges that were begun in the window, from @p begin (host::Cycles()) on, are not ended; all are forgotten,
/// unless another window with marks runs.
std::vector<std::string> Notes(uint64_t begin);

/// NULL if the name is not allowed or too many domains live.
mstxDomainHandle_t CreateDomain(const char* name);
void DestroyDomain(mstxDomainHandle_t domain);
/// @p domain of the three: NULL is the default domain.
void Mark(mstxDomainHandle_t domain, const char* message, void* stream);
uint64_t StartRange(mstxDomainHandle_t domain, const char* message, void* stream);
void EndRange(mstxDomainHandle_t domain, uint64_t id);

/// For forks; see fork_locks.h.
OwnedMutex& Lock();

}  // namespace npuprof::mstx
