#include "base/footprint.h"

#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/descendants.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPatience{200};

// If the process has no descriptor left, not even a folder can be opened.
std::size_t entries_of(const char* folder) {
  std::error_code error;
  const fs::directory_iterator found(folder, error);
  return error ? kUncountable : static_cast<std::size_t>(std::distance(begin(found), end(found)));
}

std::string count_text(std::size_t before, std::size_t after, const char* one, const char* many) {
  const std::size_t count = after > before ? after - before : before - after;
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

Footprint footprint() {
  Settings settings = thread_settings();
  settings.merge(process_settings());
  return {entries_of("/proc/self/task"), entries_of("/proc/self/fd"), descendants().size(), std::move(settings)};
}

Footprint settled_footprint(const Footprint& expected) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const Footprint found = footprint();
    if (found == expected || std::chrono::steady_clock::now() > end) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string difference(const Footprint& before, const Footprint& after) {
  std::vector<std::string> left, gone, uncountable;
  const auto compare = [&](std::size_t Footprint::* part, const char* one, const char* many) {
    if (before.*part == after.*part) return;
    if (before.*part == kUncountable || after.*part == kUncountable) uncountable.emplace_back(many);
    else (after.*part > before.*part ? left : gone).push_back(count_text(before.*part, after.*part, one, many));
  };
  compare(&Footprint::threads, "thread", "threads");
  compare(&Footprint::descriptors, "open descriptor", "open descriptors");
  compare(&Footprint::processes, "process", "processes");
  std::vector<std::string> texts;
  if (!left.empty()) texts.push_back(fmt::format("left {}", fmt::join(left, " and ")));
  if (!uncountable.empty())
    texts.push_back(fmt::format("left {} that cannot be counted (probably no descriptor is free)", fmt::join(uncountable, " and ")));
  if (const std::string changed = changed_settings(before.settings, after.settings); !changed.empty()) texts.push_back("changed " + changed);
  if (!gone.empty()) texts.push_back(fmt::format("ended {} of the program", fmt::join(gone, " and ")));
  return fmt::format("{}", fmt::join(texts, " and "));
}

}  // namespace mgcompare
