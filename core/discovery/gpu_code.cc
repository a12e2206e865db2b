#include "discovery/gpu_code.h"

#include <string.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "discovery/plugin_image.h"

namespace mgcompare {
namespace {

// As in NVIDIA's fatbinary_section.h and in the files that nvcc 12 and 13 write.
struct Fatbin {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;               // of all entries
};

struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t size;
  std::uint32_t unused[2];
  std::uint16_t minor, major;
  std::uint32_t generation;
  std::uint64_t unused_too;
  std::uint64_t flags;
};

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint16_t kPtx = 1, kMachineCode = 2;
constexpr std::uint64_t kSpecific = 0x100000;
constexpr std::uint32_t kLeastGeneration = 20, kLargestGeneration = 1000;
constexpr std::size_t kAlignment = 8;

template <class T> std::optional<T> first_structure(std::string_view bytes) {
  T value;
  if (bytes.size() < sizeof value) return std::nullopt;
  memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Each entry has a header, so the time is linear in the bytes.
void add_entries(std::string_view entries, std::set<GpuCode>& code) {
  while (const auto entry = first_structure<Entry>(entries)) {
    if (entry->header_size < sizeof(Entry) || entry->header_size > entries.size() || entry->size > entries.size() - entry->header_size) return;
    if ((entry->kind == kPtx || entry->kind == kMachineCode) && entry->generation >= kLeastGeneration && entry->generation < kLargestGeneration)
      code.insert({static_cast<int>(entry->generation), entry->kind == kPtx, (entry->flags & kSpecific) != 0});
    entries.remove_prefix(entry->header_size + entry->size);
  }
}

}  // namespace

std::string GpuCode::text() const { return fmt::format("{}{}{}", is_ptx ? "PTX " : "sm_", generation, is_specific ? "a" : ""); }

bool GpuCode::runs_on(int other) const {
  if (is_specific) return other == generation;
  return other >= generation && (is_ptx || other / 10 == generation / 10);
}

std::vector<GpuCode> gpu_code(std::string_view bytes) {
  std::set<GpuCode> code;
  std::size_t left = bytes.size();  // sections that overlap are damaged
  for (std::string_view section : sections_named(bytes, ".nv_fatbin")) {
    if (section.size() > left) break;
    left -= section.size();
    // Between fat binaries there is padding.
    while (const auto fatbin = first_structure<Fatbin>(section)) {
      const bool fits = fatbin->magic == kMagic && fatbin->header_size >= sizeof(Fatbin) && fatbin->header_size <= section.size() &&
                        fatbin->size <= section.size() - fatbin->header_size;
      if (fits) add_entries(section.substr(fatbin->header_size, fatbin->size), code);
      section.remove_prefix(fits ? fatbin->header_size + fatbin->size : std::min(kAlignment, section.size()));
    }
  }
  return {code.begin(), code.end()};
}

std::optional<int> generation_of(const DeviceSummary& device) {
  constexpr std::string_view kNote = "compute capability ";
  for (const std::string& note : device.notes) {
    int major = 0, minor = 0;
    if (note.starts_with(kNote) && sscanf(note.c_str() + kNote.size(), "%d.%d", &major, &minor) == 2) return 10 * major + minor;
  }
  return std::nullopt;
}

}  // namespace mgcompare
