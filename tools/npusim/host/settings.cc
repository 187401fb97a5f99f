// SPDX-License-Identifier: Apache-2.0
#include "host/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string_view>

namespace npusim {
namespace {

template <class T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Reader {
 public:
  Reader(const Getenv& get, std::vector<std::string>* complaints) : get_(get), complaints_(complaints) {}

  template <class T>
  void Integer(const char* name, T* value, T low, T high) {
    const std::optional<std::string> text = Text(name);
    if (!text) return;
    const std::optional<T> number = Number<T>(*text);
    if (number && *number >= low && *number <= high) {
      *value = *number;
    } else {
      Complain(name, *text, fmt::format("a whole number from {} to {}", low, high),
               fmt::format("{}", *value));
    }
  }

  void Scale(const char* name, uint32_t* ppm) {
    const std::optional<std::string> text = Text(name);
    if (!text) return;
    const std::optional<double> number = Number<double>(*text);
    if (number && *number >= 0.000001 && *number <= 1000) {
      *ppm = static_cast<uint32_t>(*number * 1e6 + 0.5);
    } else {
      Complain(name, *text, "a number from 0.000001 to 1000", fmt::format("{}", *ppm / 1e6));
    }
  }

  void FaultList(const char* name, Faults* faults) {
    const std::optional<std::string> text = Text(name);
    if (!text) return;
    Faults read;
    for (std::string_view rest = *text;;) {
      const size_t comma = rest.find(',');
      if (!Fault(rest.substr(0, comma), &read)) {
        Complain(name, *text,
                 "a comma list of refuse_start, stall_drain, drop_irq=<count>, reset_at=<ms>, "
                 "surprise_remove_at=<ms>",
                 "no fault");
        return;
      }
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    *faults = read;
  }

 private:
  std::optional<std::string> Text(const char* name) {
    std::optional<std::string> text = get_(name);
    if (text && text->empty()) text.reset();
    return text;
  }

  static bool Fault(std::string_view fault, Faults* faults) {
    if (fault == "refuse_start") return faults->refuse_start = true;
    if (fault == "stall_drain") return faults->stall_drain = true;
    const size_t equals = fault.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = fault.substr(0, equals);
    const std::optional<uint64_t> number = Number<uint64_t>(fault.substr(equals + 1));
    // A day in milliseconds: more is surely a mistake, and times stay far from the end of 64 bits.
    constexpr uint64_t kMaxMs = 86'400'000;
    if (!number) return false;
    if (name == "drop_irq") {
      faults->drop_irq = *number;
      return *number > 0;
    }
    if (*number > kMaxMs) return false;
    if (name == "reset_at") {
      faults->reset_at_ms = number;
      return true;
    }
    if (name == "surprise_remove_at") {
      faults->surprise_remove_at_ms = number;
      return true;
    }
    return false;
  }

  void Complain(const char* name, const std::string& text, const std::string& allowed,
                const std::string& used) {
    complaints_->push_back(
        fmt::format("npusim: {}=\"{}\" is not allowed: it takes {}; using {}.", name, text, allowed, used));
  }

  const Getenv& get_;
  std::vector<std::string>* complaints_;
};

}  // namespace

Settings ReadSettings(const Getenv& get, std::vector<std::string>* complaints) {
  constexpr int64_t kTenYearsNs = 315'360'000'000'000'000;
  Settings settings;
  Reader reader(get, complaints);
  reader.Integer("NPUSIM_DEVICES", &settings.devices, 1u, 16u);
  reader.Integer("NPUSIM_AIC", &settings.cube_cores, 1u, 128u);
  reader.Integer("NPUSIM_AIV", &settings.vector_cores, 1u, 128u);
  reader.Integer("NPUSIM_AIC_MHZ", &settings.core_mhz, 1u, 10000u);
  reader.Integer("NPUSIM_CLOCK_MHZ", &settings.clock_mhz, 1u, 10000u);
  reader.Integer("NPUSIM_CLOCK_START", &settings.clock_start, uint64_t{0},
                 std::numeric_limits<uint64_t>::max());
  reader.Integer("NPUSIM_CLOCK_PPM", &settings.clock_ppm, int64_t{-100000}, int64_t{100000});
  reader.Integer("NPUSIM_CLOCK_OFFSET_NS", &settings.clock_offset_ns, -kTenYearsNs, kTenYearsNs);
  reader.Scale("NPUSIM_TIME_SCALE", &settings.time_scale_ppm);
  reader.Integer("NPUSIM_SEED", &settings.seed, uint64_t{0}, std::numeric_limits<uint64_t>::max());
  reader.FaultList("NPUSIM_FAULT", &settings.faults);
  settings.port = get("NPUSIM_PORT").value_or("");
  return settings;
}

}  // namespace npusim
