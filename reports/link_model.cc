#include "reports/link_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double messages(std::size_t devices) { return 2.0 * (static_cast<double>(devices) - 1); }

struct Line {
  double latency = 0, bandwidth = kNever;
  double squares = 0;               // of relative errors
};

double seconds_on(const Line& line, const ExchangeTime& time) {
  return messages(time.devices) * line.latency + time.bytes / line.bandwidth;
}

// Minimises sum ((m a + b s - t) / t)^2 over a >= 0, s >= 0, with s = 1 / bandwidth.
Line fit_line(const std::vector<ExchangeTime>& times) {
  double mm = 0, mb = 0, bb = 0, m1 = 0, b1 = 0;
  for (const ExchangeTime& time : times) {
    const double m = messages(time.devices) / time.seconds, b = time.bytes / time.seconds;
    mm += m * m, mb += m * b, bb += b * b, m1 += m, b1 += b;
  }
  const double determinant = mm * bb - mb * mb;
  double a = 0, s = 0;
  if (determinant > 1e-9 * mm * bb) {
    a = (m1 * bb - b1 * mb) / determinant;
    s = (b1 * mm - m1 * mb) / determinant;
  }
  // At the boundary only one of the two parameters is used; if the points do not separate them, bandwidth.
  if (!(a > 0) || !(s > 0)) {
    a = 0, s = bb > 0 ? b1 / bb : 0;
    const double by_size = s > 0 ? -b1 * s : 0, by_count = mm > 0 ? -m1 * m1 / mm : 0;
    if (determinant > 1e-9 * mm * bb && by_count < by_size) a = m1 / mm, s = 0;
  }
  Line line{a, s > 0 ? 1 / s : kNever, 0};
  for (const ExchangeTime& time : times) line.squares += std::pow(seconds_on(line, time) / time.seconds - 1, 2);
  return line;
}

const std::vector<LinkModel>& presets() {
  // Bandwidths are those of the standard or the vendor for one direction; an exchange does not reach them fully. The cost of a
  // message depends on software and is an assumption.
  static const std::vector<LinkModel> all = {
      {"ethernet10", "line rate of IEEE 802.3ae; 30 us a message is an assumption", 30e-6, 1.25e9},
      {"ethernet100", "line rate of IEEE 802.3ba; 10 us a message is an assumption", 10e-6, 12.5e9},
      {"infiniband-hdr", "200 Gbit/s of four lanes, InfiniBand Trade Association; 2 us a message is an assumption", 2e-6, 25e9},
      {"infiniband-ndr", "400 Gbit/s of four lanes, InfiniBand Trade Association; 2 us a message is an assumption", 2e-6, 50e9},
      {"pcie4", "16 lanes of 16 GT/s, 128b/130b, PCI-SIG; 5 us a message is an assumption", 5e-6, 31.5e9},
      {"pcie5", "16 lanes of 32 GT/s, 128b/130b, PCI-SIG; 5 us a message is an assumption", 5e-6, 63e9},
      {"nvlink4", "18 links of 25 GB/s a direction, NVIDIA's H100 data sheet; 3 us a message is an assumption", 3e-6, 450e9}};
  return all;
}

// A positive number with one of the units; nan if it is not valid.
double quantity(std::string_view text, const std::vector<std::pair<std::string_view, double>>& units) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, factor] : units) {
    if (problem == std::errc() && unit == name && std::isfinite(value) && value > 0) return value * factor;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

[[noreturn]] void refuse(std::string_view text) {
  std::vector<std::string> names;
  for (const LinkModel& link : presets()) names.push_back(link.name);
  throw Error(fmt::format("--link \"{}\": is not a link; give \"latency=5us,bandwidth=20GB/s\" (s, ms, us, ns; B/s, kB/s, MB/s, "
                          "GB/s, Mbit/s, Gbit/s, both above zero), measured, a .json file of `mgcompare doctor --json`, or one of {}",
                          text, fmt::join(names, ", ")));
}

}  // namespace

double LinkModel::latency_seconds(std::size_t devices, double bytes) const {
  return messages(devices) * (break_bytes > 0 && bytes >= break_bytes ? large_latency : latency);
}

double LinkModel::seconds(std::size_t devices, double bytes) const {
  return latency_seconds(devices, bytes) + bytes / (break_bytes > 0 && bytes >= break_bytes ? large_bandwidth : bandwidth);
}

LinkModel fit_link(const std::vector<ExchangeTime>& times) {
  std::vector<ExchangeTime> usable = times;
  std::erase_if(usable, [](const ExchangeTime& time) {
    return !(time.seconds > 0) || !std::isfinite(time.seconds) || !(time.bytes > 0) || time.devices < 2;
  });
  if (usable.empty()) throw Error("no exchange was timed on two devices or more");
  std::sort(usable.begin(), usable.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const Line whole = fit_line(usable);
  LinkModel link{"measured", "", whole.latency, whole.bandwidth};
  double best = whole.squares;
  // At least three points per piece: two points always fit exactly.
  for (std::size_t cut = 3; cut + 3 <= usable.size(); ++cut) {
    const auto middle = usable.begin() + static_cast<std::ptrdiff_t>(cut);
    if (usable[cut].bytes == usable[cut - 1].bytes) continue;
    const Line small = fit_line({usable.begin(), middle}), large = fit_line({middle, usable.end()});
    const double squares = small.squares + large.squares;
    if (squares > whole.squares / 4 || squares >= best) continue;
    best = squares;
    link = {"measured", "", small.latency, small.bandwidth, usable[cut].bytes, large.latency, large.bandwidth};
  }
  std::set<std::size_t> counts;
  for (const ExchangeTime& time : usable) {
    link.error = std::max(link.error, std::abs(link.seconds(time.devices, time.bytes) / time.seconds - 1));
    counts.insert(time.devices);
  }
  link.devices = {counts.begin(), counts.end()};
  return link;
}

std::vector<ExchangeTime> exchange_times(const LinkMeasurements& links, std::size_t below) {
  std::vector<ExchangeTime> times;
  for (const AllReduceTime& one : links.all_reduces) {
    const auto n = static_cast<double>(one.devices);
    if (one.devices < below) times.push_back({2 * (n - 1) / n * static_cast<double>(one.bytes), one.devices, one.seconds});
  }
  return times;
}

LinkModel link_of(std::string_view text) {
  for (const LinkModel& link : presets()) {
    if (link.name == text) return link;
  }
  LinkModel link{std::string(text), "as given", std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin), name = part.substr(0, part.find('='));
    const std::string_view value = part.substr(std::min(name.size() + 1, part.size()));
    double* figure = name == "latency" ? &link.latency : name == "bandwidth" ? &link.bandwidth : nullptr;
    if (figure == nullptr || !std::isnan(*figure)) refuse(text);
    *figure = name == "latency" ? quantity(value, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}})
                                : quantity(value, {{"B/s", 1},
                                                   {"kB/s", 1e3},
                                                   {"MB/s", 1e6},
                                                   {"GB/s", 1e9},
                                                   {"Mbit/s", 1.25e5},
                                                   {"Gbit/s", 1.25e8}});
    if (std::isnan(*figure)) refuse(text);
    begin = end + 1;
  }
  if (std::isnan(link.latency) || std::isnan(link.bandwidth)) refuse(text);
  return link;
}

}  // namespace mgcompare
