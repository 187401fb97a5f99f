// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Calls of the C library that fail while a test wants them to, in the libraries of the program too: its own functions come
/// before the C library's. Also where the program is root.
namespace npuprof::refused {

/// mkdir() of paths that contain it, or rename() to such, fails with EACCES; nullptr for none.
extern std::atomic<const char*> g_directories, g_renames;
/// Behind a mkdir() or rename() of paths whose last part, with the slash before it, contains it, the next memory that its thread
/// asks for is refused; nullptr for none. Not where a sanitizer has its own memory.
extern std::atomic<const char*> g_memory_behind;
/// How many have failed.
extern std::atomic<unsigned> g_count;

/// Of the calls for memory of this thread the @p nth from now on fails, 1 for the next, 0 for none. @return what was left of
/// the number before; 0 if that call has failed
unsigned RefuseMemory(unsigned nth);

}  // namespace npuprof::refused
