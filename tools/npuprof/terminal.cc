// SPDX-License-Identifier: Apache-2.0
#include "npuprof/terminal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace npuprof::cli {

bool WantsColour(std::FILE* stream) {
  const char* no = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(fileno(stream)) && !(no && *no) && !(term && std::strcmp(term, "dumb") == 0);
}

std::string Paint(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  const char* code = "";
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kBold:
      code = "1";
      break;
    case Style::kDim:
      code = "2";
      break;
    case Style::kGood:
      code = "32";
      break;
    case Style::kWarn:
      code = "33";
      break;
    case Style::kBad:
      code = "31";
      break;
  }
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string Count(uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string Bytes(uint64_t n) {
  if (n < 1024) return fmt::format("{} B", n);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(n) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string Duration(uint64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns >= 1'000'000'000) return fmt::format("{:.3f} s", value / 1e9);
  if (ns >= 1'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  if (ns >= 1'000) return fmt::format("{:.0f} us", value / 1e3);
  return fmt::format("{} ns", ns);
}

std::string LocalTime(uint64_t realtime_us) {
  const std::time_t seconds = static_cast<std::time_t>(realtime_us / 1'000'000);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

Table::Table(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
}

std::string Table::Render(bool colour) const {
  const size_t columns = rows_[0].size();
  std::vector<size_t> width(columns, 0);
  std::vector<bool> number(columns, rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const std::string& cell = rows_[r][c];
      width[c] = std::max(width[c], cell.size());
      if (r > 0 && !cell.empty() && cell != "-" && !(cell[0] >= '0' && cell[0] <= '9')) number[c] = false;
    }
  }
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      if (c > 0) line += "  ";
      line += number[c] ? fmt::format("{:>{}}", rows_[r][c], width[c])
                        : fmt::format("{:<{}}", rows_[r][c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += Paint(line, r == 0 ? Style::kBold : Style::kPlain, colour) + "\n";
  }
  return out;
}

Progress::Progress(std::string label) : label_(std::move(label)), active_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::Update(uint64_t done, uint64_t total, std::string_view detail) {
  if (!active_) return;
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (drawn_ && now - last_ns_ < 100'000'000) return;
  last_ns_ = now;
  drawn_ = true;
  if (total > 0) {
    fmt::print(stderr, "\r\033[K{} {:3}% {}", label_, 100 * std::min(done, total) / total, detail);
  } else {
    fmt::print(stderr, "\r\033[K{} {} {}", label_, Count(done), detail);
  }
  std::fflush(stderr);
}

}  // namespace npuprof::cli
