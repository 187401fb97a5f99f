// SPDX-License-Identifier: Apache-2.0
// Writes that may outlive the process that asked for them.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace npuprof::analysis {

/// Waits until no unfinished slice below `root` is open for writing. A process that was killed may be gone before its
/// last writes past the page cache are: the kernel keeps the file open for each of them, and what is read until then has
/// holes that will be filled, and what is cut grows again.
/// @return the slice that is still written after `patience`, relative to `root`; nothing if there is none, or if the file
///         system or the lack of permission does not let that be asked
std::optional<std::string> AwaitLastWrites(const std::filesystem::path& root,
                                           std::chrono::milliseconds patience);

}  // namespace npuprof::analysis
