// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "analysis/insight/insight.h"

namespace npuprof::cli {

/** The page around its data, as page/bundle.py put it together; both are empty in a build without the plotting library. */
extern const char* const kPageHead;
extern const char* const kPageTail;

/**
 * Writes the page of a run whose insight has an overview. Nothing is left under that name if it fails.
 * @throws Error if this build has no page, or the file cannot be written
 */
void WritePage(const std::filesystem::path& file, const analysis::Profile& profile,
               const analysis::Insight& insight);

}  // namespace npuprof::cli
