// SPDX-License-Identifier: Apache-2.0
#include "npuprof/directories.h"

#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "npuprof/error.h"

namespace npuprof::cli {

namespace fs = std::filesystem;

std::vector<fs::path> ProfPaths(const fs::path& directory) {
  return analysis::Profile::Find(directory);
}

Found Inspect(const fs::path& path) {
  Found found;
  found.path = path;
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) {
      const uintmax_t size = it->file_size(ignored);
      if (!ignored) found.bytes += size;
    }
  }
  try {
    found.manifest = Manifest::Read(path);
  } catch (const Error& e) {
    found.problem = e.what();
  }
  return found;
}

nlohmann::json ToJson(const Found& found) {
  nlohmann::json out = {{"path", found.path.string()}, {"bytes", found.bytes}};
  if (found.manifest) {
    const Manifest& m = *found.manifest;
    out.update({{"simulated", m.simulated()},
                {"complete", m.complete()},
                {"pid", m.pid()},
                {"command", m.command()},
                {"begin_realtime_us", m.begin_realtime_us()},
                {"devices", m.devices()},
                {"kept", m.kept()},
                {"lost", m.lost()},
                {"lost_by_cause", m.lost_by_cause()}});
    if (m.window_ns()) out["window_ns"] = *m.window_ns();
  }
  if (!found.problem.empty()) out["problem"] = found.problem;
  return out;
}

}  // namespace npuprof::cli
