// SPDX-License-Identifier: Apache-2.0
// What a PROF_* directory holds and lacks, checked against what was noted when it was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace npuprof::analysis {

/// From best to worst; a directory is what its worst file is.
enum class State {
  kComplete,  ///< all that was collected is there, and nothing is missing
  kAged,      ///< as above, but for what was removed to keep a limit on storage
  kLossy,     ///< records were lost while collecting; what was kept is there
  kTorn,      ///< collection was cut off; the end of what was written may be in pieces
  kDamaged,   ///< something was changed or removed after it was written
};
/// "complete", "aged", "lossy", "torn", "damaged"
const char* StateName(State state);

struct SliceCheck {
  std::string name;  ///< relative to the PROF directory
  uint64_t bytes = 0;
  uint64_t whole_bytes = 0;  ///< of whole records; the same for a sound slice
  uint64_t records = 0;      ///< whole ones, or lines
  uint32_t crc32c = 0;       ///< of what is there
  bool listed = false;       ///< its size and sum were noted when it was finished
  bool has_note = false;     ///< a .done with the right size
  State state = State::kComplete;
  std::string problem;  ///< empty if there is none
};

struct FileCheck {
  std::string path;           ///< without ".slice_<n>"
  uint32_t record_bytes = 0;  ///< 0: text, or of a kind whose size is not known
  bool fixed = false;         ///< whether its records are of that size
  State state = State::kComplete;
  std::vector<SliceCheck> slices;
  uint64_t records = 0, bytes = 0;
  uint64_t aged_records = 0, aged_slices = 0, lost = 0;
  std::vector<std::string> problems;  ///< of the file as a whole
};

struct Verification {
  std::filesystem::path path;
  State state = State::kComplete;
  bool has_manifest = false;
  bool simulated = false;
  bool stopped = false;  ///< the manifest says that collection ended in order
  bool repaired = false;
  std::vector<FileCheck> files;
  std::vector<std::string> problems;          ///< of the directory as a whole
  std::vector<std::filesystem::path> litter;  ///< half-written files and notes of nothing
};

/// The PROF_* directory that `directory` is or holds, also if its metadata is missing. Throws Error if there is none, or
/// more than one.
std::filesystem::path FindForVerify(const std::filesystem::path& directory);

/// Reads every byte of `root`. `progress` may be empty; it gets the bytes read since its last call.
Verification Verify(const std::filesystem::path& root, const std::function<void(uint64_t)>& progress = {});

/// The process that writes `root` at this moment, or nothing.
std::optional<uint64_t> Writer(const std::filesystem::path& root);

/// What Repair() did.
struct Repair {
  std::vector<std::string> actions;  ///< one sentence each
  uint64_t cut_bytes = 0;
  unsigned cut_slices = 0, notes = 0;
};

/// Cuts torn slices to their whole records, writes missing notes, removes half-written files, and says so in the
/// manifest. What is damaged stays as it is. With `dry` nothing is changed. Throws Error if something cannot be written.
Repair RepairDirectory(const Verification& found, bool dry);

}  // namespace npuprof::analysis
