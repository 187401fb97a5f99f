// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Calls of the C library that fail while a test wants them to, in the libraries of the program too: its own functions come
/// before the C library's. Also where the program is root.
namespace npuprof::refused {

/// mkdir() of paths that contain it, or rename() to such, fails with EACCES; nullptr for none.
extern std::atomic<const char*> g_directories, g_renames;
/// How many have failed.
extern std::atomic<unsigned> g_count;

}  // namespace npuprof::refused
